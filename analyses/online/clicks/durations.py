"""Durations as users write them: a number with a unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MILLISECONDS: Final[Mapping[str, int]] = {
    "ms": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
}
DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
LONGEST: Final = 2**53
"""Milliseconds that are no duration any more."""


def milliseconds(text: str) -> int:
    """Read a duration.

    Raises
    ------
    ValueError
        If it is not a number with a unit, or too long.

    Examples
    --------
    >>> [milliseconds(text) for text in ("30 min", "1.5h", "2 days", "0 s")]
    [1800000, 5400000, 172800000, 0]
    >>> milliseconds("10")
    Traceback (most recent call last):
    ValueError: must be a number with a unit (ms, s, min, h, d), got '10'
    """
    found = DURATION.fullmatch(text.strip().lower())
    unit = None if found is None else MILLISECONDS.get(found[2], MILLISECONDS.get(found[2][:-1]))
    if found is None or unit is None:
        raise ValueError(f"must be a number with a unit (ms, s, min, h, d), got {text!r}")
    length = float(found[1]) * unit
    if length >= LONGEST:
        raise ValueError(f"must be below 2^53 ms, got {text!r}")
    return round(length)


def in_words(duration: int) -> str:
    """Write a duration in the largest unit that needs no fraction.

    Examples
    --------
    >>> [in_words(duration) for duration in (1_800_000, 86_400_000, 1_500, 0)]
    ['30 min', '1 d', '1500 ms', '0 ms']
    """
    for unit in ("d", "h", "min", "s"):
        if duration and duration % MILLISECONDS[unit] == 0:
            return f"{duration // MILLISECONDS[unit]} {unit}"
    return f"{duration} ms"
