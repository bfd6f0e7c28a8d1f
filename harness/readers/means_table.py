"""Tables of mean scores: systems down, measures across."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analyses.shared.measure import Measure
from harness.readers.score_files import Line, heading_and_rows, read_numbers
from harness.readers.scores import measure_at
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.fields import distinct_names, is_number, require_width
from runs.tables.hints import Meaning, hint_of

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
    if path.is_dir() or path.suffix in (".parquet", ".json", ".feather"):
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
