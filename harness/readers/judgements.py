"""Judgements and counts of items as people have them: files, data sets, dictionaries, frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from harness.readers.objects import is_frame
from harness.readers.rankings import pair_name, pairs_in, require_distinct, table_of_data
from harness.readers.table import Table
from harness.readers.table_files import read_content, read_table
from qrels.trec import HIGHEST_GRADE, QrelsFile, parse_qrels, with_subtopics
from runs import InputError, Numbering
from runs.shared.arrays import Ints
from runs.shared.errors import how_to_add, warn
from runs.tables.roles import QRELS, Role

if TYPE_CHECKING:
    import pandas as pd

    from runs.tables.options import TextOptions


Judgements: TypeAlias = (
    "str | PathLike[str] | Mapping[str, Mapping[str, int]] | Iterable[Any] | pd.DataFrame"
)
"""A qrels file, or what is read as one; see `judgements_of`."""

Counts: TypeAlias = "Mapping[str, int] | pd.Series[int]"
"""A number for each item; see `counts_of`."""


def judgements_of(judgements: Judgements, options: TextOptions | None = None) -> QrelsFile:
    """Read judgements.

    Parameters
    ----------
    judgements
        A qrels file or a table of another tool, a dictionary ``{topic: {item: grade}}``, a data
        frame with columns such as query_id, doc_id and relevance (`runs.tables.hints` has all
        words), or of TREC's four columns without names, an iterable of ir_measures' Qrel,
        Qrels of ranx, or lists of LensKit. Where there is no such file, an id of ir_datasets.
        Second fields of TREC, or a column such as subtopic_id or iteration, are subtopics if they
        differ.
    options
        What a person says of a file: encoding, separator and columns (user, item, grade, subtopic).
        Columns count for frames, too.

    Returns
    -------
    Ids of users and items, and the user, the item and the grade of each judgement; grades below 0
    mean "not judged".

    Raises
    ------
    InputError
        If the judgements cannot be read, a grade is no whole number or too high, or a pair of topic
        and item (with its subtopic, if there are any) is judged twice.
    """
    data: Any = judgements
    what = "the qrels"
    if isinstance(judgements, str | PathLike):
        path = Path(judgements)
        if not path.exists() and _is_known(str(judgements)):
            file, level = judgements_in(str(judgements))
            if level > 1:
                warn(
                    f"{judgements}: official measures take grades from {level} on for relevant "
                    "(-l)."
                )
            return file
        what = str(judgements)
        content = read_content(path, QRELS, options)
        data = read_table(path, content, QRELS, options)
        if data is None:
            return parse_qrels(path, content)
    table = table_of_data(data, what, QRELS, options)
    pairs, numbers = pairs_in(table)
    # Negative grades, of any size, mean "not judged".
    grades = np.maximum(numbers, -1.0)
    is_odd = (grades != np.floor(grades)) | (grades > HIGHEST_GRADE)
    if is_odd.any():
        row = int(is_odd.argmax())
        name = pair_name(pairs, row)
        raise InputError(
            f"{what}: a grade must be a whole number of at most {HIGHEST_GRADE}, and {name} "
            f"has {grades[row]:g}. Multiply half stars and `relevance_level` by 2, or round them."
        )
    whole_grades = grades.astype(np.int32)
    numbered_subtopics = _subtopics_in(table)
    if numbered_subtopics is None:
        require_distinct(table, pairs)
        return QrelsFile(*pairs, whole_grades)
    subtopic_ids, subtopic = numbered_subtopics
    require_distinct(table, pairs, subtopic)
    return with_subtopics(pairs, whole_grades, subtopic_ids, subtopic, label=table.label)


def _subtopics_in(table: Table) -> tuple[Numbering, Ints] | None:
    """Number the subtopics of a table of judgements: ids, and the number of each row, (n_rows,).

    None if no column holds subtopics, a row has none, or all are the same, such as the 0 in qrels
    of whole topics.
    """
    if not table.has(Role.SUBTOPIC):
        return None
    column = table.column(Role.SUBTOPIC)
    is_missing = column.isna() | (column.astype(str).str.strip() == "")
    if is_missing.any() or column.nunique() < 2:
        return None
    return table.numbered_ids(Role.SUBTOPIC)


def _is_known(dataset: str) -> bool:
    """Tell whether ir_datasets is there, and has such a data set."""
    if find_spec("ir_datasets") is None:
        return False
    import ir_datasets

    return dataset in ir_datasets.registry


def judgements_in(dataset: str) -> tuple[QrelsFile, int]:
    """Read the judgements of an id of ir_datasets, and the grade from which items are relevant.

    That is the highest that its official measures name ("rel=2"), or 1. Raises InputError if the
    package is missing, or there is no such data set or none with qrels.
    """
    try:
        import ir_datasets
    except ImportError:
        raise InputError(
            f"qrels {dataset!r} of ir_datasets need that package; {how_to_add('ir-datasets')}"
        ) from None
    if dataset not in ir_datasets.registry:
        raise InputError(f"ir_datasets has no data set {dataset!r}.")
    collection = ir_datasets.load(dataset)
    if not collection.has_qrels():
        raise InputError(f"the data set {dataset!r} of ir_datasets has no qrels.")
    documentation = collection.documentation() or {}
    official_measures = documentation.get("official_measures") or ()
    names = " ".join(str(measure) for measure in official_measures)
    levels = [int(level) for level in re.findall(r"rel=(\d+)", names)]
    judgements = judgements_of(collection.qrels_iter())
    return judgements, max(levels, default=1)


def counts_of(item_counts: Counts) -> dict[str, int]:
    """Read how often each item was rated, or used.

    Parameters
    ----------
    item_counts
        Counts by item: a dictionary, or a Series such as ``value_counts()`` gives.

    Raises
    ------
    InputError
        If they are of another kind, or a count is no whole number from 0 on.
    """
    if is_frame(item_counts) or not hasattr(item_counts, "items"):
        type_name = type(item_counts).__name__
        raise InputError(
            f"popularity must be counts by item: a dictionary or a Series, got {type_name}."
        )
    count_of_item: dict[str, int] = {}
    for item, count in item_counts.items():
        item_name = str(item)
        if not isinstance(count, Real) or count < 0 or count % 1:
            raise InputError(
                f"popularity: a count is a whole number from 0 on, and item {item_name!r} has "
                f"{count}."
            )
        count_of_item[item_name] = int(count)
    return count_of_item
