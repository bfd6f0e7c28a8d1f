"""Exact p-values for few users on a lattice: the distribution of the sum, user by user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.significance.permutation.critical import first_significant

MOST_USERS = 200
# What a count, an array of counts and a subset cost, in nanoseconds: they balance the two parts.
COST_OF_COUNT, COST_OF_ARRAY, COST_OF_SUBSET = 0.4, 3000.0, 4.0
MOST_LISTED = 18
# How often a search for a critical value looks up a count.
EXPECTED_LOOKS = 10
MOST_COUNTED_IN_32_BITS = 31


def p_by_convolution(differences: NDArray[np.float64]) -> float:
    """Count the sign assignments that lead to each sum, adding one user at a time.

    Counts are positive, so that even the smallest p-value is precise in all but the last digits.
    The cost grows with the square of the number of users times the size of their differences.
    Differences are whole numbers, of shape (n_users,), at most 200 of them not 0, with a sum that
    is not 0.
    """
    sizes, unit = whole_sizes(differences)
    # With plus signs adding up to k the signed sum is 2 k - sum(sizes); the upper tail mirrors.
    limit = (int(sizes.sum()) - abs(int(differences.sum())) // unit) // 2
    n_lower = SubsetSums.of(sizes, highest=limit, n_limits=1).count_up_to(limit)
    return float(np.ldexp(n_lower, 1 - len(sizes)))


def critical_by_convolution(differences: NDArray[np.float64], *, alpha: float) -> float:
    """Find the smallest absolute sum whose p-value is at most alpha; NaN where none is.

    Differences are as for `p_by_convolution`; their sum may be 0.
    """
    sizes, unit = whole_sizes(differences)
    total = int(sizes.sum())
    sums = SubsetSums.of(sizes, highest=total // 2, n_limits=EXPECTED_LOOKS)

    def p_of(steps: int) -> float:
        return float(np.ldexp(sums.count_up_to(total // 2 - steps), 1 - len(sizes)))

    if p_of(total // 2) > alpha:
        return float("nan")
    deviation = float(np.sqrt((sizes * sizes).sum())) / 2
    steps = first_significant(p_of, alpha=alpha, deviation=deviation, highest=total // 2)
    return float((total - 2 * (total // 2 - steps)) * unit)


def whole_sizes(differences: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Give the sizes of the differences that are not 0, rising, in units of their divisor."""
    sizes = np.sort(np.abs(differences[differences != 0]).astype(np.int64))
    unit = int(np.gcd.reduce(sizes))
    return sizes // unit, unit


@dataclass(frozen=True, eq=False)
class SubsetSums:
    """How many subsets of whole numbers add up to at most a limit.

    The small numbers are added one by one to an array of counts; the subsets of the few large ones,
    for which that array would be long, are listed. The counts are of subsets of the small numbers
    with sums of at most -1, 0, 1, 2, ...
    """

    counts: NDArray[np.uint32] | NDArray[np.float64]
    listed: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64], *, highest: int, n_limits: int) -> SubsetSums:
        """Prepare to count about so many times, up to the highest limit; sizes rise."""
        n_small = _split(sizes, highest=highest, n_limits=n_limits)
        listed = np.zeros(1, dtype=np.int64)
        for size in sizes[n_small:]:
            listed = np.concatenate([listed, listed + size])
        return cls(_cumulate(sizes[:n_small].tolist(), highest=highest), listed)

    def count_up_to(self, limit: int) -> float:
        """Count the subsets whose sum is not above the limit, at most the highest one."""
        places = np.clip(limit + 1 - self.listed, 0, len(self.counts) - 1)
        return float(self.counts[places].sum(dtype=np.float64))


def _split(sizes: NDArray[np.int64], *, highest: int, n_limits: int) -> int:
    """Choose how many of the rising sizes are small, so that the work is least."""
    lengths = np.minimum(np.cumsum(sizes), highest)
    adding = np.cumsum(np.append(0.0, COST_OF_COUNT * lengths + COST_OF_ARRAY))
    n_large = np.arange(min(len(sizes), MOST_LISTED) + 1)
    work = adding[len(sizes) - n_large] + n_limits * COST_OF_SUBSET * 2.0**n_large
    return len(sizes) - int(np.argmin(work))


def _cumulate(sizes: list[int], *, highest: int) -> NDArray[np.uint32] | NDArray[np.float64]:
    """Count the subsets with sums of at most -1, 0, 1, ..., the highest that matters."""
    kind = np.uint32 if len(sizes) <= MOST_COUNTED_IN_32_BITS else np.float64
    counts, longer = np.empty((2, min(sum(sizes), highest) + 2), dtype=kind)
    counts[:2] = 0, 1
    length, n_subsets = 2, 1
    for size in sizes:
        length, before = min(length + size, len(counts)), length
        counts[before:length] = n_subsets
        longer[:size] = counts[: min(size, length)]
        np.add(counts[size:length], counts[: max(0, length - size)], out=longer[size:length])
        counts, longer = longer, counts
        n_subsets *= 2
    return counts[:length]
