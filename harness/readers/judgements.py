"""Qrels and counts of items as people have them: files, dictionaries, data frames, objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.readers.triples import ITEM_NAMES, Form, Triples, column_of, is_frame, read_triples
from qrels.trec import GRADE_FIELD, HIGHEST_GRADE, N_FIELDS, QrelsFile, read_qrels
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd

GRADE_NAMES = ("relevance", "label", "grade", "rel", "score", "rating")
FORMS = (
    "a path, a dictionary {topic: {item: grade}}, a data frame, Qrels of ir_measures or Qrels of "
    "ranx"
)
COUNT_NAMES = ("count", "popularity", "n")

Judgements: TypeAlias = (
    "str | PathLike[str] | Mapping[str, Mapping[str, int]] | Iterable[Any] | pd.DataFrame"
)
"""A qrels file, or what is read as one; see `judgements_of`."""

Counts: TypeAlias = "Mapping[str, int] | pd.Series[int] | pd.DataFrame"
"""A number for each item; see `counts_of`."""


def judgements_of(given: Judgements) -> QrelsFile:
    """Read judgements.

    Parameters
    ----------
    given
        A qrels file, a dictionary ``{topic: {item: grade}}``, a data frame with columns such as
        query_id, doc_id and relevance, or of TREC's four columns without names, an iterable of
        ir_measures' Qrel, or Qrels of ranx.

    Raises
    ------
    InputError
        If a rule is broken, or a grade is no whole number.

    Examples
    --------
    >>> judgements_of({"t1": {"d1": 2, "d2": 0}}).grade
    array([2, 0], dtype=int32)
    """
    if isinstance(given, str | PathLike):
        return read_qrels(Path(given))
    form = Form("the qrels", FORMS, GRADE_NAMES, number=GRADE_FIELD, width=N_FIELDS)
    found = read_triples(given, form)
    return QrelsFile(*found.pairs(), _grades(found))


def _grades(found: Triples) -> NDArray[np.int32]:
    """Make grades of numbers; negative ones, of any size, mean "not judged"."""
    numbers = np.maximum(found.numbers, -1.0)
    for place in np.flatnonzero((numbers != np.floor(numbers)) | (numbers > HIGHEST_GRADE))[:1]:
        raise InputError(
            f"the qrels: a grade must be a whole number of at most {HIGHEST_GRADE}, and "
            f"{found.named(place)} has {numbers[place]:g}."
        )
    return numbers.astype(np.int32)


def counts_of(given: Counts) -> dict[str, int]:
    """Read how often each item was rated, or used.

    Parameters
    ----------
    given
        Counts by item: a dictionary, a Series such as ``value_counts()`` gives, or a data frame
        with a column of items and one called count.

    Raises
    ------
    InputError
        If a column is missing, or a count is no whole number from 0 on.

    Examples
    --------
    >>> counts_of({"d1": 7, "d2": 0})
    {'d1': 7, 'd2': 0}
    """
    return {str(item): _count(item, count) for item, count in _by_item(given)}


def _count(item: Any, count: Any) -> int:
    is_number = isinstance(count, Real)
    if not is_number or count < 0 or count % 1:
        raise InputError(
            f"popularity: a count is a whole number from 0 on, and item {str(item)!r} has {count}."
        )
    return int(count)


def _by_item(given: Counts) -> Iterable[tuple[Any, Any]]:
    if not is_frame(given):
        if not hasattr(given, "items"):
            raise InputError(
                "popularity must be counts by item: a dictionary, a Series, or a data frame, got "
                f"{type(given).__name__}."
            )
        return given.items()
    item, count = column_of(given, ITEM_NAMES), column_of(given, COUNT_NAMES)
    if item is None or count is None:
        raise InputError(
            f"popularity: columns of items ({' or '.join(ITEM_NAMES)}) and of counts "
            f"({' or '.join(COUNT_NAMES)}) are needed; there are {', '.join(map(str, given))}."
        )
    return zip(given[item], given[count], strict=True)
