"""The formats: how each lays ratings out, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

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
IN_ORDER: Final[Mapping[str, Column]] = {"user": 0, "item": 1, "rating": 2, "time": 3}


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


LAYOUTS: Final[Mapping[str, Layout]] = {
    "movielens-u.data": Layout(columns=IN_ORDER, separator="\t", header=False, width=4),
    "movielens-dat": Layout(columns=IN_ORDER, separator="::", header=False, width=4),
    "movielens-csv": Layout(
        columns={
            "user": ("userId",),
            "item": ("movieId",),
            "rating": ("rating",),
            "time": ("timestamp",),
        },
        quoted=True,
    ),
    "csv": Layout(quoted=True),
    "tsv": Layout(separator="\t", quoted=True),
    "inter": Layout(
        columns={
            "user": ("user_id:token",),
            "item": ("item_id:token",),
            "rating": ("rating:float",),
            "time": ("timestamp:float",),
        },
        separator="\t",
    ),
    "parquet": Layout(separator=""),
    "yahoo-r3": Layout(
        columns={role: IN_ORDER[role] for role in ("user", "item", "rating")},
        separator="\t",
        header=False,
        width=3,
    ),
    "kuairec": Layout(
        columns={"user": ("user_id",), "item": ("video_id",), "rating": ("watch_ratio",)}
    ),
    "coat": Layout(columns={}, separator=" ", header=False, unrated=0.0),
    "jester": Layout(columns={}, header=False, unrated=99.0, skipped=1),
}
FORMATS: Final = tuple(LAYOUTS)

# What a folder or an archive may hold as its ratings.
RATINGS_FILES: Final = ("u.data", "ratings.dat", "ratings.csv", "ratings.parquet", "*.inter")

SEPARATOR_NAMES: Final[Mapping[str, str]] = {
    "\t": "tabs",
    ",": "commas",
    ";": "semicolons",
    " ": "spaces",
}
