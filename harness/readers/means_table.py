"""Tables of means and other published numbers: systems down, measures across."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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


@dataclass(frozen=True)
class Published:
    """Numbers by subject, a system or a quantity such as an area, and measure.

    Where only the order is published, they are ranks, of which 1 is the first.
    """

    path: Path
    subject: Literal["system", "quantity"]
    are_ranks: bool
    numbers: dict[tuple[str, str], float]


def read_published(path: Path) -> Published:
    """Read a table of published numbers, a number a row.

    Fields are separated by tabs if the heading has one, else by commas. Columns are `measure`, such
    as ``nDCG@10``; `system`, or `quantity` for numbers of the measures themselves; and `value`, or
    `rank` where only the order is known. Other columns, such as a source, are passed over.
    """
    (line, heading), rows = heading_and_rows(path)
    subject = _one_of(path, line, heading, ["system", "quantity"])
    kind = _one_of(path, line, heading, ["value", "rank"])
    places = [heading.index(name) for name in (subject, _one_of(path, line, heading, ["measure"]))]
    numbers: dict[tuple[str, str], float] = {}
    for line, row in rows:
        name, measure = (row[place] for place in places)
        key = name, str(_measure(path, line, measure))
        if not name or key in numbers:
            finding = f"{key[1]} of {name!r} is duplicated" if name else f"a {subject} has no name"
            raise InputError.at(path, line, f"{finding}.")
        numbers[key] = read_number(path, line, kind, row[heading.index(kind)], kind=kind)
        if kind == "rank" and numbers[key] < 1:
            raise InputError.at(path, line, f"a rank is 1 or more, got {numbers[key]:g}.")
    if not numbers:
        raise InputError.at(path, line, "the table has a heading but no numbers.")
    return Published(path, "system" if subject == "system" else "quantity", kind == "rank", numbers)


def _one_of(path: Path, line: int, heading: Sequence[str], names: Sequence[str]) -> str:
    """Give the one column of some that the table has."""
    found = [name for name in names if name in heading]
    if len(found) != 1:
        wanted = " or ".join(f"`{name}`" for name in names)
        raise InputError.at(
            path, line, f"one column {wanted} expected, found {', '.join(heading)}."
        )
    return found[0]


def _measure(path: Path, line: int, name: str) -> Measure:
    try:
        return measure_named(name)
    except InputError as error:
        raise InputError.at(path, line, str(error)) from None
