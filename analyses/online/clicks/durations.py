"""Durations as users write them: a number with a unit."""

from __future__ import annotations

from typing import Final

UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000}
LONGEST: Final = 2**53
"""Milliseconds that are no duration any more."""


def milliseconds(text: str) -> int:
    """Read a duration.

    Raises
    ------
    ValueError
        If it is not a number with a unit, negative, or too long.

    Examples
    --------
    >>> [milliseconds(text) for text in ("30 min", "1.5h", "2 days", "0 s")]
    [1800000, 5400000, 172800000, 0]
    >>> milliseconds("10")
    Traceback (most recent call last):
    ValueError: must be a number with a unit (ms, s, min, h, d), got '10'
    """
    from pandas import Timedelta

    try:
        # Without a unit they would be nanoseconds.
        length = Timedelta(text if text.strip()[-1:].isalpha() else "").total_seconds() * 1000
    except ValueError:
        length = -1.0
    if not 0 <= length < LONGEST:
        raise ValueError(f"must be a number with a unit (ms, s, min, h, d), got {text!r}")
    return round(length)


def in_words(duration: int) -> str:
    """Write a duration in the largest unit that needs no fraction.

    Examples
    --------
    >>> [in_words(duration) for duration in (1_800_000, 86_400_000, 1_500, 0)]
    ['30 min', '1 d', '1500 ms', '0 ms']
    """
    for unit, length in UNITS.items():
        if duration and duration % length == 0:
            return f"{duration // length} {unit}"
    return f"{duration} ms"
