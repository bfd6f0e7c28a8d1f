"""Where a test begins to be significant: the steps of a p-value are searched, not approximated."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np

NORMAL = NormalDist()
# Steps into which a continuous statistic's standard deviation is divided for the search.
STEPS_PER_DEVIATION = 1 << 40


def hoeffding_reach(alpha: float) -> float:
    """Give the z from which on every sum of random signs is significant: 2 exp(-z^2/2) = alpha.

    Examples
    --------
    >>> round(hoeffding_reach(0.05), 2)
    2.72
    """
    return float(np.sqrt(2 * np.log(2 / alpha)))


def first_significant(
    p_of: Callable[[int], float], *, alpha: float, deviation: float, highest: int
) -> int:
    """Find the smallest k > 0 with p_of(k) <= alpha, where p falls and p_of(highest) <= alpha.

    The normal approximation says where to look first and, as the slope, where to look next; every
    other look halves what is left, so that flat and steep places do no harm.

    ``p_of`` gives the p-value if the statistic were k, whose standard deviation is given roughly;
    the highest k is known to be significant.

    Examples
    --------
    >>> first_significant(lambda k: 1 / k, alpha=0.05, deviation=10.0, highest=1000)
    20
    """
    wanted = -NORMAL.inv_cdf(alpha / 2)
    low, high = 0, highest
    guess = wanted * deviation
    halving = False
    while high - low > 1:
        k = (low + high) // 2 if halving else min(max(round(guess), low + 1), high - 1)
        p = p_of(k)
        low, high = (low, k) if p <= alpha else (k, high)
        guess = k + (wanted + NORMAL.inv_cdf(min(max(p, 1e-300), 1.0) / 2)) * deviation
        halving = not halving
    return high
