"""Ratings as read, in file order: the rules they must keep, checked fast and checked carefully."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.datasets.layouts import Layout
from qrels.ratings.datasets.source import Source
from qrels.ratings.ratings import Ratings
from runs import InputError, Numbering, id_fault

# Python's float also takes "1_0", "nan", spaces and digits of other scripts.
NUMBER: Final = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"

# The years 1 to 9999, which dates can show; milliseconds since 1970 lie beyond.
EARLIEST: Final = -62_135_596_800
LATEST: Final = 253_402_300_799


# Arrow columns by role: ids as text, ratings and times as text or numbers.
Columns = Mapping[str, Any]


# The physical line or row of one rating, from 1, and its texts by role.
Record = tuple[int, Mapping[str, str]]


class NotPlain(Exception):  # noqa: N818  (not an error: it makes the reader read carefully)
    """Only a careful reading can tell what the file holds."""


@dataclass(frozen=True)
class Rows(ABC):
    """A file of ratings: a line or a row, the unit, holds one."""

    unit: ClassVar[str]
    source: Source
    layout: Layout

    def error(self, place: int, finding: str) -> InputError:
        """Name the file and the physical line or row, from 1, before the finding."""
        return InputError(f"{self.source.label}, {self.unit} {place}: {finding}")

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Give the ratings one by one."""

    @abstractmethod
    def columns(self) -> Columns:
        """Give the ratings as whole columns, or raise `NotPlain`."""


@dataclass(frozen=True, eq=False)
class Table:
    """Checked ratings in file order; a (user, item) pair may repeat."""

    users: Numbering
    items: Numbering
    user: NDArray[np.int32]
    item: NDArray[np.int32]
    rating: NDArray[np.float64]
    time: NDArray[np.int64] | None

    def has_duplicates(self) -> bool:
        """Whether a user rates an item twice."""
        return len(np.unique(self._pairs)) < len(self._pairs)

    def ratings(self) -> Ratings:
        """Sort by (user, item); of equal pairs keep the last in time, then in the file."""
        pairs = self._pairs
        order = np.lexsort((pairs,) if self.time is None else (self.time, pairs))
        is_last = np.append(pairs[order][1:] != pairs[order][:-1], True)
        kept = order[is_last]
        time = None if self.time is None else self.time[kept]
        return Ratings(
            self.users, self.items, self.user[kept], self.item[kept], self.rating[kept], time
        )

    @property
    def _pairs(self) -> NDArray[np.int64]:
        return self.user.astype(np.int64) * len(self.items) + self.item


def read_table(rows: Rows, *, unique: bool) -> Table:
    """Read ratings, fast if they keep all rules, else carefully, to say where they do not.

    With ``unique`` a (user, item) pair must not repeat.

    Raises
    ------
    InputError
        At the first rating that breaks a rule.
    """
    try:
        table = _table(rows.columns())
    except NotPlain:
        table = None
    if table is None or (unique and table.has_duplicates()):
        return _table(_checked_columns(rows, unique=unique))
    return table


def _table(columns: Columns) -> Table:
    """Check whole columns."""
    (users, user), (items, item) = _numbered(columns["user"]), _numbered(columns["item"])
    time = _times(columns["time"]) if "time" in columns else None
    return Table(users, items, user, item, _numbers(columns["rating"]), time)


def _numbered(column: Any) -> tuple[Numbering, NDArray[np.int32]]:
    import pyarrow as pa

    if column.null_count or not len(column):
        raise NotPlain
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = encoded.unify_dictionaries().combine_chunks()
    ids = np.array(whole.dictionary.to_pylist(), dtype=np.str_)
    if any(map(id_fault, whole.dictionary.to_pylist())):
        raise NotPlain
    numbering = Numbering.of(ids)
    return numbering, numbering.numbers(ids)[whole.indices.to_numpy()]


def _numbers(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as compute

    if pa.types.is_string(column.type):
        matching = compute.match_substring_regex(column, f"^({NUMBER})$")
        if not compute.all(matching).as_py():
            raise NotPlain
    numbers: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    if column.null_count or not np.isfinite(numbers).all():
        raise NotPlain
    return numbers


def _times(column: Any) -> NDArray[np.int64]:
    seconds = np.floor(_numbers(column))
    if (seconds < EARLIEST).any() or (seconds > LATEST).any():
        raise NotPlain
    return seconds.astype(np.int64)


def _checked_columns(rows: Rows, *, unique: bool) -> Columns:
    """Check rating by rating, in file order."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {}
    places: dict[tuple[str, str], int] = {}
    for place, texts in rows.records():
        user, item = texts["user"], texts["item"]
        try:
            for role, text in texts.items():
                columns.setdefault(role, []).append(CHECKS[role](text))
            first = places.setdefault((user, item), place)
            if unique and first != place:
                raise InputError(
                    f"user {user!r} rates item {item!r} a second time, after {rows.unit} {first}; "
                    "duplicates='last' keeps the last."
                )
        except InputError as error:
            raise rows.error(place, str(error)) from error
    if not places:
        raise InputError(f"{rows.source.label}: there are no ratings in the file.")
    return {role: pa.chunked_array([values]) for role, values in columns.items()}


def _checked_id(text: str) -> str:
    fault = id_fault(text)
    if fault:
        raise InputError(f"an id must fit a field of a TREC file, but {text!r} {fault}.")
    return text


def _checked_rating(text: str) -> float:
    rating = _finite(text)
    if rating is None:
        raise InputError(f"the rating must be a finite number, got {text!r}.")
    return rating


def _checked_time(text: str) -> float:
    seconds = _finite(text)
    if seconds is None:
        raise InputError(f"the time must be a number of seconds since 1970, got {text!r}.")
    if not EARLIEST <= math.floor(seconds) <= LATEST:
        raise InputError(
            f"the time must be in seconds since 1970 and before the year 10000, got {text!r} "
            "(milliseconds?)."
        )
    return seconds


def _finite(text: str) -> float | None:
    if re.fullmatch(NUMBER, text) and math.isfinite(float(text)):
        return float(text)
    return None


CHECKS: Final[Mapping[str, Callable[[str], Any]]] = {
    "user": _checked_id,
    "item": _checked_id,
    "rating": _checked_rating,
    "time": _checked_time,
}
