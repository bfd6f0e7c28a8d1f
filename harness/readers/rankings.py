"""Runs, and pairs of qrels, as people have them: files, dictionaries, data frames, objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from harness.readers.objects import frame_of, is_frame, with_index
from harness.readers.table import Table, table_of
from harness.readers.table_files import read_content, read_table
from qrels.trec import GRADE_FIELD, SUBTOPIC_FIELD
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
from runs.shared.arrays import Floats, Ints, Numbers
from runs.shared.errors import warn
from runs.shared.fields import ITEM_FIELD, USER_FIELD, Pairs
from runs.shared.files import PARQUET
from runs.tables.hints import hint_of
from runs.tables.roles import QRELS, RUNS, Kind, Reason, Role
from runs.tables.values import is_number

if TYPE_CHECKING:
    import pandas as pd

    from runs.tables.options import TextOptions


FORMS: Mapping[str, str] = {
    RUNS.name: "a path, a dictionary {topic: {item: score}} or {topic: [item, ...]}, a data frame, "
    "ScoredDocs of ir_measures or a Run of ranx",
    QRELS.name: "a path, a dictionary {topic: {item: grade}}, a data frame, Qrels of ir_measures "
    "or Qrels of ranx",
}
"""What may be read, by kind."""

TREC_PLACES: Mapping[str, Mapping[Role, int]] = {
    RUNS.name: {Role.USER: USER_FIELD, Role.ITEM: ITEM_FIELD, Role.SCORE: SCORE_FIELD},
    QRELS.name: {
        Role.USER: USER_FIELD,
        Role.SUBTOPIC: SUBTOPIC_FIELD,
        Role.ITEM: ITEM_FIELD,
        Role.RATING: GRADE_FIELD,
    },
}
"""Places of the columns in frames that are laid out as files of TREC, by kind."""

TREC_WIDTHS: Mapping[str, int] = {RUNS.name: N_FIELDS, QRELS.name: N_QRELS_FIELDS}


def read_pairs(
    data: Any, what: str, kind: Kind, options: TextOptions | None = None
) -> tuple[Pairs, Floats]:
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
    options
        What a person says of it: only names of columns count here.

    Returns
    -------
    Pairs of topics and items, and the number of each, float64 of shape (n_pairs,).

    Raises
    ------
    InputError
        If it is none of these, a column is not known, a number or an id is missing, or a pair is
        there twice.
    """
    table = table_of_data(data, what, kind, options)
    pairs, values = pairs_in(table)
    require_distinct(table, pairs)
    return pairs, values


def table_of_data(data: Any, what: str, kind: Kind, options: TextOptions | None = None) -> Table:
    """Make a table of what `read_pairs` takes; a table is returned as it is."""
    return data if isinstance(data, Table) else _table_of_object(data, what, kind, options)


def pairs_in(table: Table) -> tuple[Pairs, Floats]:
    """Read the topic, the item and the number of each row; a pair may be in several rows.

    Returns
    -------
    Topics and items, and the numbers, float64 of shape (n_rows,).

    Raises
    ------
    InputError
        If there are no rows, an id is missing, or a row has no number.
    """
    users, user = table.numbered_ids(Role.USER)
    items, item = table.numbered_ids(Role.ITEM)
    values = _numbers(table, table.columns.kind)
    if not len(values):
        raise InputError(f"{table.label}: there is no item.")
    pairs = Pairs(users, items, user, item)
    _refuse_rows(table, pairs, np.flatnonzero(np.isnan(values)), "has no number")
    return pairs, values


def require_distinct(table: Table, pairs: Pairs, subtopic: Ints | None = None) -> None:
    """Raise InputError, at its second row, if a pair of topic and item is in several rows.

    With the number of the ``subtopic`` of each row, (n_rows,), a pair may be in a row of each.
    """
    _refuse_rows(table, pairs, pairs.duplicate_rows(subtopic), "is duplicated")


def _refuse_rows(table: Table, pairs: Pairs, rows: Numbers, finding: str) -> None:
    """Raise InputError for the pair of the first of these rows, if there is one.

    ``rows`` are places in the table, of shape (n,); ``finding`` says what is wrong with them.
    """
    if len(rows):
        first_row = int(rows[0])
        raise table.error(first_row, f"{pair_name(pairs, first_row)} {finding}.")


