"""Times: numbers since 1970 or dates as ISO 8601 writes them, as whole seconds in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runs import InputError

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


def whole_seconds(numbers: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Round times down to seconds, in the first unit in which all of them make sense.

    Returns
    -------
    Seconds since 1970, int64 of the same shape; None if there is no such unit.

    Examples
    --------
    >>> whole_seconds(np.array([1.5, 1600000000.0])), whole_seconds(np.array([1.6e12]))
    (array([         1, 1600000000]), array([1600000000]))
    >>> whole_seconds(np.array([5.0, 1.6e12])) is None
    True
    """
    for unit in UNITS:
        seconds = np.floor(numbers / unit)
        is_within = (seconds >= EARLIEST) & (seconds <= LATEST)
        is_late = (numbers == 0) | (np.abs(seconds) >= FIRST_OF_FINER)
        if is_within.all() and (unit == 1 or is_late.all()):
            return seconds.astype(np.int64)
    return None


def iso_seconds(column: Any) -> NDArray[np.int64] | None:
    """Read an Arrow column of texts in the form of `ISO`; None if that needs a closer look."""
    import pyarrow as pa
    import pyarrow.compute as compute

    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            moments = column.cast(kind)
        except pa.ArrowInvalid:
            continue
        counts: NDArray[np.int64] = moments.cast(pa.int64()).to_numpy()
        if compute.all(compute.is_valid(moments)).as_py():
            return np.floor_divide(counts, UNITS[-1])
    return None


def from_iso(text: str) -> float:
    """Read one text in the form of `ISO`.

    Raises
    ------
    InputError
        If there is no such day or time.

    Examples
    --------
    >>> from_iso("1970-01-02"), from_iso("1970-01-01T01:00:00.5+01:00")
    (86400.0, 0.0)
    """
    try:
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return float((aware - EPOCH) // timedelta(seconds=1))
    except (ValueError, OverflowError) as error:
        raise InputError(f"the time {text!r} does not exist ({error}).") from error
