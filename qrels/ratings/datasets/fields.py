"""Ratings as read, in file order: the rules they must keep, checked fast and checked carefully."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

import numpy as np

from qrels.ratings.datasets.layouts import REQUIRED, Layout
from qrels.ratings.datasets.source import Source
from qrels.ratings.ratings import Ratings
from runs import InputError, Numbering
from runs.shared.arrays import Floats, Ints, Longs
from runs.shared.errors import as_input_error
from runs.shared.ids import LONGEST_ID

ISO: Final = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
"""A day, or a moment with or without a zone; without one it is in UTC."""

# The years 1 to 9999, which dates can show; milliseconds since 1970 lie beyond.
EARLIEST: Final = -62_135_596_800
LATEST: Final = 253_402_300_799

UNITS: Final = (1, 10**3, 10**6)
"""Seconds, milliseconds and microseconds."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# Finer units are taken for such only from April 1970 on: before, they might be far seconds.
FIRST_OF_FINER: Final = 10**7


def whole_seconds(numbers: Floats) -> Longs | None:
    """Round times down to seconds, in the first unit in which all of them make sense."""
    for unit in UNITS:
        seconds = np.floor(numbers / unit)
        is_within = (seconds >= EARLIEST) & (seconds <= LATEST)
        is_late = (numbers == 0) | (np.abs(seconds) >= FIRST_OF_FINER)
        if is_within.all() and (unit == 1 or is_late.all()):
            return seconds.astype(np.int64)
    return None


def iso_seconds(column: Any) -> Longs | None:
    """Read an Arrow column of texts in the form of `ISO`; None if that needs a closer look."""
    import pyarrow as pa
    import pyarrow.compute as compute

    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            moments = column.cast(kind)
        except pa.ArrowInvalid:
            continue
        counts: Longs = moments.cast(pa.int64()).to_numpy()
        if compute.all(compute.is_valid(moments)).as_py():
            return np.floor_divide(counts, UNITS[-1])
    return None


