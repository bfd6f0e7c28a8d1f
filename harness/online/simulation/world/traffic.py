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

NODES: Final = 8
"""Enough for the mean of a smooth function of a shift of a few units, to twelve digits."""


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
    starts, rates = _rates(traffic, begin, end)
    ends = np.concatenate([[0.0], np.cumsum(rates)])
    times = np.interp(luck * ends[-1], ends, np.append(starts, end))
    return np.minimum(times.astype(np.int64), end - 1)


def shift_nodes(
    traffic: Cycles, readiness: Cycles, *, begin: int, end: int
) -> tuple[Floats, Floats]:
    """Sum up how ready users are while they come, as a few shifts of log odds with weights.

    Means over these few equal means over all minutes, weighted by traffic, for polynomials up to
    degree fifteen: the Gauss rule of the distribution. The weights add up to 1.
    """
    starts, rates = _rates(traffic, begin, end)
    return gauss_rule(readiness.at(starts + STEP // 2), rates, count=NODES)


def gauss_rule(values: Floats, weights: Floats, *, count: int) -> tuple[Floats, Floats]:
    """Give the Gauss rule of a discrete distribution, by the Lanczos process.

    Values and weights, which are positive, are of shape (n,). There are ``count`` nodes at most,
    fewer if the distribution has fewer values.

    References
    ----------
    Golub & Welsch (1969), Calculation of Gauss quadrature rules, Math. Comp. 23.

    Examples
    --------
    Two nodes have the mean and the variance of four values:

    >>> nodes, weights = gauss_rule(np.array([-3.0, -1.0, 1.0, 3.0]), np.ones(4), count=2)
    >>> (nodes**2).round(9).tolist(), weights.round(9).tolist()
    ([5.0, 5.0], [0.5, 0.5])
    """
    vector, before = np.sqrt(weights / weights.sum()), np.zeros(len(values))
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(count):
        product = values * vector
        diagonal.append(float((vector * product).sum()))
        rest = product - diagonal[-1] * vector - (beside[-1] if beside else 0.0) * before
        length = float(np.sqrt((rest**2).sum()))
        if length <= 1e-9 * max(float(np.abs(values).max()), 1e-300):
            break
        beside.append(length)
        before, vector = vector, rest / length
    off = np.array(beside[: len(diagonal) - 1])
    nodes, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return nodes, vectors[0] ** 2


def _rates(traffic: Cycles, begin: int, end: int) -> tuple[NDArray[np.int64], Floats]:
    """Cut a span into minutes, and give how many come in each."""
    starts = np.arange(begin, end, STEP)
    lengths = np.diff(np.append(starts, end))
    return starts, lengths * np.maximum(1 + traffic.at(starts + STEP // 2), 0.0)