def _numbers(table: Table, kind: Kind) -> Floats:
    """Read grades or scores, float64 of shape (n_rows,); of a run without scores, negative ranks.

    A column of scores does not count where a person names ranks, or where it has no value and there
    are ranks. NaN where a number is missing. Raises InputError if no column holds such numbers, or
    a value is no number.
    """
    if kind is QRELS:
        return table.numbers(Role.RATING)
    rank_column = table.columns.column(Role.RANK)
    if rank_column is None:
        return table.numbers(Role.SCORE)
    is_named = rank_column.reason == Reason.NAMED
    has_scores = table.has(Role.SCORE) and table.column(Role.SCORE).notna().any()
    if has_scores and not is_named:
        return table.numbers(Role.SCORE)
    ranks = table.numbers(Role.RANK)
    return -ranks


def pair_name(pairs: Pairs, row: int) -> str:
    """Name the topic and the item of a pair, for messages."""
    topic = str(pairs.users.ids[pairs.user[row]])
    item = str(pairs.items.ids[pairs.item[row]])
    return f"item {item!r} of topic {topic!r}"


def is_single(data: Any) -> bool:
    """Tell whether an object is one run, not several: a dictionary of dictionaries, or records."""
    if isinstance(data, Mapping):
        return all(_has_numbers(items) for items in data.values())
    if isinstance(data, list | tuple):
        return len(data) > 0 and hasattr(data[0], "_fields")
    return hasattr(data, "to_dict") or is_frame(data)


def _has_numbers(items: Any) -> bool:
    """Tell numbers by item from runs by topic, from ranked items by topic, and from no mapping."""
    if not isinstance(items, Mapping):
        return False
    return not any(isinstance(value, Mapping | list | tuple) for value in items.values())


def has_columns_of_trec(frame: pd.DataFrame, *, width: int) -> bool:
    """Tell whether columns have numbers for names, and there are as many as in a TREC file."""
    names = [str(name) for name in frame.columns]
    places = [str(place) for place in range(width)]
    return names == places


def _table_of_object(data: Any, what: str, kind: Kind, options: TextOptions | None) -> Table:
    """Make a table of a frame, a dictionary or records.

    A frame whose columns are called 0, 1, 2, ..., as many as the fields of a line of TREC, has the
    columns of such lines. ``what`` is read, for errors; ``options`` name columns. Raises InputError
    if it is no table.
    """
    frame = _frame_of_object(data, what, kind)
    is_trec = has_columns_of_trec(frame, width=TREC_WIDTHS[kind.name])
    place_of_role = TREC_PLACES[kind.name] if is_trec else {}
    columns = None if options is None else options.columns
    return table_of(frame, kind, label=what, named=place_of_role, columns=columns)


def _frame_of_object(data: Any, what: str, kind: Kind) -> pd.DataFrame:
    """Make a frame of a frame of another tool, a dictionary or records.

    A dictionary becomes the columns topic, item, and score (of a run) or grade. ``what`` is read,
    for errors. Rows are numbered from 0.

    Raises
    ------
    InputError
        If it is none of these, or a topic of a dictionary has no numbers by item.
    """
    import pandas as pd

    if is_frame(data):
        return with_index(frame_of(data))
    names = ["topic", "item", "score" if kind is RUNS else "grade"]
    if hasattr(data, "to_dict") and not isinstance(data, Mapping):
        data = data.to_dict()
    if isinstance(data, Mapping):
        rows: list[tuple[Any, Any, Any]] = []
        for topic, items in data.items():
            numbers = _numbers_by_item(items, topic, what, kind)
            rows += [(topic, item, number) for item, number in numbers.items()]
        return pd.DataFrame(rows, columns=names, dtype=object)
    forms = FORMS[kind.name]
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"{what} must be {forms}, got {type(data).__name__}.")
    records = list(data)
    if not records:
        return pd.DataFrame(records, columns=names)
    first_record = records[0]
    if not hasattr(first_record, "_fields"):
        raise InputError(f"{what} must be {forms}, got a list of {type(first_record).__name__}.")
    return pd.DataFrame(records, columns=first_record._fields)


