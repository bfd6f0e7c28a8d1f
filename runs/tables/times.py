"""Times in text: seconds since 1970 or parts of them, ISO dates, dates of shops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from runs.shared.arrays import Floats, Longs
from runs.shared.arrow import numpy_array
from runs.shared.errors import InputError, as_input_error
from runs.tables.values import HIGHEST_MONTH, ISO, SHOP_DATE, UNITS, date_orders

DateOrder: TypeAlias = Literal["day-first", "month-first"]

EARLIEST: Final = -62_135_596_800
"""The year 1, in seconds since 1970."""

LATEST: Final = 253_402_300_799
"""The end of the year 9999: milliseconds since 1970 lie beyond."""

FIRST_OF_FINER: Final = 10**7
"""Finer units are taken for such only from April 1970 on: before, they might be far seconds."""

FIRST_DAY: Final = 19000101
LAST_DAY: Final = 20991231
"""Days that are written as numbers."""

YEAR_END: Final = 4
"""Where the year of a date ends that begins with it."""

HOURS_OF_A_HALF: Final = 12
"""Hours before noon, and behind it."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

A_TIME: Final = (
    "a number of seconds or milliseconds since 1970, or a date as 2026-11-22, "
    "2026-11-22T09:30:00Z or 22.11.2026 09:30"
)


def whole_seconds(numbers: Floats) -> Longs | None:
    """Round times down to seconds, in the first unit in which all of them make sense.

    Parameters
    ----------
    numbers
        Seconds, milliseconds or microseconds since 1970, or days such as 20261122, of any shape.

    Returns
    -------
    Seconds since 1970; None if the times fit no unit.
    """
    days = _seconds_of_days(numbers)
    if days is not None:
        return days
    for unit in UNITS:
        seconds = numbers / unit
        np.floor(seconds, out=seconds)
        is_within = (seconds >= EARLIEST) & (seconds <= LATEST)
        if is_within.all() and (unit == 1 or _are_late(numbers, seconds)):
            return seconds.astype(np.int64)
    return None


def _are_late(numbers: Floats, seconds: Floats) -> bool:
    """Tell whether times of any shape are 0, or `FIRST_OF_FINER` seconds or more from 1970."""
    is_late = (numbers == 0) | (np.abs(seconds) >= FIRST_OF_FINER)
    return bool(is_late.all())


def _seconds_of_days(numbers: Floats) -> Longs | None:
    """Read days such as 20261122 as seconds since 1970; None if one number is no such day.

    ``numbers`` are of any shape. As seconds they would all be of August 1970.
    """
    is_near = numbers.size and numbers.min() >= FIRST_DAY and numbers.max() <= LAST_DAY
    if not is_near or (numbers != np.floor(numbers)).any():
        return None
    days = numbers.astype(np.int64)
    months = (days // 10_000 - 1970).astype("datetime64[Y]").astype("datetime64[M]")
    months += days // 100 % 100 - 1
    dates = months.astype("datetime64[D]") + (days % 100 - 1)
    is_month = (days // 100 % 100 >= 1) & (days // 100 % 100 <= HIGHEST_MONTH)
    is_day = (days % 100 >= 1) & (dates.astype("datetime64[M]") == months)
    if not (is_month & is_day).all():
        return None
    return dates.astype("datetime64[s]").astype(np.int64)


def iso_seconds(column: Any) -> Longs | None:
    """Read an Arrow column of texts in the form of `ISO` as full seconds since 1970, in UTC.

    The result has the shape (n_rows,). None if that needs a closer look: if some texts have a zone
    and others do not, for example.
    """
    import pyarrow as pa
    import pyarrow.compute as compute

    if len(column) and column[0].as_py()[YEAR_END] != "-":
        column = compute.replace_substring_regex(
            column, r"^([0-9]{4})[/.]([0-9]{2})[/.]", r"\1-\2-"
        )
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            moments = column.cast(kind)
        except pa.ArrowInvalid:
            continue
        if moments.null_count == 0:
            microseconds: Longs = numpy_array(moments.cast(pa.int64()))
            return np.floor_divide(microseconds, UNITS[-1])
    return None


def seconds_of_dates(texts: Sequence[str], order: DateOrder | None) -> Longs:
    """Read dates whose year stands last, such as 22.11.2026 09:30, as seconds since 1970 in UTC.

    Parameters
    ----------
    texts
        The dates.
    order
        What stands first; None for the order in which all of the dates exist.

    Raises
    ------
    InputError
        If the dates exist in both orders, or in none.
    """
    day_first = _is_day_first(texts, order)
    by_text = {text: _seconds_of_date(text, day_first=day_first) for text in dict.fromkeys(texts)}
    return np.array([by_text[text] for text in texts], dtype=np.int64)


def _is_day_first(texts: Sequence[str], order: DateOrder | None) -> bool:
    """Decide whether the day stands first, by what a person says or where all dates exist.

    Raises InputError if nothing is said, and all dates exist in both orders, or in none.
    """
    if order is not None:
        return order == "day-first"
    orders = date_orders(dict.fromkeys(texts))
    if len(orders) == 1:
        return orders == {"dmy"}
    whether = "both orders" if orders else "no one order"
    raise InputError(
        f"dates such as {texts[0]!r} exist in {whether} of day and month; say which it is: "
        "`--dates day-first` or `--dates month-first`, or `dates` in [ratings]."
    )


def _seconds_of_date(text: str, *, day_first: bool) -> int:
    """Read one date whose year stands last, perhaps with a time, as seconds since 1970 in UTC.

    Raises InputError for a text of another form, and for a time that does not exist.
    """
    parts = re.fullmatch(SHOP_DATE, text)
    if parts is None:
        raise InputError(f"the time must be {A_TIME}, got {text!r}.")
    day = int(parts[1])
    month = int(parts[3])
    year = int(parts[4])
    if not day_first:
        day, month = month, day
    clock_text = (parts[5] or "0:0").strip(" T").upper()
    clock = re.split(r"[:.]", clock_text.rstrip("APM "))
    hour, minute, second = (int(number) for number in [*clock, "0"][:3])
    if clock_text.endswith("M"):
        if not 1 <= hour <= HOURS_OF_A_HALF:
            raise InputError(f"the time {text!r} does not exist: with AM or PM, hours end at 12.")
        hour = hour % HOURS_OF_A_HALF
        if clock_text.endswith("PM"):
            hour += HOURS_OF_A_HALF
    with as_input_error(f"the time {text!r} does not exist", ValueError):
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return (moment - EPOCH) // timedelta(seconds=1)


def seconds_of_iso(text: str) -> float:
    """Read one text in the form of `ISO`, a day or a moment, as full seconds since 1970.

    Without a zone it is in UTC. Raises InputError for a text of another form, and for a time that
    does not exist.
    """
    if re.fullmatch(ISO, text) is None:
        raise InputError(f"the time must be {A_TIME}, got {text!r}.")
    with as_input_error(f"the time {text!r} does not exist", ValueError, OverflowError):
        month_and_day = text[YEAR_END:].replace("/", "-").replace(".", "-", 2)
        has_hyphens = text[YEAR_END] == "-"
        moment = datetime.fromisoformat(text if has_hyphens else text[:YEAR_END] + month_and_day)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return float((aware - EPOCH) // timedelta(seconds=1))
