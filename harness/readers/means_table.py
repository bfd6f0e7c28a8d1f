"""Tables of mean scores: systems down, measures across."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
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
    (_, heading), rows = _plain(*heading_and_rows(path))
    first = heading[0].lower()
    if _has_topics(heading):
        return False
    return first in SYSTEM_HEADERS or not all(is_number(row[0]) for _, row in rows)


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
    """
    heading, rows = _plain(*heading_and_rows(path))
    if any(row[:1] == ["Test result:"] for _, row in rows):
        finding = "this is hyper.result of RecBole; a table with a row for each system is needed."
        raise InputError(f"{path}: {finding}")
    if heading[1][1:2] == ["Top@k"]:
        heading, rows = _by_cutoff(path, heading, rows)
    names = distinct_names(path, [(heading[0], name) for name in heading[1][1:]], "measure")
    systems = distinct_names(path, [(line, row[0]) for line, row in rows], "system")
    values = read_numbers(path, rows, names)
    measures = tuple(measure_at(path, heading[0], name) for name in names)
    distinct_names(path, [(heading[0], str(measure)) for measure in measures], "measure")
    found = np.array(values, dtype=np.float64).reshape(len(systems), len(names)).T
    means = Means(found, measures, systems)
    if min(means.values.shape) < 2:
        n_measures, n_systems = means.values.shape
        raise InputError(
            f"{path}: at least two systems and two measures are needed, found {n_systems} and "
            f"{n_measures}."
        )
    return means


def _plain(heading: Line, rows: list[Line]) -> tuple[Line, list[Line]]:
    """Leave out the index that pandas writes before the names of the systems."""
    if heading[1][0] or heading[1][1:2] == [] or heading[1][1].lower() not in SYSTEM_HEADERS:
        return heading, rows
    return (heading[0], heading[1][1:]), [(line, row[1:]) for line, row in rows]


def _by_cutoff(path: Path, heading: Line, rows: list[Line]) -> tuple[Line, list[Line]]:
    """Give measures at a cut-off a column each, and a system one row."""
    line, (first, _, *names) = heading
    cutoffs = list(dict.fromkeys(row[1] for _, row in rows))
    cells = {(row[0], row[1]): row[2:] for _, row in rows}
    wide = [first, *(f"{name}@{k}" for k in cutoffs for name in names)]
    found = {
        row[0]: (at, [row[0], *chain(*(cells.get((row[0], k), []) for k in cutoffs))])
        for at, row in reversed(rows)
    }
    each = [(at, require_width(path, at, row, wide)) for at, row in reversed(found.values())]
    return (line, wide), each