def _numbers_by_item(items: Any, topic: Any, what: str, kind: Kind) -> Mapping[Any, Any]:
    """Check the numbers of one topic; ranked items get falling scores: n, n - 1, ..., 1.

    Raises
    ------
    InputError
        If there are neither numbers by item nor, in a run, a list of distinct items.
    """
    topic_name = str(topic)
    if kind is RUNS and isinstance(items, list | tuple):
        scores: dict[Any, int] = {}
        for place, item in enumerate(items):
            if item in scores:
                item_name = str(item)
                raise InputError(
                    f"{what}: item {item_name!r} of topic {topic_name!r} is duplicated."
                )
            scores[item] = len(items) - place
        return scores
    if not _has_numbers(items):
        type_name = type(items).__name__
        raise InputError(
            f"{what}: numbers by item are expected for topic {topic_name!r}, got {type_name}."
        )
    numbers_by_item: Mapping[Any, Any] = items
    return numbers_by_item


NAMELESS = "run"
"""What a single run is called that has no name."""

Runs: TypeAlias = "str | PathLike[str] | Sequence[Any] | Mapping[str, Any] | pd.DataFrame"
"""Run files, or runs by the names of their systems; see `runs_of`."""


def replicates_of(
    runs: Runs, options: TextOptions | None = None
) -> tuple[list[RunFile], tuple[str, ...]]:
    """Read runs of which several may be of one system.

    Parameters
    ----------
    runs
        As for `runs_of`; in a dictionary by the names of the systems, a list of runs stands for
        several of a system, from other seeds or folds, which are called "ease-1", "ease-2", ...
    options
        What a person says of files: columns, separator, encoding. Columns count for frames, too.

    Returns
    -------
    What the runs say, and the name of the system of each; an empty tuple if each is of its own.
    """
    by_name = runs if isinstance(runs, Mapping) and not is_single(runs) else {}
    if not any(map(_are_runs, by_name.values())):
        return runs_of(runs, options), ()
    run_files: list[RunFile] = []
    systems: list[str] = []
    for name, value in by_name.items():
        if not _are_runs(value):
            run_files.append(_named(str(name), value, options=options))
            systems.append(str(name))
            continue
        for number, run in enumerate(value, start=1):
            run_files.append(_named(f"{name}-{number}", run, options=options))
            systems.append(str(name))
    return run_files, tuple(systems)


def _are_runs(value: Any) -> bool:
    """Tell a list of runs from a list of records, which is one run."""
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(run, str | PathLike) or is_single(run) for run in value)


