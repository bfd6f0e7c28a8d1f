"""Numbers that somebody published: of systems by measures, or of measures themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.readers.scores import heading_and_rows, measure_named
from runs import InputError
from runs.shared.fields import read_number

SUBJECTS = ("system", "quantity")
NUMBERS = ("value", "rank")


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

    Raises
    ------
    InputError
        If a column is missing, a number is missing or none, a rank is below 1, or a row is
        duplicated.
    """
    (line, heading), rows = heading_and_rows(path)
    subject = _one_of(path, line, heading, SUBJECTS)
    kind = _one_of(path, line, heading, NUMBERS)
    places = [heading.index(name) for name in (subject, _one_of(path, line, heading, ["measure"]))]
    numbers: dict[tuple[str, str], float] = {}
    for line, row in rows:
        name, measure = (row[place] for place in places)
        key = name, _measure(path, line, measure)
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


def _measure(path: Path, line: int, name: str) -> str:
    try:
        return str(measure_named(name))
    except InputError as error:
        raise InputError.at(path, line, str(error)) from None
