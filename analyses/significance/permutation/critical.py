"""Where a test begins to be significant: the steps of a p-value are searched, not approximated."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from statistics import NormalDist

import numpy as np

NORMAL = NormalDist()
# Steps into which a continuous statistic's standard deviation is divided for the search.
STEPS_PER_DEVIATION = 1 << 40
CLOSING = 0.2
"""How far a look is moved towards the middle, as a share of the square of what is left."""


def hoeffding_reach(alpha: float) -> float:
    """Give the z from which on every sum of random signs is significant: 2 exp(-z^2/2) = alpha."""
    return float(np.sqrt(2 * np.log(2 / alpha)))


def first_significant(
    p_of: Callable[[int], float], *, alpha: float, deviation: float, highest: int
) -> int:
    """Find the smallest k > 0 with p_of(k) <= alpha, where p falls and p_of(highest) <= alpha.

    The normal approximation says where to look first. Every look is where the normal quantiles of
    the p-values at both ends meet, moved towards the middle so that both ends close in, and so near
    the middle that no more than a look is lost to halving: the ITP method of Oliveira & Takahashi
    (2021). Flat and steep places do no harm.

    ``p_of`` gives the p-value if the statistic were k, whose standard deviation is given roughly;
    the highest k is known to be significant.
    """
    wanted = -NORMAL.inv_cdf(alpha / 2)
    low, high = 0, highest
    below, above = wanted, max(highest / deviation - wanted, 0.0)
    most = 2.0 ** highest.bit_length()
    while high - low > 1:
        width, middle = high - low, (low + high) / 2
        root = low + width * below / (below + above) if below + above > 0 else middle
        shift = min(CLOSING * width * width / highest, abs(middle - root))
        reach = max(most - width / 2, 0.0)
        guess = root + copysign(shift, middle - root)
        k = round(min(max(guess, middle - reach), middle + reach))
        k = min(max(k, low + 1), high - 1)
        p = p_of(k)
        distance = abs(wanted + NORMAL.inv_cdf(min(max(p, 1e-300), 1.0) / 2))
        if p <= alpha:
            high, above = k, distance
        else:
            low, below = k, distance
        most /= 2
    return high
