"""Finding the columns that hold user, item, rating and time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from qrels.ratings.datasets.layouts import SEPARATOR_NAMES, Column, Layout
from runs import InputError

# Makes a finding an error that says where.
Fail = Callable[[str], InputError]


def locate(names: Sequence[str], layout: Layout, *, fail: Fail) -> dict[str, int]:
    """Find the position of each column of the layout; capitals do not matter in names.

    Names are the fields of the header; of a file without one, those of the first line. A column
    that is missing, or whose name is duplicated, is an error; but a header that names users, items
    and times alone says that there are no ratings.
    """
    positions: dict[str, int] = {}
    for role, column in layout.columns.items():
        found = positions_of(column, names)
        if len(found) > 1:
            raise fail(f"several columns may be the {role}: {_quoted(names[at] for at in found)}.")
        if found:
            positions[role] = found[0]
    unrated = ("rating",) if layout.header and len(positions) == len(names) else ()
    for role, column in layout.columns.items():
        if role not in (*positions, *layout.optional, *unrated):
            raise fail(_missing(role, column, names, layout))
    return positions


def separator_hint(line: str, layout: Layout) -> str:
    """Ask for the separator that a line without the layout's seems to have, or just end."""
    others = [separator for separator in ("::", "\t", ",", ";", "|") if separator in line]
    if not layout.separator or layout.separator in line or not others:
        return "."
    return f"; is the separator {others[0]!r}?"


def named(separator: str) -> str:
    """Name a separator in words where there are some."""
    return SEPARATOR_NAMES.get(separator, repr(separator))


def positions_of(column: Column, names: Sequence[str]) -> list[int]:
    """Give the positions of a column among names; one that is a position has itself."""
    if isinstance(column, int):
        return [column] if column < len(names) else []
    wanted = {name.lower() for name in column}
    return [position for position, name in enumerate(names) if name.lower() in wanted]


def _missing(role: str, column: Column, names: Sequence[str], layout: Layout) -> str:
    if isinstance(column, int):
        return f"no column {column} for the {role}: there are {len(names)}, counted from 0."
    close = [match for name in column for match in get_close_matches(name, names, n=1)]
    hint = f"; did you mean {close[0]!r}?" if close else _other_hint(role, names, layout)
    looked = " or ".join(map(repr, column))
    return f"no column for the {role} is called {looked}; found {_quoted(names)}{hint}"


def _other_hint(role: str, names: Sequence[str], layout: Layout) -> str:
    if any(re.fullmatch(r"[0-9.]+", name) for name in names):
        return ". If the file has no header, say by position which column is what."
    if role == "rating":
        return ". Name it in `columns`, or say `implicit = true` if nothing is rated."
    hint = separator_hint("".join(names), layout)
    return f". Name it in `columns`: {role} = ..." if hint == "." else hint


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
