"""Layouts of tables: what separates fields, whether a heading names them, what a line holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

WHITE_SPACE: Final = " "
"""As a separator: any run of blanks and tabs."""

COLUMNAR: Final = ""
"""As a separator: there are no lines, as in Parquet."""


class Shape(StrEnum):
    """What a line holds."""

    ROWS = "rows"
    """One rating, one listed item, one score."""

    MATRIX = "matrix"
    """All ratings of a user: a number for each item."""

    ITEMS = "items"
    """A user, and then the items of the user."""


@dataclass(frozen=True)
class Layout:
    """How a format lays a table out.

    Parameters
    ----------
    separator
        What stands between two fields; see `WHITE_SPACE` and `COLUMNAR`.
    header
        Whether the first line names the columns.
    quoted
        Whether a field may stand in double quotes.
    width
        Number of fields of every line; None if the first line decides.
    columns
        Places, from 0, or names of columns that the format fixes, by role.
    shape
        What a line holds.
    skipped
        In a matrix, number of columns before the first item.
    unrated
        In a matrix, the number that stands for an item without a rating.
    """

    separator: str = ","
    header: bool = True
    quoted: bool = False
    width: int | None = None
    columns: Mapping[str, str | int] = field(default_factory=dict)
    shape: Shape = Shape.ROWS
    skipped: int = 0
    unrated: float = 0.0


IN_ORDER: Final = {"user": 0, "item": 1, "rating": 2, "time": 3}

OF_MATRIX: Final = {"user": 0, "item": 1, "rating": 2}

LAYOUTS: Final[Mapping[str, Layout]] = {
    "movielens-u.data": Layout(separator="\t", header=False, width=4, columns=IN_ORDER),
    "movielens-dat": Layout(separator="::", header=False, width=4, columns=IN_ORDER),
    "movielens-csv": Layout(
        quoted=True,
        columns={"user": "userId", "item": "movieId", "rating": "rating", "time": "timestamp"},
    ),
    "csv": Layout(quoted=True),
    "tsv": Layout(separator="\t", quoted=True),
    "inter": Layout(separator="\t"),
    "parquet": Layout(separator=COLUMNAR),
    "arrow": Layout(separator=COLUMNAR),
    "json": Layout(separator=COLUMNAR),
    "yahoo-r3": Layout(
        separator="\t", header=False, width=3, columns={"user": 0, "item": 1, "rating": 2}
    ),
    "kuairec": Layout(
        columns={"user": "user_id", "item": "video_id", "rating": "watch_ratio"},
    ),
    "user-items": Layout(
        separator=WHITE_SPACE, header=False, columns={"user": 0, "item": 1}, shape=Shape.ITEMS
    ),
    "coat": Layout(separator=WHITE_SPACE, header=False, columns=OF_MATRIX, shape=Shape.MATRIX),
    "jester": Layout(header=False, columns=OF_MATRIX, shape=Shape.MATRIX, skipped=1, unrated=99.0),
}
"""Layouts of the formats of ratings, by name."""

FORMATS: Final = tuple(LAYOUTS)
