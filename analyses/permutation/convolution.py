"""Exact p-values for few users on a lattice: the distribution of the sum, user by user."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_USERS = 200


def p_by_convolution(differences: NDArray[np.float64]) -> float:
    """Count the sign assignments that lead to each sum, adding one user at a time.

    Counts are positive, so that even the smallest p-value is precise in all but the last digits.
    The cost grows with the square of the number of users times the size of their differences.

    Parameters
    ----------
    differences
        Whole numbers, of shape (n_users,), at most 200 of them not 0, with a sum that is not 0.

    Returns
    -------
    The p-value.

    Examples
    --------
    Of the eight sums of +-3, +-2, +-1, two are as large as 6:

    >>> p_by_convolution(np.array([3.0, 2.0, 1.0]))
    0.25
    """
    sizes = np.sort(np.abs(differences[differences != 0]).astype(np.int64))
    unit = np.gcd.reduce(sizes)
    # With plus signs adding up to k the signed sum is 2 k - sum(sizes); the upper tail mirrors.
    highest = (int(sizes.sum()) - abs(int(differences.sum()))) // (2 * int(unit))
    n_lower = _count_subset_sums(sizes // unit, highest=highest).sum()
    return float(np.ldexp(n_lower, 1 - len(sizes)))


def _count_subset_sums(sizes: NDArray[np.int64], *, highest: int) -> NDArray[np.float64]:
    """Count the subsets that add up to 0, 1, 2, ..., highest; sizes rise."""
    counts = np.zeros(highest + 1)
    counts[0] = 1.0
    reached = 0
    for size in sizes:
        reached = min(reached + int(size), highest)
        counts[size : reached + 1] += counts[: max(0, reached + 1 - size)].copy()
    return counts
