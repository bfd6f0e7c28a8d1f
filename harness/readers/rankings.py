"""Runs and qrels as people have them: files, dictionaries, data frames, objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from harness.readers.objects import frame_of, is_frame, with_index
from harness.readers.table import Table, table_of
from harness.readers.table_files import read_table
from qrels.trec import GRADE_FIELD, HIGHEST_GRADE, QrelsFile, parse_qrels
from qrels.trec import N_FIELDS as N_QRELS_FIELDS
from runs import InputError
from runs.formats import (
    N_FIELDS,
    SCORE_FIELD,
    TAG_FIELD,
    find_run_files,
    is_own,
    parse_runs,
    runs_from_parquet,
)
from runs.run_file import RunFile
from runs.shared.arrays import Floats
from runs.shared.errors import how_to_add, warn
from runs.shared.fields import ITEM_FIELD, USER_FIELD, Pairs
from runs.shared.files import PARQUET, read_bytes
from runs.tables.hints import hint_of
from runs.tables.roles import QRELS, RUNS, ColumnNames, Kind, Reason, Role
from runs.tables.values import is_number

if TYPE_CHECKING:
    import pandas as pd


FORMS: Mapping[str, str] = {
    RUNS.name: "a path, a dictionary {topic: {item: score}} or {topic: [item, ...]}, a data frame, "
    "ScoredDocs of ir_measures or a Run of ranx",
    QRELS.name: "a path, a dictionary {topic: {item: grade}}, a data frame, Qrels of ir_measures "
    "or Qrels of ranx",
}
"""What may be read, by kind."""

TREC_PLACES: Mapping[str, Mapping[Role, int]] = {
    RUNS.name: {Role.USER: USER_FIELD, Role.ITEM: ITEM_FIELD, Role.SCORE: SCORE_FIELD},
    QRELS.name: {Role.USER: USER_FIELD, Role.ITEM: ITEM_FIELD, Role.RATING: GRADE_FIELD},
}
"""Places of the columns in frames that are laid out as files of TREC, by kind."""

TREC_WIDTHS: Mapping[str, int] = {RUNS.name: N_FIELDS, QRELS.name: N_QRELS_FIELDS}


def read_pairs(data: Any, what: str, kind: Kind) -> tuple[Pairs, Floats]:
    """Read what a notebook or a table has: pairs of topics and items, and a number for each.

    Parameters
    ----------
    data
        Numbers by topic and item, ``{topic: {item: number}}``; ranked items by topic, ``{topic:
        [item, ...]}``; what has ``to_dict()`` and gives such, as ranx does; a table, or an object
        that `harness.readers.objects` makes a frame of; or records with names, as ir_measures has
        them.
    what
        What is read, such as "the run 'bm25'", for messages.
    kind
        Runs, or qrels.

    Returns
    -------
    Pairs of topics and items, and the number of each, float64 of shape (n_pairs,).
    """
    table = data if isinstance(data, Table) else _table_of_object(data, what, kind)
    users, user = table.numbered_ids(Role.USER)
    items, item = table.numbered_ids(Role.ITEM)
    values = _numbers(table, kind)
    if not len(values):
        raise InputError(f"{table.label}: there is no item.")
    pairs = Pairs(users, items, user, item)
    faults = {
        "has no number": np.flatnonzero(np.isnan(values)),
        "is duplicated": pairs.duplicate_rows(),
    }
    for finding, places in faults.items():
        for place in places[:1]:
            raise table.error(int(place), f"{_name_of(pairs, place)} {finding}.")
    return pairs, values


def _numbers(table: Table, kind: Kind) -> Floats:
    """Read grades or scores, float64 of shape (n_rows,); of a run without scores, negative ranks.

    A column of scores does not count where a person names ranks, or where it has no value and there
    are ranks.
    """
    if kind is QRELS:
        return table.numbers(Role.RATING)
    rank = table.columns.column(Role.RANK)
    if rank is not None:
        is_named = rank.reason == Reason.NAMED
        has_scores = table.has(Role.SCORE) and table.column(Role.SCORE).notna().any()
        if is_named or not has_scores:
            return -table.numbers(Role.RANK)
    return table.numbers(Role.SCORE)


def _name_of(pairs: Pairs, place: int | np.integer[Any]) -> str:
    """Name the topic and the item of a pair, for messages."""
    user = pairs.users.ids[pairs.user[place]]
    item = pairs.items.ids[pairs.item[place]]
    return f"item {str(item)!r} of topic {str(user)!r}"


def is_single(data: Any) -> bool:
    """Tell whether an object is one run, not several: a dictionary of dictionaries, or records."""
    if isinstance(data, Mapping):
        return all(isinstance(items, Mapping) and _is_of_numbers(items) for items in data.values())
    if isinstance(data, list | tuple):
        return len(data) > 0 and hasattr(data[0], "_fields")
    return hasattr(data, "to_dict") or is_frame(data)


def _is_of_numbers(items: Mapping[Any, Any]) -> bool:
    """Tell numbers by item from runs by topic, and from ranked items by topic."""
    return not any(isinstance(value, Mapping | list | tuple) for value in items.values())


def has_columns_of_trec(frame: pd.DataFrame, *, width: int) -> bool:
    """Tell whether columns have numbers for names, and there are as many as in a TREC file."""
    names = [str(name) for name in frame.columns]
    return names == [str(place) for place in range(width)]


def _table_of_object(data: Any, what: str, kind: Kind) -> Table:
    """Make a table of what is laid out otherwise."""
    frame = _frame_of_object(data, what, kind)
    is_trec = has_columns_of_trec(frame, width=TREC_WIDTHS[kind.name])
    named = TREC_PLACES[kind.name] if is_trec else {}
    return table_of(frame, kind, label=what, named=named)


def _frame_of_object(data: Any, what: str, kind: Kind) -> pd.DataFrame:
    """Make a frame of a frame of another tool, a dictionary or records."""
    import pandas as pd

    names = ("topic", "item", "score" if kind is RUNS else "grade")
    if is_frame(data):
        return with_index(frame_of(data))
    if isinstance(data, Mapping) or hasattr(data, "to_dict"):
        by_topic = data if isinstance(data, Mapping) else data.to_dict()
        rows = [
            (topic, item, number)
            for topic, items in by_topic.items()
            for item, number in _numbers_by_item(items, topic, what, kind).items()
        ]
        return pd.DataFrame(rows, columns=names, dtype=object)
    is_list = isinstance(data, Iterable) and not isinstance(data, str | bytes)
    records = [*data] if is_list else []
    if not is_list or (records and not hasattr(records[0], "_fields")):
        shown = f"a list of {type(records[0]).__name__}" if records else type(data).__name__
        raise InputError(f"{what} must be {FORMS[kind.name]}, got {shown}.")
    return pd.DataFrame(records, columns=records[0]._fields if records else names)


def _numbers_by_item(items: Any, topic: Any, what: str, kind: Kind) -> Mapping[Any, Any]:
    """Check the numbers of one topic; ranked items get falling scores.

    Raises
    ------
    InputError
        If there are neither numbers by item nor, in a run, a list of distinct items.
    """
    if kind is RUNS and isinstance(items, list | tuple):
        scores = {item: len(items) - place for place, item in enumerate(items)}
        if len(scores) < len(items):
            twice = next(item for place, item in enumerate(items) if item in items[:place])
            raise InputError(f"{what}: item {str(twice)!r} of topic {str(topic)!r} is duplicated.")
        return scores
    if not isinstance(items, Mapping) or not _is_of_numbers(items):
        raise InputError(
            f"{what}: numbers by item are expected for topic {str(topic)!r}, got "
            f"{type(items).__name__}."
        )
    return items


NAMELESS = "run"
"""What a single run is called that has no name."""

Runs: TypeAlias = "str | PathLike[str] | Sequence[Any] | Mapping[str, Any] | pd.DataFrame"
"""Run files, or runs by the names of their systems; see `runs_of`."""


def replicates_of(runs: Runs) -> tuple[list[RunFile], tuple[str, ...]]:
    """Read runs of which several may be of one system.

    Parameters
    ----------
    runs
        As for `runs_of`; in a dictionary by the names of the systems, a list of runs stands for
        several of a system, from other seeds or folds, which are called "ease-1", "ease-2", ...

    Returns
    -------
    What the runs say, and the name of the system of each; no names if each is of its own.
    """
    by_name = runs if isinstance(runs, Mapping) and not is_single(runs) else {}
    if not any(map(_are_runs, by_name.values())):
        return runs_of(runs), ()
    run_files: list[RunFile] = []
    systems: list[str] = []
    for name, value in by_name.items():
        of_system = {str(name): value}
        if _are_runs(value):
            of_system = {f"{name}-{place}": run for place, run in enumerate(value, start=1)}
        run_files += [_named(run_name, run) for run_name, run in of_system.items()]
        systems += [str(name)] * len(of_system)
    return run_files, tuple(systems)


def _are_runs(value: Any) -> bool:
    """Tell a list of runs from a list of records, which is one run."""
    is_list = isinstance(value, list | tuple) and len(value) > 0
    return is_list and all(isinstance(run, str | PathLike) or is_single(run) for run in value)


def runs_of(runs: Runs) -> list[RunFile]:
    """Read runs, each with the name of its system.

    Parameters
    ----------
    runs
        Run files, also tables of other tools: a path, a pattern such as ``"runs/*.run"``, or
        several. Runs by the names of their systems: ``{"bm25": run, "ease": run}``, where a run is
        a path, a dictionary ``{topic: {item: score}}`` or ``{topic: [item, ...]}``, a data frame
        with columns such as query_id, doc_id and score, or of TREC's six columns without names, an
        iterable of ir_measures' ScoredDoc, or a Run of ranx. One data frame of several runs, whose
        column system, run_id or tag tells them apart. A list of Runs of ranx that have names. Or a
        single run without a name, which is called "run".

    Returns
    -------
    What the runs say, as if it had been read from files.
    """
    if is_frame(runs):
        table = _table_of_object(runs, "the runs", RUNS)
        if has_columns_of_trec(table.frame, width=N_FIELDS):
            table = table_of(
                table.frame,
                RUNS,
                label="the runs",
                named={**TREC_PLACES[RUNS.name], Role.SYSTEM: TAG_FIELD},
            )
        if not table.has(Role.SYSTEM):
            _warn_of_unread_systems(table)
            return [_named(NAMELESS, replace(table, label="the run"))]
        return [_named(name, run) for name, run in table.part_by(Role.SYSTEM).items()]
    if isinstance(runs, str | PathLike):
        return named_apart(read_run_files(find_run_files([str(runs)])))
    if is_single(runs):
        name = getattr(runs, "name", None)
        return [_named(name if isinstance(name, str) and name else NAMELESS, runs)]
    if isinstance(runs, Mapping):
        return [_named(str(name), run) for name, run in runs.items()]
    if not isinstance(runs, Sequence):
        raise _nameless(runs)
    run_files: list[RunFile] = []
    for run in runs:
        if isinstance(run, str | PathLike):
            run_files += read_run_files(find_run_files([str(run)]))
        else:
            run_files.append(_of_named_object(run))
    return named_apart(run_files)


def _of_named_object(run: Any) -> RunFile:
    """Read a run that knows its name, as those of ranx do."""
    name = getattr(run, "name", None)
    if not isinstance(name, str) or not name:
        raise _nameless(run)
    return _named(name, run)


def _nameless(run: Any) -> InputError:
    return InputError(
        f"a run needs the name of its system, and {type(run).__name__} has none: give "
        f"{{name: run}}, where a run is {FORMS[RUNS.name]}."
    )


def read_run_files(paths: Iterable[Path], columns: ColumnNames | None = None) -> list[RunFile]:
    """Read run files: TREC's lines, our Parquet, and tables and JSON of other tools.

    A file may hold several runs, if a column or the tag names their systems; else the run of a
    table is called as the file, without its extension. A person may name the columns of tables.
    """
    return [run for path in paths for run in _runs_in(Path(path), columns)]


def named_apart(run_files: list[RunFile]) -> list[RunFile]:
    """Call runs as their files where several files of one run each have one tag."""
    tags = [run.system for run in run_files]
    files = [str(run.path) for run in run_files]
    is_shared = len(set(tags)) < len(tags) and len(set(files)) == len(files)
    if not is_shared:
        return run_files
    shared = {tag for tag in tags if tags.count(tag) > 1}
    names = [_stem(Path(run.path)) if run.system in shared else run.system for run in run_files]
    if len(set(names)) < len(names):
        return run_files
    warn(
        f"{len([tag for tag in tags if tag in shared])} run files have one tag, such as "
        f"{sorted(shared)[0]!r}: their systems are called as the files, such as {names[0]!r}."
    )
    return [replace(run, system=name) for run, name in zip(run_files, names, strict=True)]


def _stem(path: Path) -> str:
    """Name of a file without the endings of what it is and of how it is packed."""
    name = path.name
    for ending in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(ending)
    return name.rpartition(".")[0] or name


def _runs_in(path: Path, columns: ColumnNames | None) -> list[RunFile]:
    """Read the runs of one file."""
    content = read_bytes(path)
    if not columns and content.startswith(PARQUET) and is_own(content):
        return runs_from_parquet(path, content)
    table = read_table(path, content, RUNS, columns)
    if table is None:
        return parse_runs(path, content)
    if isinstance(table, Table) and table.has(Role.SYSTEM):
        parts = table.part_by(Role.SYSTEM)
        return [_named(name, part, path) for name, part in parts.items()]
    if isinstance(table, Table):
        _warn_of_unread_systems(table)
    return [_named(_stem(path), table, path)]


def _warn_of_unread_systems(table: Table) -> None:
    """Warn of a column that may name systems, where a table is read as one run.

    Its name says nothing, and its texts follow neither from the topic nor from the item, as the
    text of a query or the category of a product would.
    """
    for column in table.columns.columns:
        if column.role != Role.UNREAD or hint_of(column.name):
            continue
        values = table.frame.iloc[:, column.place]
        is_text = not any(map(is_number, column.examples))
        if not is_text or values.nunique() > len(values) // 2:
            continue
        is_free = all(
            values.groupby(table.column(role).to_numpy()).nunique().gt(1).any()
            for role in (Role.USER, Role.ITEM)
        )
        if is_free:
            warn(
                f"{table.label}: read as one run; column {column.name!r} ({values.iloc[0]!r}, ...) "
                "is not read. If it names systems, name it: "
                f"`{table.columns.kind.option} system={column.name}`."
            )


def _named(name: str, run: Any, path: Path | None = None) -> RunFile:
    """Read one run, and call its system by a name."""
    if isinstance(run, str | PathLike):
        run_files = read_run_files([Path(run)])
        if len(run_files) > 1:
            raise InputError(f"{run}: {len(run_files)} systems found, one expected for {name!r}.")
        return replace(run_files[0], system=name)
    what = f"the run {name!r}" if path is None else str(path)
    if path is None and isinstance(run, Table):
        run = replace(run, label=what)
    pairs, scores = read_pairs(run, what, RUNS)
    return RunFile(path or what, name, *pairs, scores)


Judgements: TypeAlias = (
    "str | PathLike[str] | Mapping[str, Mapping[str, int]] | Iterable[Any] | pd.DataFrame"
)
"""A qrels file, or what is read as one; see `judgements_of`."""

Counts: TypeAlias = "Mapping[str, int] | pd.Series[int]"
"""A number for each item; see `counts_of`."""


def judgements_of(judgements: Judgements, columns: ColumnNames | None = None) -> QrelsFile:
    """Read judgements.

    Parameters
    ----------
    judgements
        A qrels file or a table of another tool, a dictionary ``{topic: {item: grade}}``, a data
        frame with columns such as query_id, doc_id and relevance (`runs.tables.hints` has all
        words), or of TREC's four columns without names, an iterable of ir_measures' Qrel,
        Qrels of ranx, or lists of LensKit. Where there is no such file, an id of ir_datasets.
    columns
        Names of the columns user, item and grade of a table, where they are others.
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
        content = read_bytes(path)
        data = read_table(path, content, QRELS, columns)
        if data is None:
            return parse_qrels(path, content)
    pairs, numbers = read_pairs(data, what, QRELS)
    # Negative grades, of any size, mean "not judged".
    numbers = np.maximum(numbers, -1.0)
    is_odd = (numbers != np.floor(numbers)) | (numbers > HIGHEST_GRADE)
    for place in np.flatnonzero(is_odd)[:1]:
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
    collection = ir_datasets.load(dataset)
    if not collection.has_qrels():
        raise InputError(f"the data set {dataset!r} of ir_datasets has no qrels.")
    official = (collection.documentation() or {}).get("official_measures") or ()
    levels = [int(level) for level in re.findall(r"rel=(\d+)", " ".join(map(str, official)))]
    return judgements_of(collection.qrels_iter()), max(levels, default=1)


def counts_of(item_counts: Counts) -> dict[str, int]:
    """Read how often each item was rated, or used.

    Parameters
    ----------
    item_counts
        Counts by item: a dictionary, or a Series such as ``value_counts()`` gives.
    """
    if is_frame(item_counts) or not hasattr(item_counts, "items"):
        raise InputError(
            "popularity must be counts by item: a dictionary or a Series, got "
            f"{type(item_counts).__name__}."
        )
    counts: dict[str, int] = {}
    for item, count in item_counts.items():
        if not isinstance(count, Real) or count < 0 or count % 1:
            raise InputError(
                f"popularity: a count is a whole number from 0 on, and item {str(item)!r} has "
                f"{count}."
            )
        counts[str(item)] = int(count)
    return counts
