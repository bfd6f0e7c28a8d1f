"""Runs and qrels as people have them: files, dictionaries, data frames, objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from harness.readers.columns import (
    ColumnNames,
    Table,
    column_of,
    folded,
    frame_of,
    is_frame,
    read_table,
    with_index,
)
from qrels.trec import GRADE_FIELD, HIGHEST_GRADE, QrelsFile, parse_qrels
from qrels.trec import N_FIELDS as N_QRELS_FIELDS
from runs import InputError, Numbering
from runs.formats import (
    N_FIELDS,
    SCORE_FIELD,
    TAG_FIELD,
    find_run_files,
    is_own,
    parse_run,
    run_from_parquet,
)
from runs.run_file import RunFile
from runs.shared.arrays import Floats
from runs.shared.errors import how_to_add, warn
from runs.shared.fields import Pairs
from runs.shared.files import PARQUET, read_bytes

if TYPE_CHECKING:
    import pandas as pd


Number: TypeAlias = Literal["score", "grade"]
"""What the numbers of a run are, for which ranks may stand, and those of qrels."""

FORMS: Mapping[Number, str] = {
    "score": "a path, a dictionary {topic: {item: score}}, a data frame, ScoredDocs of ir_measures "
    "or a Run of ranx",
    "grade": "a path, a dictionary {topic: {item: grade}}, a data frame, Qrels of ir_measures or "
    "Qrels of ranx",
}
"""What may be read, by what its numbers are."""

IN_TREC = {"score": (SCORE_FIELD, N_FIELDS), "grade": (GRADE_FIELD, N_QRELS_FIELDS)}
"""The place of the numbers, and how many columns there are, in TREC files and in such frames."""


def read_pairs(data: Any, what: str, number: Number) -> tuple[Pairs, Floats]:
    """Read what a notebook or a table has: pairs of topics and items, and a number for each.

    Parameters
    ----------
    data
        Numbers by topic and item, ``{topic: {item: number}}``; what has ``to_dict()`` and gives
        such, as ranx does; a table, or an object that `harness.readers.columns` makes a frame of;
        or records with names, as ir_measures has them.
    what
        What is read, such as "the run 'bm25'", for messages.
    number
        What the numbers are.
    """
    table = data if isinstance(data, Table) else Table(_frame_of(data, what, number), what)
    place, width = IN_TREC[number]
    if has_columns_of_trec(table.frame, width=width):
        topics, items, numbers = (table.frame.iloc[:, at] for at in (0, 2, place))
    else:
        topics, items = table.column("topic"), table.column("item")
        numbers = _numbers(table, number)
    topic_ids, item_ids, values = table.ids(topics), table.ids(items), table.numbers(numbers)
    if numbers.name is not None and folded(numbers.name) == "rank":
        values = -values
    if not len(values):
        raise InputError(f"{table.what}: there is no item.")
    users, ids = Numbering.of(topic_ids), Numbering.of(item_ids)
    pairs = Pairs(users, ids, users.numbers(topic_ids), ids.numbers(item_ids))
    wrong = {
        "has no number": np.flatnonzero(np.isnan(values)),
        "is duplicated": pairs.duplicate_rows(),
    }
    for finding, places in wrong.items():
        for place in places[:1]:
            raise table.error(int(place), f"{_name_of(pairs, place)} {finding}.")
    return pairs, values


def _numbers(table: Table, number: Number) -> pd.Series[Any]:
    """Give the column of grades or scores; of a run without scores, the ranks."""
    columns = table.frame.columns
    has_ranks = number == "score" and column_of(columns, "rank") is not None
    own = column_of(columns, number)
    if has_ranks and (own is None or table.frame[own].isna().all()):
        return table.column("rank")
    return table.column(number)


def _name_of(pairs: Pairs, place: int) -> str:
    user, item = pairs.users.ids[pairs.user[place]], pairs.items.ids[pairs.item[place]]
    return f"item {str(item)!r} of topic {str(user)!r}"


def is_single(data: Any) -> bool:
    """Tell whether it is one run, not several: a dictionary of dictionaries, or records."""
    if isinstance(data, Mapping):
        return all(isinstance(one, Mapping) and _is_of_numbers(one) for one in data.values())
    if isinstance(data, list | tuple):
        return len(data) > 0 and hasattr(data[0], "_fields")
    return hasattr(data, "to_dict") or is_frame(data)


def _is_of_numbers(items: Mapping[Any, Any]) -> bool:
    return not any(isinstance(number, Mapping) for number in items.values())


def has_columns_of_trec(frame: pd.DataFrame, *, width: int) -> bool:
    """Tell whether columns have numbers for names, and there are as many as in a TREC file."""
    return [*map(str, frame.columns)] == [*map(str, range(width))]


def _frame_of(data: Any, what: str, number: Number) -> pd.DataFrame:
    """Make a frame of what is laid out otherwise."""
    import pandas as pd

    names = ("topic", "item", number)
    if is_frame(data):
        return with_index(frame_of(data))
    if isinstance(data, Mapping) or hasattr(data, "to_dict"):
        by_topic = data if isinstance(data, Mapping) else data.to_dict()
        for topic, items in by_topic.items():
            if not isinstance(items, Mapping) or not _is_of_numbers(items):
                raise InputError(
                    f"{what}: numbers by item are expected for topic {str(topic)!r}, got "
                    f"{type(items).__name__}."
                )
        rows = [(t, item, n) for t, items in by_topic.items() for item, n in items.items()]
        return pd.DataFrame(rows, columns=names, dtype=object)
    is_list = isinstance(data, Iterable) and not isinstance(data, str | bytes)
    records = [*data] if is_list else []
    if not is_list or (records and not hasattr(records[0], "_fields")):
        kind = f"a list of {type(records[0]).__name__}" if records else type(data).__name__
        raise InputError(f"{what} must be {FORMS[number]}, got {kind}.")
    return pd.DataFrame(records, columns=records[0]._fields if records else names)


NAMELESS = "run"
"""What a single run is called that has no name."""

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
    by_name = given if isinstance(given, Mapping) and not is_single(given) else {}
    if not any(map(_are_runs, by_name.values())):
        return runs_of(given), ()
    found: list[RunFile] = []
    systems: list[str] = []
    for name, value in by_name.items():
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
        Run files, also tables of other tools: a path, a pattern such as ``"runs/*.run"``, or
        several. Runs by the names of
        their systems: ``{"bm25": run, "ease": run}``, where a run is a path, a dictionary
        ``{topic: {item: score}}``, a data frame with columns such as query_id, doc_id and score, or
        of TREC's six columns without names, an iterable of ir_measures' ScoredDoc, or a Run of
        ranx. One data frame of several runs, whose column system, run_id or tag tells them apart.
        A list of Runs of ranx that have names. Or a single run without a name, which is called
        "run".

    Returns
    -------
    What the runs say, as if it had been read from files.
    """
    if is_frame(given):
        table = Table(with_index(frame_of(given)), "the runs")
        if _system_column(table) is None:
            return [_named(NAMELESS, replace(table, what="the run"))]
        return [_named(name, run) for name, run in _parts(table).items()]
    if isinstance(given, str | PathLike):
        return read_run_files(find_run_files([str(given)]))
    if is_single(given):
        name = getattr(given, "name", None)
        return [_named(name if isinstance(name, str) and name else NAMELESS, given)]
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
        f"{{name: run}}, where a run is {FORMS['score']}."
    )


