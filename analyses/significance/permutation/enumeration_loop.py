"""Sums of both halves of the users, compiled: one walk along sorted lists in place of searches.

What `analyses.significance.permutation.enumeration` defines; tests hold the two equal.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
def merged_sums(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give all sums of +-sizes, rising, of shape (2 ** n_users,)."""
    sums = np.zeros(1)
    for size in sizes:
        longer = np.empty(2 * len(sums))
        i = j = 0
        for place in range(len(longer)):
            if i < len(sums) and sums[i] - size <= sums[j] + size:
                longer[place] = sums[i] - size
                i += 1
            else:
                longer[place] = sums[j] + size
                j += 1
        sums = longer
    return sums


@numba.njit(nogil=True, cache=True)
def count_upper(left: NDArray[np.float64], right: NDArray[np.float64], threshold: float) -> int:
    """Count pairs of a left sum and a right one, both rising, that differ by the threshold."""
    count = n_below = 0
    for one in left:
        while n_below < len(right) and right[n_below] <= one - threshold:
            n_below += 1
        count += n_below
    return count