def from_iso(text: str) -> float:
    """Read one text in the form of `ISO`."""
    with as_input_error(f"the time {text!r} does not exist", ValueError, OverflowError):
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return float((aware - EPOCH) // timedelta(seconds=1))


A_TIME: Final = (
    "a number of seconds or milliseconds since 1970, or a date as 2026-11-22 or "
    "2026-11-22T09:30:00Z"
)

# Python's float also takes "1_0", "nan", spaces and digits of other scripts.
NUMBER: Final = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"

# What stands where a number is missing; an id is missing where there is nothing.
NO_NUMBER: Final = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")

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
        return InputError.at_line(self.source.label, place, finding, unit=self.unit)

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Give the names of all columns; without a header, the fields of the first line."""

    @abstractmethod
    def beginning(self, n: int) -> list[list[str]]:
        """Give the first rows as texts of all columns."""

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Give the ratings one by one."""

    @abstractmethod
    def columns(self) -> Columns:
        """Give the ratings as whole columns, or raise `NotPlain`."""


@dataclass(frozen=True, eq=False)
class Table:
    """Checked ratings in file order; a (user, item) pair may repeat.

    Ratings that were left out, since a value was missing, are counted.
    """

    users: Numbering
    items: Numbering
    user: Ints
    item: Ints
    rating: Floats
    time: Longs | None
    n_dropped: int = 0

    @property
    def n_repeated(self) -> int:
        """Number of ratings of a pair that is rated elsewhere in the file, too, less one each."""
        pairs = np.sort(self._pairs)
        return int((pairs[1:] == pairs[:-1]).sum())

    def ratings(self) -> Ratings:
        """Sort by (user, item); of equal pairs keep the last in time, then in the file."""
        pairs = self._pairs
        order = np.lexsort((pairs,) if self.time is None else (self.time, pairs))
        is_last = np.append(pairs[order][1:] != pairs[order][:-1], True)
        kept = order[is_last]
        time = None if self.time is None else self.time[kept]
        columns = self.user[kept], self.item[kept], self.rating[kept]
        return Ratings(self.users, self.items, *columns, time)

    @property
    def _pairs(self) -> Longs:
        return self.user.astype(np.int64) * len(self.items) + self.item


def read_table(rows: Rows, *, unique: bool, whole: bool = True) -> Table:
    """Read ratings, fast if they keep all rules, else carefully, to say where they do not.

    With ``unique`` a (user, item) pair must not repeat; with ``whole`` no value may be missing,
    otherwise such ratings are left out.
    """
    with suppress(NotPlain):
        table = _fast(rows, whole=whole)
        if not (unique and table.n_repeated):
            return table
    return _careful(rows, unique=unique, whole=whole)


def _fast(rows: Rows, *, whole: bool) -> Table:
    """Check whole columns."""
    import pyarrow as pa

    columns, n_dropped = rows.columns(), 0
    if not whole:
        plain = {
            role: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for role, column in columns.items()
        }
        kept = _filled(plain)
        columns = {role: column.filter(kept) for role, column in plain.items()}
        n_dropped = len(kept) - len(columns["user"])
    return _table(columns, decimal=rows.layout.decimal, n_dropped=n_dropped)


def _table(columns: Columns, *, decimal: str = ".", n_dropped: int = 0) -> Table:
    (users, user), (items, item) = _numbered(columns["user"]), _numbered(columns["item"])
    time = _times(columns["time"], decimal) if "time" in columns else None
    rating = _numbers(columns["rating"], decimal) if "rating" in columns else np.ones(len(user))
    return Table(users, items, user, item, rating, time, n_dropped)


def _filled(columns: Columns) -> Any:
    """Mark, as an Arrow array, the ratings of which no value is missing."""
    import pyarrow as pa
    import pyarrow.compute as compute

    every = pa.chunked_array([pa.repeat(True, len(columns["user"]))])
    for role, column in columns.items():
        missing = compute.is_null(column, nan_is_null=True)
        if pa.types.is_string(column.type):
            texts = pa.array(_missing_texts(role), pa.string())
            missing = compute.or_(missing, compute.is_in(column, texts))
        every = compute.and_not(every, missing)
    return every


def _missing_texts(role: str) -> tuple[str, ...]:
    return ("",) if role in REQUIRED else NO_NUMBER


def _numbered(column: Any) -> tuple[Numbering, Ints]:
    import pyarrow as pa
    import pyarrow.compute as compute

    if column.null_count or not len(column):
        raise NotPlain
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = encoded.unify_dictionaries().combine_chunks()
    known = whole.dictionary
    lengths = compute.min_max(compute.utf8_length(known)).as_py()
    if not 0 < lengths["min"] <= lengths["max"] <= LONGEST_ID:
        raise NotPlain
    if compute.any(compute.match_substring(known, "\0")).as_py():
        raise NotPlain
    ids = np.array(known.to_pylist(), dtype=np.str_)
    numbering = Numbering.of(ids)
    return numbering, numbering.numbers(ids)[whole.indices.to_numpy()]


def _numbers(column: Any, decimal: str) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as compute

    if pa.types.is_string(column.type):
        if not _all_match(column, _number_with(decimal)):
            raise NotPlain
        column = compute.replace_substring(column, decimal, ".")
    numbers: Floats = column.cast(pa.float64(), safe=False).to_numpy()
    if column.null_count or not np.isfinite(numbers).all():
        raise NotPlain
    return numbers


def _times(column: Any, decimal: str) -> Longs:
    import pyarrow as pa

    if pa.types.is_string(column.type) and _all_match(column, ISO):
        seconds = iso_seconds(column)
    else:
        seconds = whole_seconds(_numbers(column, decimal))
    if seconds is None:
        raise NotPlain
    return seconds


def _all_match(column: Any, pattern: str) -> bool:
    import pyarrow.compute as compute

    matching = compute.match_substring_regex(column, f"^({pattern})$")
    return compute.all(matching).as_py() is not False


def _number_with(decimal: str) -> str:
    return NUMBER.replace(r"\.", re.escape(decimal))


def _careful(rows: Rows, *, unique: bool, whole: bool) -> Table:
    """Check rating by rating, in file order."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {}
    places: dict[tuple[str, str], int] = {}
    every: list[int] = []
    n_dropped = 0
    for place, texts in rows.records():
        if not whole and any(text in _missing_texts(role) for role, text in texts.items()):
            n_dropped += 1
            continue
        user, item = texts["user"], texts["item"]
        try:
            for role, text in texts.items():
                columns.setdefault(role, []).append(_checked(role, text, rows.layout.decimal))
            first = places.setdefault((user, item), place)
            if unique and first != place:
                raise InputError(
                    f"user {user!r} rates item {item!r} a second time, after {rows.unit} {first}; "
                    "duplicates='last' keeps the last."
                )
        except InputError as error:
            raise rows.error(place, str(error)) from error
        every.append(place)
    if not places:
        raise InputError(f"{rows.source.label}: there are no ratings in the file.")
    times = columns.get("time", [])
    if times and whole_seconds(np.array(times)) is None:
        furthest = int(np.abs(times).argmax())
        raise rows.error(
            every[furthest],
            "times must all be in seconds, or all in milli- or microseconds, since 1970 and before "
            f"the year 10000, got {times[furthest]:.0f}.",
        )
    found = {role: pa.chunked_array([values]) for role, values in columns.items()}
    return _table(found, n_dropped=n_dropped)


def _checked(role: str, text: str, decimal: str) -> str | float:
    if role in REQUIRED:
        return _checked_id(text)
    if role == "time" and re.fullmatch(ISO, text):
        return from_iso(text)
    if re.fullmatch(_number_with(decimal), text):
        number = float(text.replace(decimal, "."))
        if math.isfinite(number):
            return number
    comma = " with a decimal comma" if decimal == "," else ""
    wanted = f"a finite number{comma}" if role == "rating" else A_TIME
    hint = " missing='drop' leaves such ratings out." if text in NO_NUMBER else ""
    raise InputError(f"the {role} must be {wanted}, got {text!r}.{hint}")


def _checked_id(text: str) -> str:
    if not text:
        raise InputError("an id must not be empty; missing='drop' leaves such ratings out.")
    if "\0" in text:
        raise InputError(f"an id must have no NUL, got {text[:80]!r}.")
    if len(text) > LONGEST_ID:
        raise InputError(
            f"an id must have at most {LONGEST_ID:,} characters, found one of {len(text):,} that "
            f"begins with {text[:40]!r}."
        )
    return text
