"""Runs and qrels as people have them: files, dictionaries, data frames, objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from qrels.trec import GRADE_FIELD, HIGHEST_GRADE, QrelsFile, read_qrels
from qrels.trec import N_FIELDS as N_QRELS_FIELDS
from runs import InputError, Numbering
from runs.formats import N_FIELDS, SCORE_FIELD, TAG_FIELD, find_run_files, read_run
from runs.run_file import RunFile
from runs.shared.fields import Pairs

if TYPE_CHECKING:
    import pandas as pd


TOPIC_NAMES = ("query_id", "qid", "q_id", "topic", "topic_id", "user", "user_id", "userId")
ITEM_NAMES = ("doc_id", "docno", "docid", "item", "item_id", "itemId", "movieId")


@dataclass(frozen=True)
class Form:
    """How a run, or qrels, are laid out in a frame, and what is said of them.

    Parameters
    ----------
    what, forms
        What is read, such as "the run 'bm25'", and what it may be, for messages.
    names
        What the column of numbers may be called.
    number, width
        Its place, and how many columns there are, where they have no names: those of a TREC file.
    """

    what: str
    forms: str
    names: Sequence[str]
    number: int
    width: int


@dataclass(frozen=True, eq=False)
class Triples:
    """Topics, items and numbers of shape (n,), and what they are, for messages."""

    what: str
    topics: NDArray[np.str_]
    items: NDArray[np.str_]
    numbers: NDArray[np.float64]

    def pairs(self) -> Pairs:
        """Number topics and items."""
        if not len(self.topics):
            raise InputError(f"{self.what}: there is no item.")
        topics, items = Numbering.of(self.topics), Numbering.of(self.items)
        pairs = Pairs(topics, items, topics.numbers(self.topics), items.numbers(self.items))
        for place in pairs.repeated()[:1]:
            raise InputError(f"{self.what}: {self.named(place)} is duplicated.")
        return pairs

    def named(self, place: int) -> str:
        """Name the pair at a place."""
        return f"item {str(self.items[place])!r} of topic {str(self.topics[place])!r}"


def read_triples(data: Any, form: Form) -> Triples:
    """Read what a notebook has.

    Parameters
    ----------
    data
        Numbers by topic and item, ``{topic: {item: number}}``; what has ``to_dict()`` and gives
        such, as ranx does; a data frame, or what has ``to_df()``, as lists of LensKit have; or
        records with names, as ir_measures has them.
    form
        How a frame is laid out.
    """
    topics, items, numbers = _columns_of(data, form)
    found = Triples(form.what, _ids(topics, form), _ids(items, form), _numbers(numbers, form))
    for place in np.flatnonzero(np.isnan(found.numbers))[:1]:
        raise InputError(f"{form.what}: {found.named(place)} has no number.")
    return found


def is_frame(data: Any) -> TypeGuard[pd.DataFrame]:
    """Tell whether it is a data frame."""
    return hasattr(data, "columns") and hasattr(data, "iloc")


def is_single(data: Any) -> bool:
    """Tell whether it is one run, not several: a dictionary of dictionaries, or records."""
    if isinstance(data, Mapping):
        return all(isinstance(one, Mapping) and _is_of_numbers(one) for one in data.values())
    return hasattr(data, "to_dict") or hasattr(data, "to_df")


def column_of(frame: pd.DataFrame, names: Sequence[str]) -> str | None:
    """Give the column of a frame that has one of the names; None if there is none."""
    return next((name for name in names if name in frame.columns), None)


def _is_of_numbers(items: Mapping[Any, Any]) -> bool:
    return not any(isinstance(number, Mapping) for number in items.values())


def has_columns_of_trec(frame: pd.DataFrame, *, width: int) -> bool:
    """Tell whether columns have numbers for names, and there are as many as in a TREC file."""
    return [*map(str, frame.columns)] == [*map(str, range(width))]


def _columns_of(data: Any, form: Form) -> Iterable[Any]:
    if is_frame(data):
        return _columns_of_frame(data, form)
    if hasattr(data, "to_df"):
        return _columns_of_frame(data.to_df(), form)
    if isinstance(data, Mapping):
        return _columns_of_mapping(data, form)
    if hasattr(data, "to_dict"):
        return _columns_of_mapping(data.to_dict(), form)
    return _columns_of_frame(_frame_of_records(data, form), form)


def _columns_of_frame(frame: pd.DataFrame, form: Form) -> Iterable[Any]:
    """Give topics, items and numbers of a frame, by names or as TREC files have them."""
    if has_columns_of_trec(frame, width=form.width):
        return [frame.iloc[:, place] for place in (0, 2, form.number)]
    every = (("topics", TOPIC_NAMES), ("items", ITEM_NAMES), ("numbers", form.names))
    found = [(role, names, column_of(frame, names)) for role, names in every]
    for role, names, name in found:
        if name is None:
            raise InputError(
                f"{form.what}: no column holds the {role}; it is called {' or '.join(names)}, and "
                f"there are {', '.join(map(str, frame.columns)) or 'none'}."
            )
    return [frame[name] for _, _, name in found]


def _columns_of_mapping(data: Mapping[Any, Any], form: Form) -> Iterable[Any]:
    for topic, items in data.items():
        if not isinstance(items, Mapping) or not _is_of_numbers(items):
            raise InputError(
                f"{form.what}: numbers by item are expected for topic {str(topic)!r}, got "
                f"{type(items).__name__}."
            )
    rows = [(t, item, number) for t, items in data.items() for item, number in items.items()]
    return [[row[place] for row in rows] for place in range(3)]


def _frame_of_records(data: Any, form: Form) -> pd.DataFrame:
    import pandas as pd

    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"{form.what} must be {form.forms}, got {type(data).__name__}.")
    records = list(data)
    for record in records[:1]:
        if not hasattr(record, "_fields"):
            kind = type(record).__name__
            raise InputError(f"{form.what} must be {form.forms}, got a list of {kind}.")
    names = records[0]._fields if records else (TOPIC_NAMES[0], ITEM_NAMES[0], form.names[0])
    return pd.DataFrame(records, columns=names)


def _ids(column: Any, form: Form) -> NDArray[np.str_]:
    """Give ids as text."""
    import pandas as pd

    ids = pd.Series(column, dtype=object if isinstance(column, list) else None)
    missing = ids.isna().to_numpy()
    if missing.any():
        raise InputError(f"{form.what}: in row {int(missing.argmax()) + 1} an id is missing.")
    return ids.astype(str).to_numpy(dtype=np.str_)


def _numbers(column: Any, form: Form) -> NDArray[np.float64]:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{form.what}: numbers are expected ({error}).") from None


RUN_FORMS = (
    "a path, a dictionary {topic: {item: score}}, a data frame, ScoredDocs of ir_measures or a Run "
    "of ranx"
)
SCORE_NAMES = ("score", "sim")
SYSTEM_NAMES = ("system", "run_id", "run", "tag", "model")

Runs: TypeAlias = "str | PathLike[str] | Sequence[Any] | Mapping[str, Any] | pd.DataFrame"
"""Run files, or runs by the names of their systems; see `runs_of`."""


def replicates_of(given: Runs) -> tuple[list[RunFile], tuple[str, ...]]:
    """Read runs of which several may be of one system.

    Parameters
    ----------
    given
        As for `runs_of`; in a dictionary by the names of the systems, a list of runs stands for
        several of a system, from other seeds or folds, which are called "ease-1", "ease-2", ...

    Returns
    -------
    What the runs say, and the name of the system of each; no names if each is of its own.
    """
    if is_frame(given) or not isinstance(given, Mapping) or is_single(given):
        return runs_of(given), ()
    if not any(map(_are_runs, given.values())):
        return runs_of(given), ()
    found: list[RunFile] = []
    systems: list[str] = []
    for name, value in given.items():
        runs = value if _are_runs(value) else [value]
        for place, run in enumerate(runs, start=1):
            found.append(_named(f"{name}-{place}" if _are_runs(value) else str(name), run))
            systems.append(str(name))
    return found, tuple(systems)


def _are_runs(given: Any) -> bool:
    """Tell a list of runs from a list of records, which is one run."""
    is_list = isinstance(given, list | tuple) and len(given) > 0
    return is_list and all(isinstance(each, str | PathLike) or is_single(each) for each in given)


def runs_of(given: Runs) -> list[RunFile]:
    """Read runs, each with the name of its system.

    Parameters
    ----------
    given
        Run files: a path, a pattern such as ``"runs/*.run"``, or several. Runs by the names of
        their systems: ``{"bm25": run, "ease": run}``, where a run is a path, a dictionary
        ``{topic: {item: score}}``, a data frame with columns such as query_id, doc_id and score, or
        of TREC's six columns without names, an iterable of ir_measures' ScoredDoc, or a Run of
        ranx. One data frame of several runs, whose column system, run_id or tag tells them apart.
        Or a list of Runs of ranx that have names.

    Returns
    -------
    What the runs say, as if it had been read from files.
    """
    if is_frame(given):
        return [_named(name, run) for name, run in _parts(given)]
    if isinstance(given, str | PathLike):
        return [*map(read_run, find_run_files([str(given)]))]
    if is_single(given):
        return [_own(given)]
    if isinstance(given, Mapping):
        return [_named(str(name), run) for name, run in given.items()]
    if not isinstance(given, Sequence):
        raise _nameless(given)
    return [run for one in given for run in _of_several(one)]


def _of_several(one: Any) -> list[RunFile]:
    return runs_of(one) if isinstance(one, str | PathLike) else [_own(one)]


def _own(run: Any) -> RunFile:
    """Read a run that knows its name, as those of ranx do."""
    name = getattr(run, "name", None)
    if not isinstance(name, str) or not name:
        raise _nameless(run)
    return _named(name, run)


def _nameless(given: Any) -> InputError:
    return InputError(
        f"a run needs the name of its system, and {type(given).__name__} has none: give "
        f"{{name: run}}, where a run is {RUN_FORMS}."
    )


def _named(name: str, run: Any) -> RunFile:
    if isinstance(run, str | PathLike):
        return replace(read_run(Path(run)), system=name)
    form = Form(f"the run {name!r}", RUN_FORMS, SCORE_NAMES, number=SCORE_FIELD, width=N_FIELDS)
    found = read_triples(run, form)
    return RunFile(form.what, name, *found.pairs(), found.numbers)


def _parts(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Part a frame by the systems of its rows."""
    is_of_trec = has_columns_of_trec(frame, width=N_FIELDS)
    column = frame.columns[TAG_FIELD] if is_of_trec else column_of(frame, SYSTEM_NAMES)
    if column is None:
        raise InputError(
            f"no column of the runs holds the systems; it is called {' or '.join(SYSTEM_NAMES)}. "
            "Frames of one run each are given by name: {name: frame}."
        )
    return ((str(name), part) for name, part in frame.groupby(column, sort=False))


GRADE_NAMES = ("relevance", "label", "grade", "rel", "score", "rating")
QRELS_FORMS = (
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
    """
    if isinstance(given, str | PathLike):
        return read_qrels(Path(given))
    form = Form("the qrels", QRELS_FORMS, GRADE_NAMES, number=GRADE_FIELD, width=N_QRELS_FIELDS)
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
