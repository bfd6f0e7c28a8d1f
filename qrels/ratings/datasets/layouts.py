"""The formats of ratings files: how each lays ratings out, and what a user says of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final, Literal

from pydantic import Field

from runs import InputError
from runs.shared.errors import require_choice
from runs.shared.settings import Section

# A column is one of these names in the header, or a position from 0.
Column = tuple[str, ...] | int

REQUIRED: Final = ("user", "item")
ROLES: Final = (*REQUIRED, "rating", "time")

COUNT_NAMES: Final = ("count", "plays", "play_count", "playcount", "weight")
RATING_NAMES: Final = ("rating", "rating:float", "ratings", "stars", "score")
USUAL_NAMES: Final[Mapping[str, Column]] = {
    "user": ("user", "userId", "user_id", "uid"),
    "item": ("item", "itemId", "item_id", "iid", "movieId", "movie_id"),
    "rating": (*RATING_NAMES, *COUNT_NAMES),
    "time": ("time", "timestamp", "date", "datetime"),
}
IN_ORDER: Final[Mapping[str, Column]] = {role: at for at, role in enumerate(ROLES)}


@dataclass(frozen=True)
class Layout:
    """How a format lays ratings out: where user, item, rating and time are, and what lines hold.

    The separator of two fields is empty where there are no lines; a header names the columns; a
    quoted field may be in double quotes. The width is the number of fields of every line, None if
    the first line decides. The decimal sign separates whole and broken parts of numbers. A file may
    lack the columns that are optional. In a matrix of users by items a number stands for what is
    unrated, and columns before the first item are skipped.
    """

    columns: Mapping[str, Column] = field(default_factory=lambda: USUAL_NAMES)
    separator: str = ","
    header: bool = True
    quoted: bool = False
    width: int | None = None
    decimal: str = "."
    optional: tuple[str, ...] = ("time",)
    unrated: float | None = None
    skipped: int = 0

    @property
    def is_matrix(self) -> bool:
        """Whether a line holds all ratings of a user."""
        return self.unrated is not None


def _named(*names: str) -> dict[str, Column]:
    """Give the names of columns by role, in order."""
    return {role: (name,) for role, name in zip(ROLES, names, strict=False)}


LAYOUTS: Final[Mapping[str, Layout]] = {
    "movielens-u.data": Layout(columns=IN_ORDER, separator="\t", header=False, width=4),
    "movielens-dat": Layout(columns=IN_ORDER, separator="::", header=False, width=4),
    "movielens-csv": Layout(_named("userId", "movieId", "rating", "timestamp"), quoted=True),
    "csv": Layout(quoted=True),
    "tsv": Layout(separator="\t", quoted=True),
    "inter": Layout(
        _named("user_id:token", "item_id:token", "rating:float", "timestamp:float"), separator="\t"
    ),
    "parquet": Layout(separator=""),
    "yahoo-r3": Layout({"user": 0, "item": 1, "rating": 2}, separator="\t", header=False, width=3),
    "kuairec": Layout(_named("user_id", "video_id", "watch_ratio")),
    "coat": Layout(columns={}, separator=" ", header=False, unrated=0.0),
    "jester": Layout(columns={}, header=False, unrated=99.0, skipped=1),
}
FORMATS: Final = tuple(LAYOUTS)

# What a folder or an archive may hold as its ratings.
RATINGS_FILES: Final = ("u.data", "ratings.dat", "ratings.csv", "ratings.parquet", "*.inter")

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


class FileOptions(Section):
    """How a file of ratings is read."""

    format: str | None = Field(None, description="Format of the ratings file; default: recognised.")
    columns: dict[str, str | int] | None = Field(
        None,
        description="Name or number (from 0) of the columns user, item and, if there are any, "
        "rating and time.",
    )
    separator: str | None = Field(None, description="Separator between the fields of a line.")
    header: bool | None = Field(None, description="Whether the first line names the columns.")
    decimal: Literal[".", ","] = Field(".", description="Decimal sign of numbers.")
    implicit: bool | None = Field(
        None,
        description="Whether the data are implicit feedback: all items in the file are relevant, "
        "and ratings are counts or weights; default: only if all ratings are equal.",
    )
    missing: Literal["error", "drop"] = Field(
        "error", description="Lines with missing values: report an error, or drop them."
    )
    duplicates: Literal["error", "last"] = Field(
        "error", description="Repeated ratings: report an error, or keep the last."
    )

    @property
    def of_file(self) -> dict[str, Any]:
        """The options by their names, without those that a section adds."""
        return {name: getattr(self, name) for name in FileOptions.model_fields}


def adapted_layout(format: str, options: FileOptions) -> Layout:
    """Give the layout of a format with the user's changes; None leaves what the format says."""
    columns, separator, header = options.columns, options.separator, options.header
    layout = LAYOUTS[format]
    if not layout.separator and (separator, header) != (None, None):
        raise InputError(f"the format {format!r} takes no `separator` and no `header`.")
    if layout.is_matrix and (columns, header) != (None, None):
        raise InputError(
            f"the format {format!r} is a matrix of users by items: it takes no `columns` and no "
            "`header`."
        )
    if options.implicit:
        layout = replace(layout, optional=(*layout.optional, "rating"))
    if columns is not None:
        layout = _with_columns(layout, columns)
    if header is not None:
        layout = replace(layout, header=header)
    if separator is not None:
        layout = _with_separator(layout, separator)
    named = [role for role, column in layout.columns.items() if not isinstance(column, int)]
    if named and layout.separator and not layout.header:
        raise InputError(
            f"without a header columns are positions from 0, but the {named[0]} has a name; "
            "give `columns`."
        )
    return replace(layout, decimal=options.decimal)


def _with_columns(layout: Layout, columns: Mapping[str, str | int]) -> Layout:
    for role in columns:
        require_choice("columns", role, ROLES)
    for role in REQUIRED:
        if role not in columns:
            raise InputError(f"`columns` must name the column of the {role}.")
    for role, column in columns.items():
        if isinstance(column, int) and column < 0:
            raise InputError(f"columns are numbered from 0, got {column} for the {role}.")
    if len(set(columns.values())) < len(columns):
        raise InputError(f"`columns` must be different, got {dict(columns)}.")
    chosen: dict[str, Column] = {
        role: column if isinstance(column, int) else (column,) for role, column in columns.items()
    }
    header = layout.header and any(isinstance(column, str) for column in columns.values())
    return replace(layout, columns=chosen, header=header, width=None, optional=())


def _with_separator(layout: Layout, separator: str) -> Layout:
    if not separator or set(separator) & set('\r\n"'):
        raise InputError(
            "`separator` must be one or more characters, no quotes or line breaks, "
            f"got {separator!r}."
        )
    return replace(layout, separator=separator, quoted=layout.quoted and len(separator) == 1)
