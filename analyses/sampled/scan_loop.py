"""The loop of `analyses.sampled.consistency`, compiled."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

NEGLIGIBLE = 1e-22
"""Chances below this are dropped at both ends."""


@numba.njit(nogil=True, cache=True)
def expectations(
    values: NDArray[np.float64], above: int, others: int, sizes: int, replace: bool
) -> NDArray[np.float64]:
    """Give the mean of values[x] for 1 to ``sizes`` negatives, x of them above.

    Each further negative moves the distribution by one step: it is above with chance
    above / others, or (above - x) / (others - m) without replacement. All terms are positive,
    so nothing cancels. Values past the end count as 0.
    """
    chances = np.zeros(len(values))
    chances[0] = 1.0
    low, high = 0, 0
    means = np.zeros(sizes)
    for m in range(sizes):
        high = min(high + 1, len(values) - 1)
        for x in range(high, low - 1, -1):
            stays = 1.0 - _next_above(above, x, others, m, replace)
            chance = chances[x] * stays
            if x > low:
                chance += chances[x - 1] * _next_above(above, x - 1, others, m, replace)
            chances[x] = chance
        while high > low and chances[high] < NEGLIGIBLE:
            chances[high] = 0.0
            high -= 1
        while low < high and chances[low] < NEGLIGIBLE:
            chances[low] = 0.0
            low += 1
        for x in range(low, high + 1):
            means[m] += chances[x] * values[x]
    return means


@numba.njit(nogil=True, cache=True)
def _next_above(above: int, x: int, others: int, m: int, replace: bool) -> float:
    if replace:
        return above / others
    return max(above - x, 0) / (others - m)
