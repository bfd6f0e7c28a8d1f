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
from runs.shared.arrays import Floats
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


def read_pairs(data: Any, form: Form) -> tuple[Pairs, Floats]:
    """Read what a notebook has: pairs of topics and items, and a number for each.

    Parameters
    ----------
    data
        Numbers by topic and item, ``{topic: {item: number}}``; what has ``to_dict()`` and gives
        such, as ranx does; a data frame, or what has ``to_df()``, as lists of LensKit have; or
        records with names, as ir_measures has them.
    form
        How a frame is laid out.
    """
    frame = _frame_of(data, form)
    if has_columns_of_trec(frame, width=form.width):
        columns = [frame.iloc[:, place] for place in (0, 2, form.number)]
    else:
        every = {"topics": TOPIC_NAMES, "items": ITEM_NAMES, "numbers": form.names}
        columns = [frame[_column(frame, names, role, form)] for role, names in every.items()]
    topics, items = (_ids(column, form) for column in columns[:2])
    try:
        numbers = np.asarray(columns[2], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{form.what}: numbers are expected ({error}).") from None
    if not len(topics):
        raise InputError(f"{form.what}: there is no item.")
    users, ids = Numbering.of(topics), Numbering.of(items)
    pairs = Pairs(users, ids, users.numbers(topics), ids.numbers(items))
    wrong = {"has no number": np.flatnonzero(np.isnan(numbers)), "is duplicated": pairs.repeated()}
    for finding, places in wrong.items():
        for place in places[:1]:
            raise InputError(f"{form.what}: {_name_of(pairs, place)} {finding}.")
    return pairs, numbers


def _name_of(pairs: Pairs, place: int) -> str:
    user, item = pairs.users.ids[pairs.user[place]], pairs.items.ids[pairs.item[place]]
    return f"item {str(item)!r} of topic {str(user)!r}"


def is_frame(data: Any) -> TypeGuard[pd.DataFrame]:
    """Tell whether it is a data frame."""
    return hasattr(data, "columns") and hasattr(data, "iloc")


def is_single(data: Any) -> bool:
    """Tell whether it is one run, not several: a dictionary of dictionaries, or records."""
    if isinstance(data, Mapping):
        return all(isinstance(one, Mapping) and _is_of_numbers(one) for one in data.values())
    return hasattr(data, "to_dict") or hasattr(data, "to_df")


def _is_of_numbers(items: Mapping[Any, Any]) -> bool:
    return not any(isinstance(number, Mapping) for number in items.values())


def column_of(frame: pd.DataFrame, names: Sequence[str]) -> str | None:
    """Give the column of a frame that has one of the names; None if there is none."""
    return next((name for name in names if name in frame.columns), None)


def _column(frame: pd.DataFrame, names: Sequence[str], role: str, form: Form) -> str:
    name = column_of(frame, names)
    if name is None:
        raise InputError(
            f"{form.what}: no column holds the {role}; it is called {' or '.join(names)}, and "
            f"there are {', '.join(map(str, frame.columns)) or 'none'}."
        )
    return name


def has_columns_of_trec(frame: pd.DataFrame, *, width: int) -> bool:
    """Tell whether columns have numbers for names, and there are as many as in a TREC file."""
    return [*map(str, frame.columns)] == [*map(str, range(width))]


def _frame_of(data: Any, form: Form) -> pd.DataFrame:
    """Make a frame of what is laid out otherwise."""
    import pandas as pd

    names = (TOPIC_NAMES[0], ITEM_NAMES[0], form.names[0])
    if is_frame(data) or hasattr(data, "to_df"):
        frame: pd.DataFrame = data if is_frame(data) else data.to_df()
        return frame
    if isinstance(data, Mapping) or hasattr(data, "to_dict"):
        by_topic = data if isinstance(data, Mapping) else data.to_dict()
        for topic, items in by_topic.items():
            if not isinstance(items, Mapping) or not _is_of_numbers(items):
                raise InputError(
                    f"{form.what}: numbers by item are expected for topic {str(topic)!r}, got "
                    f"{type(items).__name__}."
                )
        rows = [(t, item, n) for t, items in by_topic.items() for item, n in items.items()]
        return pd.DataFrame(rows, columns=names, dtype=object)
    is_list = isinstance(data, Iterable) and not isinstance(data, str | bytes)
    records = [*data] if is_list else []
    if not is_list or (records and not hasattr(records[0], "_fields")):
        kind = f"a list of {type(records[0]).__name__}" if records else type(data).__name__
        raise InputError(f"{form.what} must be {form.forms}, got {kind}.")
    return pd.DataFrame(records, columns=records[0]._fields if records else names)


def _ids(column: pd.Series[Any], form: Form) -> NDArray[np.str_]:
    """Give ids as text."""
    missing = column.isna().to_numpy()
    if missing.any():
        raise InputError(f"{form.what}: in row {int(missing.argmax()) + 1} an id is missing.")
    return column.astype(str).to_numpy(dtype=np.str_)


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
        runs = {str(name): value}
        if _are_runs(value):
            runs = {f"{name}-{place}": run for place, run in enumerate(value, start=1)}
        found += [_named(own, run) for own, run in runs.items()]
        systems += [str(name)] * len(runs)
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
    each = (runs_of(one) if isinstance(one, str | PathLike) else [_own(one)] for one in given)
    return [run for runs in each for run in runs]


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
    pairs, scores = read_pairs(run, form)
    return RunFile(form.what, name, *pairs, scores)


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

Judgements: TypeAlias = (
    "str | PathLike[str] | Mapping[str, Mapping[str, int]] | Iterable[Any] | pd.DataFrame"
)
"""A qrels file, or what is read as one; see `judgements_of`."""

Counts: TypeAlias = "Mapping[str, int] | pd.Series[int]"
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
    pairs, numbers = read_pairs(given, form)
    # Negative grades, of any size, mean "not judged".
    numbers = np.maximum(numbers, -1.0)
    for place in np.flatnonzero((numbers != np.floor(numbers)) | (numbers > HIGHEST_GRADE))[:1]:
        raise InputError(
            f"the qrels: a grade must be a whole number of at most {HIGHEST_GRADE}, and "
            f"{_name_of(pairs, place)} has {numbers[place]:g}. Multiply half stars and "
            "`relevance_level` by 2, or round them."
        )
    return QrelsFile(*pairs, numbers.astype(np.int32))


def counts_of(given: Counts) -> dict[str, int]:
    """Read how often each item was rated, or used.

    Parameters
    ----------
    given
        Counts by item: a dictionary, or a Series such as ``value_counts()`` gives.
    """
    if is_frame(given) or not hasattr(given, "items"):
        raise InputError(
            "popularity must be counts by item: a dictionary or a Series, got "
            f"{type(given).__name__}."
        )
    counts: dict[str, int] = {}
    for item, count in given.items():
        if not isinstance(count, Real) or count < 0 or count % 1:
            raise InputError(
                f"popularity: a count is a whole number from 0 on, and item {str(item)!r} has "
                f"{count}."
            )
        counts[str(item)] = int(count)
    return counts
