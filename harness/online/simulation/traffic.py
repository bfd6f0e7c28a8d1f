"""Traffic: when users come, by day and by week, and how ready they are to click then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HOUR: Final = 3_600_000
STEP: Final = 60_000
"""Traffic is constant within a minute."""

MONDAY: Final = 72
"""Hours from a Monday, 0:00, to the first of January 1970."""


@dataclass(frozen=True)
class Cycles:
    r"""A daily and a weekly wave: :math:`A_d \cos(2\pi(h - \phi_d)/24) + A_w \cos(...)/168)`.

    Peaks are the hours of the highest: of the day (UTC), and of the week from Monday 0:00 UTC.

    Examples
    --------
    >>> Cycles(0.5, 0.0, daily_peak=0.0, weekly_peak=0.0).at(np.array([0, 12 * 3_600_000]))
    array([ 0.5, -0.5])
    """

    daily: float
    weekly: float
    daily_peak: float
    weekly_peak: float

    def at(self, time: NDArray[np.integer]) -> Floats:
        """Give the wave at times in milliseconds since 1970 in UTC."""
        hours = time / HOUR
        by_day = np.cos(2 * np.pi * (hours - self.daily_peak) / 24)
        by_week = np.cos(2 * np.pi * (hours + MONDAY - self.weekly_peak) / 168)
        return self.daily * by_day + self.weekly * by_week


def traffic_times(luck: Floats, traffic: Cycles, *, begin: int, end: int) -> NDArray[np.int64]:
    """Place uniform numbers in [begin, end), so that 1 + wave of them come in the same time.

    Examples
    --------
    >>> flat = Cycles(0.0, 0.0, daily_peak=0.0, weekly_peak=0.0)
    >>> traffic_times(np.array([0.0, 0.25]), flat, begin=0, end=240_000)
    array([    0, 60000])
    """
    starts = np.arange(begin, end, STEP)
    lengths = np.diff(np.append(starts, end))
    rates = lengths * np.maximum(1 + traffic.at(starts + STEP // 2), 0.0)
    ends = np.concatenate([[0.0], np.cumsum(rates)])
    times = np.interp(luck * ends[-1], ends, np.append(starts, end))
    return np.minimum(times.astype(np.int64), end - 1)