def runs_of(runs: Runs, options: TextOptions | None = None) -> list[RunFile]:
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
    options
        As for `replicates_of`.

    Returns
    -------
    What the runs say, as if it had been read from files.
    """
    if is_frame(runs):
        table = _table_of_object(runs, "the runs", RUNS, options)
        if has_columns_of_trec(table.frame, width=N_FIELDS):
            place_of_role = {**TREC_PLACES[RUNS.name], Role.SYSTEM: TAG_FIELD}
            table = table_of(table.frame, RUNS, label="the runs", named=place_of_role)
        if not table.has(Role.SYSTEM):
            _warn_of_unread_systems(table)
            return [_named(NAMELESS, replace(table, label="the run"))]
        table_of_system = table.part_by(Role.SYSTEM)
        return [_named(name, run) for name, run in table_of_system.items()]
    if isinstance(runs, str | PathLike):
        paths = find_run_files([str(runs)])
        return named_apart(read_run_files(paths, options))
    if is_single(runs):
        name = getattr(runs, "name", None)
        system = name if isinstance(name, str) and name else NAMELESS
        return [_named(system, runs, options=options)]
    if isinstance(runs, Mapping):
        return [_named(str(name), run, options=options) for name, run in runs.items()]
    if not isinstance(runs, Sequence):
        raise _nameless(runs)
    run_files: list[RunFile] = []
    for run in runs:
        if isinstance(run, str | PathLike):
            paths = find_run_files([str(run)])
            run_files += read_run_files(paths, options)
        else:
            run_files.append(_of_named_object(run, options))
    return named_apart(run_files)


def _of_named_object(run: Any, options: TextOptions | None) -> RunFile:
    """Read a run that knows its name, as those of ranx do."""
    name = getattr(run, "name", None)
    if not isinstance(name, str) or not name:
        raise _nameless(run)
    return _named(name, run, options=options)


def _nameless(run: Any) -> InputError:
    type_name = type(run).__name__
    forms = FORMS[RUNS.name]
    return InputError(
        f"a run needs the name of its system, and {type_name} has none: give "
        f"{{name: run}}, where a run is {forms}."
    )


def read_run_files(paths: Iterable[Path], options: TextOptions | None = None) -> list[RunFile]:
    """Read run files: TREC's lines, our Parquet, and tables and JSON of other tools.

    A file may hold several runs, if a column or the tag names their systems; else the run of a
    table is called as the file, without its extension. ``options`` are what a person says of all
    files: columns and separator of tables, encoding of texts.
    """
    run_files: list[RunFile] = []
    for path in paths:
        run_files += _runs_in(Path(path), options)
    return run_files


def named_apart(run_files: list[RunFile]) -> list[RunFile]:
    """Call runs as their files where several files of one run each have one tag, with a warning.

    Runs with a tag of their own keep it. All are left as they are where a file holds several runs,
    or names would be equal, too.
    """
    tags = [run.system for run in run_files]
    files = [str(run.path) for run in run_files]
    has_shared_tag = len(set(tags)) < len(tags)
    has_shared_file = len(set(files)) < len(files)
    if not has_shared_tag or has_shared_file:
        return run_files
    shared_tags = {tag for tag in tags if tags.count(tag) > 1}
    names: list[str] = []
    names_of_files: list[str] = []
    for run in run_files:
        if run.system in shared_tags:
            name = _stem(Path(run.path))
            names_of_files.append(name)
        else:
            name = run.system
        names.append(name)
    if len(set(names)) < len(names):
        return run_files
    first_tag = min(shared_tags)
    n_renamed = len(names_of_files)
    warn(
        f"{n_renamed} run files share their tag with another one (such as {first_tag!r}): their "
        f"systems are called as the files, such as {names_of_files[0]!r}."
    )
    return [replace(run, system=name) for run, name in zip(run_files, names, strict=True)]


def _stem(path: Path) -> str:
    """Name of a file without the endings of what it is and of how it is packed."""
    name = path.name
    for ending in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(ending)
    stem, _, _ = name.rpartition(".")
    return stem or name


def _runs_in(path: Path, options: TextOptions | None) -> list[RunFile]:
    """Read the runs of one file: our Parquet, lines of TREC, or a table or JSON of another tool.

    A table has a run for each value of its column of systems; without one it is a single run, which
    is called as the file. Raises InputError if the file cannot be read.
    """
    content = read_content(path, RUNS, options)
    has_named_columns = options is not None and bool(options.columns)
    if not has_named_columns and content.startswith(PARQUET) and is_own(content):
        return runs_from_parquet(path, content)
    table = read_table(path, content, RUNS, options)
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

    Its name says nothing, it holds texts, of which at most half as many differ as there are rows,
    and they follow neither from the topic nor from the item, as the text of a query or the category
    of a product would.
    """
    for column in table.columns.columns:
        if column.role != Role.UNREAD or hint_of(column.name):
            continue
        values = table.frame.iloc[:, column.place]
        is_text = not any(is_number(example) for example in column.examples)
        most_values = len(values) // 2
        if not is_text or values.nunique() > most_values:
            continue
        if _varies_within(values, table, Role.USER) and _varies_within(values, table, Role.ITEM):
            first_value = values.iloc[0]
            option = table.columns.kind.option
            warn(
                f"{table.label}: read as one run; column {column.name!r} ({first_value!r}, ...) "
                f"is not read. If it names systems, name it: `{option} system={column.name}`."
            )


def _varies_within(values: pd.Series[Any], table: Table, role: Role) -> bool:
    """Tell whether a topic, or an item, by the role, has several of the values, (n_rows,)."""
    ids = table.column(role).to_numpy()
    n_values_of_id = values.groupby(ids).nunique()
    return bool(n_values_of_id.gt(1).any())


def _named(
    name: str, run: Any, path: Path | None = None, *, options: TextOptions | None = None
) -> RunFile:
    """Read one run, and call its system by a name; ``path`` is the file that it was read from.

    ``run`` is a path, a table, or what `read_pairs` reads. Raises InputError if a file holds
    several runs, or the run cannot be read.
    """
    if isinstance(run, str | PathLike):
        run_files = read_run_files([Path(run)], options)
        n_systems = len(run_files)
        if n_systems > 1:
            raise InputError(f"{run}: {n_systems} systems found, one expected for {name!r}.")
        return replace(run_files[0], system=name)
    what = f"the run {name!r}" if path is None else str(path)
    if path is None and isinstance(run, Table):
        run = replace(run, label=what)
    pairs, scores = read_pairs(run, what, RUNS, options)
    return RunFile(path or what, name, *pairs, scores)
