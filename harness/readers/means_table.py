"""Tables of mean scores: systems down, measures across."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from analyses.shared.measure import Measure
from harness.readers.score_files import Line, heading_and_rows, read_numbers
from harness.readers.scores import measure_at, measure_named
from harness.readers.table import Table, table_of
from harness.readers.table_files import read_table
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.fields import distinct_names, is_number, require_width
from runs.shared.files import read_bytes
from runs.tables.hints import Meaning, hint_of
from runs.tables.roles import SCORES, Role
from runs.tables.sniff import trec_kind

ALL: Final = "all"
"""What trec_eval calls the mean over the topics."""

MEAN: Final = "mean"
CUTOFF: Final = "cutoff"
"""Columns of our tables of means."""

SYSTEM_HEADERS = ("", "system", "run", "name", "model")


@dataclass(frozen=True, eq=False)
class Means:
    """Mean scores of systems: float64 of shape (n_measures, n_systems), and labels of its axes."""

    values: Floats
    measures: tuple[Measure, ...]
    systems: tuple[str, ...]


def is_means_table(path: Path) -> bool:
    """Tell a table of means from the scores of one measure, topic by topic.

    The latter has ids of topics in its first column, as its heading says, or no column of names at
    all: all its fields are numbers, and none of the usual headings is above the first.
    """
    if path.is_dir() or path.suffix in (".parquet", ".feather"):
        return False
    if long_means(path) is not None:
        return True
    if path.suffix == ".json":
        return False
    (_, heading), rows = _without_index(*heading_and_rows(path))
    if _has_topics(heading):
        return False
    has_usual_heading = heading[0].lower() in SYSTEM_HEADERS
    return has_usual_heading or not all(is_number(row[0]) for _, row in rows)


def _has_topics(heading: Sequence[str]) -> bool:
    """Tell whether a column is called as topics or users are."""
    hints = [hint_of(name) for name in heading]
    return any(
        hint is not None and hint.weakness == 0 and hint.meaning in (Meaning.USER, Meaning.TOPIC)
        for hint in hints
    )


def read_means(path: Path) -> Means:
    """Read a table of means.

    Fields are separated by tabs if the heading has one, else by commas. The first column names the
    systems and the heading the measures, such as ``ap`` or ``nDCG@10``. WarpRec has the cut-offs in
    a column Top@k.

    Raises
    ------
    InputError
        If a mean is missing or no number, a name is there twice, or there are fewer than two
        systems or measures.
    """
    means = long_means(path)
    if means is not None:
        return means
    heading_line, rows = _without_index(*heading_and_rows(path))
    if any(row[:1] == ["Test result:"] for _, row in rows):
        finding = "this is hyper.result of RecBole; a table with a row for each system is needed."
        raise InputError(f"{path}: {finding}")
    if heading_line[1][1:2] == ["Top@k"]:
        heading_line, rows = _with_cutoffs_as_columns(path, heading_line, rows)
    line, heading = heading_line
    names = distinct_names(path, [(line, name) for name in heading[1:]], "measure")
    systems = distinct_names(path, [(number, row[0]) for number, row in rows], "system")
    measures = tuple(measure_at(path, line, name) for name in names)
    distinct_names(path, [(line, str(measure)) for measure in measures], "measure")
    rows_of_means = np.array(read_numbers(path, rows, names), dtype=np.float64)
    values = rows_of_means.reshape(len(systems), len(names)).T
    if min(values.shape) < 2:
        raise InputError(
            f"{path}: at least two systems and two measures are needed, found {len(systems)} and "
            f"{len(names)}."
        )
    return Means(values, measures, systems)


def long_means(path: Path) -> Means | None:
    """Read means that stand one in a row or in JSON, as our commands write them; else None.

    A row names the system and the measure, perhaps its cut-off, and no topic, or ``all`` of them.
    """
    import pandas as pd

    content = read_bytes(path)
    if trec_kind(content) or b"\n" not in content.strip():
        return None
    table = read_table(path, content, SCORES) if _may_be_long(content) else None
    if isinstance(table, Mapping):
        records = _records_of_document(table)
        if not records:
            return None
        table = table_of(pd.DataFrame(records), SCORES, label=str(path), unit="row")
    if table is None or not (table.has(Role.SYSTEM) and table.has(Role.MEASURE)):
        return None
    names = [str(name) for name in table.frame.columns]
    if not table.has(Role.SCORE) or not (MEAN in names or _has_means_alone(table)):
        return None
    measures = table.column(Role.MEASURE).astype(str)
    if CUTOFF in names:
        cutoffs = table.frame[CUTOFF].fillna("").astype(str)
        is_cut = cutoffs != ""
        measures = measures.where(~is_cut, measures + "@" + cutoffs)
    frame = pd.DataFrame(
        {
            "system": table.column(Role.SYSTEM).astype(str),
            "measure": measures,
            "mean": table.numbers(Role.SCORE),
        }
    )
    for place in np.flatnonzero(frame.duplicated(["system", "measure"]))[:1]:
        raise table.error(int(place), "the mean of a system by a measure is there twice.")
    wide = frame.pivot(index="measure", columns="system", values="mean")
    wide = wide.reindex(index=frame["measure"].unique(), columns=frame["system"].unique())
    for row, column in np.argwhere(wide.isna().to_numpy())[:1]:
        raise InputError(
            f"{path}: system {wide.columns[column]!r} has no mean by {wide.index[row]}."
        )
    return Means(
        values=wide.to_numpy(dtype=np.float64),
        measures=tuple(measure_named(name) for name in wide.index),
        systems=tuple(wide.columns),
    )


def _may_be_long(content: bytes) -> bool:
    """Tell JSON, and text whose heading names a measure, from other files."""
    heading = content.partition(b"\n")[0].decode("utf-8", errors="replace")
    names = re.split(r"[,;\t]", heading)
    hints = [hint for hint in map(hint_of, names) if hint is not None]
    is_long = any(hint.meaning == Meaning.MEASURE for hint in hints)
    return is_long or content.lstrip()[:1] in (b"{", b"[")


def _has_means_alone(table: Table) -> bool:
    """Tell whether no row is of a single topic."""
    if not table.has(Role.USER):
        return True
    return set(table.ids(Role.USER).tolist()) == {ALL}


def _records_of_document(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the means in what ``harness evaluate`` or ``harness table`` writes as JSON.

    Returns
    -------
    A record for each mean, with system, measure and mean; none for other documents.
    """
    records = []
    for run in document.get("runs", ()):
        if isinstance(run, Mapping) and isinstance(run.get(ALL), Mapping) and "topics" not in run:
            for measure, mean in run[ALL].items():
                records.append({"system": run.get("system"), "measure": measure, "mean": mean})
    for row in document.get("means", ()):
        for measure, mean in row.items():
            if measure != "system":
                records.append({"system": row.get("system"), "measure": measure, "mean": mean})
    return records


