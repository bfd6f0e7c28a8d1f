"""Tables of mean scores: systems down, measures across."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analyses.shared.measure import Measure
from harness.readers.columns import column_of
from harness.readers.scores import heading_and_rows, measure_named
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.fields import distinct, is_number, read_number

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
    (_, heading), rows = heading_and_rows(path)
    first = heading[0].lower()
    if column_of(heading, "topic") is not None:
        return False
    return first in SYSTEM_HEADERS or not all(is_number(row[0]) for _, row in rows)


def read_means(path: Path) -> Means:
    """Read a table of means.

    Fields are separated by tabs if the heading has one, else by commas. The first column names the
    systems and the heading the measures, such as ``ap`` or ``nDCG@10``.
    """
    heading, rows = heading_and_rows(path)
    names = distinct(path, [(heading[0], name) for name in heading[1][1:]], "measure")
    systems = distinct(path, [(line, row[0]) for line, row in rows], "system")
    values = [
        [read_number(path, line, name, text) for name, text in zip(names, row[1:], strict=True)]
        for line, row in rows
    ]
    measures = tuple(_measure(path, heading[0], name) for name in names)
    distinct(path, [(heading[0], str(measure)) for measure in measures], "measure")
    found = np.array(values, dtype=np.float64).reshape(len(systems), len(names)).T
    means = Means(found, measures, systems)
    if min(means.values.shape) < 2:
        n_measures, n_systems = means.values.shape
        raise InputError(
            f"{path}: at least two systems and two measures are needed, found {n_systems} and "
            f"{n_measures}."
        )
    return means


def _measure(path: Path, line: int, name: str) -> Measure:
    try:
        return measure_named(name)
    except InputError as error:
        raise InputError.at(path, line, str(error)) from None
