"""Tables of means: what most papers print, systems down and measures across."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure
from harness.readers.scores import Line, heading_and_rows, measure_named
from runs import InputError
from runs.shared.fields import distinct, is_number, read_cutoff, read_number

LONG = ("system", "metric", "cutoff", "mean")
SYSTEM_HEADERS = ("", "system", "run", "name", "model")
TOPIC_HEADERS = ("topic", "user", "query", "qid")


@dataclass(frozen=True, eq=False)
class Means:
    """Mean scores of systems: float64 of shape (n_measures, n_systems), and labels of its axes."""

    values: NDArray[np.float64]
    measures: tuple[Measure, ...]
    systems: tuple[str, ...]


def is_means_table(path: Path) -> bool:
    """Tell a table of means from the scores of one measure, topic by topic.

    The latter has ids of topics in its first column, as its heading says, or no column of names at
    all: all its fields are numbers, and none of the usual headings is above the first.
    """
    if path.is_dir() or path.suffix == ".parquet":
        return False
    (_, heading), rows = heading_and_rows(path)
    first = heading[0].lower()
    if first in TOPIC_HEADERS:
        return False
    return first in SYSTEM_HEADERS or not all(is_number(row[0]) for _, row in rows)


def read_means(path: Path) -> Means:
    """Read a table of means.

    Fields are separated by tabs if the heading has one, else by commas. In the wide form, the
    first column names the systems and the heading the measures, such as ``ap`` or ``nDCG@10``. The
    long form is that of ``tables/means.csv`` of a study: it has columns system, metric, cutoff and
    mean.

    Raises
    ------
    InputError
        If a mean is missing, is duplicated or is no number, or there are fewer than two systems or
        two measures.
    """
    heading, rows = heading_and_rows(path)
    read = _read_long if set(LONG) <= set(heading[1]) else _read_wide
    means = read(path, heading, rows)
    _check_two(path, "systems", means.systems)
    _check_two(path, "measures", means.measures)
    return means


def _read_wide(path: Path, heading: Line, rows: Sequence[Line]) -> Means:
    names = distinct(path, [(heading[0], name) for name in heading[1][1:]], "measure")
    systems = distinct(path, [(line, row[0]) for line, row in rows], "system")
    values = [
        [read_number(path, line, name, text) for name, text in zip(names, row[1:], strict=True)]
        for line, row in rows
    ]
    means = np.array(values, dtype=np.float64).reshape(len(systems), len(names)).T
    return Means(means, _measures(path, heading[0], names), systems)


def _measures(path: Path, line: int, names: Sequence[str]) -> tuple[Measure, ...]:
    """Take names apart; two names of one measure are refused."""
    try:
        measures = tuple(map(measure_named, names))
    except InputError as error:
        raise InputError.at(path, line, str(error)) from None
    distinct(path, [(line, str(measure)) for measure in measures], "measure")
    return measures


def _read_long(path: Path, heading: Line, rows: Sequence[Line]) -> Means:
    columns = [heading[1].index(name) for name in LONG]
    means: dict[tuple[Measure, str], float] = {}
    for line, row in rows:
        system, metric, cutoff, mean = (row[column] for column in columns)
        key = Measure(metric, read_cutoff(path, line, cutoff)), system
        if key in means:
            raise InputError.at(path, line, f"the mean of {system!r} by {key[0]} is duplicated.")
        means[key] = read_number(path, line, "mean", mean)
    measures = tuple(dict.fromkeys(measure for measure, _ in means))
    systems = tuple(dict.fromkeys(system for _, system in means))
    for measure in measures:
        for system in systems:
            if (measure, system) not in means:
                raise InputError(f"{path}: the mean of {system!r} by {measure} is missing.")
    values = [[means[measure, system] for system in systems] for measure in measures]
    return Means(np.array(values), measures, systems)


def _check_two(path: Path, kind: str, found: Sequence[object]) -> None:
    if len(found) < 2:
        raise InputError(f"{path}: at least two {kind} are needed, found {len(found)}.")