def _without_index(heading: Line, rows: list[Line]) -> tuple[Line, list[Line]]:
    """Leave out the index that pandas writes before the names of the systems."""
    line, names = heading
    has_index = names[0] == "" and len(names) > 1 and names[1].lower() in SYSTEM_HEADERS
    if not has_index:
        return heading, rows
    return (line, names[1:]), [(number, row[1:]) for number, row in rows]


def _with_cutoffs_as_columns(
    path: Path, heading: Line, rows: list[Line]
) -> tuple[Line, list[Line]]:
    """Bring a table with a row for each system and cut-off into one with a row for each system.

    Its measures have a column for each cut-off. Refuses a system that lacks a cut-off.
    """
    line, (system_heading, _, *names) = heading
    cutoffs = list(dict.fromkeys(row[1] for _, row in rows))
    means_of = {(row[0], row[1]): row[2:] for _, row in rows}
    line_of_system = {row[0]: number for number, row in reversed(rows)}
    systems = dict.fromkeys(row[0] for _, row in rows)
    wide_heading = [system_heading]
    for cutoff in cutoffs:
        wide_heading += [f"{name}@{cutoff}" for name in names]
    wide_rows = []
    for system in systems:
        wide_row = [system]
        for cutoff in cutoffs:
            wide_row += means_of.get((system, cutoff), [])
        number = line_of_system[system]
        wide_rows.append((number, require_width(path, number, wide_row, wide_heading)))
    return (line, wide_heading), wide_rows