def read_run_files(paths: Iterable[Path], columns: ColumnNames | None = None) -> list[RunFile]:
    """Read run files: TREC's lines, our Parquet, and tables and JSON of other tools.

    A table may hold several runs, if a column names their systems; else the run is called as the
    file, without its extension. The user may name the columns of tables.
    """
    return [run for path in paths for run in _runs_in(Path(path), columns)]


def _runs_in(path: Path, columns: ColumnNames | None) -> list[RunFile]:
    content = read_bytes(path)
    if not columns and content.startswith(PARQUET) and is_own(content):
        return [run_from_parquet(path, content)]
    found = read_table(path, content, columns)
    if found is None:
        return [parse_run(path, content)]
    name = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    if isinstance(found, Table) and column_of(found.frame.columns, "system") is not None:
        return [_named(name, part, path) for name, part in _parts(found).items()]
    return [_named(name, found, path)]


def _named(name: str, run: Any, path: Path | None = None) -> RunFile:
    if isinstance(run, str | PathLike):
        found = read_run_files([Path(run)])
        if len(found) > 1:
            raise InputError(f"{run}: {len(found)} systems found, one expected for {name!r}.")
        return replace(found[0], system=name)
    what = f"the run {name!r}" if path is None else str(path)
    if path is None and isinstance(run, Table):
        run = replace(run, what=what)
    pairs, scores = read_pairs(run, what, "score")
    return RunFile(path or what, name, *pairs, scores)


