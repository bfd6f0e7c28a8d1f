"""Times as people live them: days, weekdays and hours in a time zone."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.slates import MILLISECONDS_PER_DAY
from runs import InputError


def wall_clock(time: NDArray[np.int64], *, zone: str) -> NDArray[np.int64]:
    """Give what a clock on the wall shows: milliseconds since the beginning of 1970 in the zone.

    Times are milliseconds since 1970 in UTC, of shape (n,).

    Raises
    ------
    InputError
        If there is no such zone.

    Examples
    --------
    >>> wall_clock(np.array([0]), zone="Europe/Prague") // 3_600_000
    array([1])
    """
    import pandas as pd

    try:
        known = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise InputError(
            f"a time zone must have an IANA name such as 'Europe/Prague', got {zone!r}."
        ) from None
    times = pd.DatetimeIndex(pd.to_datetime(time, unit="ms", utc=True)).tz_convert(known)
    shown: NDArray[np.int64] = times.tz_localize(None).as_unit("ms").asi8
    return shown


def local_days(time: NDArray[np.int64], *, zone: str) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """Give the days of some times in a zone.

    Returns
    -------
    The distinct days, as text in rising order, and the place of each time's among them.

    Examples
    --------
    >>> days, day = local_days(np.array([82_800_000, 0]), zone="Europe/Prague")
    >>> days.tolist(), day.tolist()
    (['1970-01-01', '1970-01-02'], [1, 0])
    """
    numbers, day = np.unique(
        wall_clock(time, zone=zone) // MILLISECONDS_PER_DAY, return_inverse=True
    )
    return np.datetime_as_string(numbers.astype("datetime64[D]")), day