def _parts(table: Table) -> dict[str, Table]:
    """Part a table by the systems of its rows."""
    return table.parts(_system_column(table))


def _system_column(table: Table) -> Any | None:
    """Look up the column that names the systems; None for a single run."""
    columns = table.frame.columns
    if has_columns_of_trec(table.frame, width=N_FIELDS):
        return columns[TAG_FIELD]
    return column_of(columns, "system")


Judgements: TypeAlias = (
    "str | PathLike[str] | Mapping[str, Mapping[str, int]] | Iterable[Any] | pd.DataFrame"
)
"""A qrels file, or what is read as one; see `judgements_of`."""

Counts: TypeAlias = "Mapping[str, int] | pd.Series[int]"
"""A number for each item; see `counts_of`."""


def judgements_of(given: Judgements, columns: ColumnNames | None = None) -> QrelsFile:
    """Read judgements.

    Parameters
    ----------
    given
        A qrels file or a table of another tool, a dictionary ``{topic: {item: grade}}``, a data
        frame with columns such as query_id, doc_id and relevance (`harness.readers.columns` has
        all names), or of TREC's four columns without names, an iterable of ir_measures' Qrel,
        Qrels of ranx, or lists of LensKit. Where there is no such file, an id of ir_datasets.
    columns
        Names of the columns user, item and grade of a table, where they are others.
    """
    data: Any
    what, data = "the qrels", given
    if isinstance(given, str | PathLike):
        if not Path(given).exists() and _is_known(str(given)):
            file, level = judgements_in(str(given))
            if level > 1:
                warn(f"{given}: official measures take grades from {level} on for relevant (-l).")
            return file
        what, path, content = str(given), Path(given), read_bytes(Path(given))
        data = read_table(path, content, columns, kind="qrels")
        if data is None:
            return parse_qrels(path, content)
    pairs, numbers = read_pairs(data, what, "grade")
    # Negative grades, of any size, mean "not judged".
    numbers = np.maximum(numbers, -1.0)
    for place in np.flatnonzero((numbers != np.floor(numbers)) | (numbers > HIGHEST_GRADE))[:1]:
        raise InputError(
            f"{what}: a grade must be a whole number of at most {HIGHEST_GRADE}, and "
            f"{_name_of(pairs, place)} has {numbers[place]:g}. Multiply half stars and "
            "`relevance_level` by 2, or round them."
        )
    return QrelsFile(*pairs, numbers.astype(np.int32))


def _is_known(dataset: str) -> bool:
    """Tell whether ir_datasets is there, and has such a data set."""
    if find_spec("ir_datasets") is None:
        return False
    import ir_datasets

    return dataset in ir_datasets.registry


def judgements_in(dataset: str) -> tuple[QrelsFile, int]:
    """Read the judgements of an id of ir_datasets, and the grade from which items are relevant.

    That is the highest that its official measures name, or 1.
    """
    try:
        import ir_datasets
    except ImportError:
        raise InputError(
            f"qrels {dataset!r} of ir_datasets need that package; {how_to_add('ir-datasets')}"
        ) from None
    if dataset not in ir_datasets.registry:
        raise InputError(f"ir_datasets has no data set {dataset!r}.")
    found = ir_datasets.load(dataset)
    if not found.has_qrels():
        raise InputError(f"the data set {dataset!r} of ir_datasets has no qrels.")
    official = (found.documentation() or {}).get("official_measures") or ()
    levels = [int(level) for level in re.findall(r"rel=(\d+)", " ".join(map(str, official)))]
    return judgements_of(found.qrels_iter()), max(levels, default=1)


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
