"""Exact p-values for few users: all sign assignments, met in the middle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.significance.permutation.critical import first_significant

MOST_USERS = 40
TOLERANCE = 1e-9
LONG = 1 << 14
"""Lists of so many sums (28 users) are walked by compiled loops, which cost half a second once."""


def p_by_enumeration(differences: NDArray[np.float64]) -> float:
    """Count all 2^n sign assignments from the 2^(n/2) signed sums of each half.

    Horowitz & Sahni (1974): both lists are sorted, so that the sums in the upper tail are
    counted by binary search; the lower tail mirrors it. Time and memory grow as 2^(n/2), one
    million sums for 40 users. Sums within 1e-9 of the largest difference are ties.

    The p-value is a multiple of 2^(1-n). Differences are of shape (n_users,), at most 40 of them
    not 0 and at least one.
    """
    sizes = np.abs(differences[differences != 0])
    return _Sums.of(sizes).p_beyond(float(np.abs(differences.sum())))


def critical_by_enumeration(differences: NDArray[np.float64], *, alpha: float) -> float:
    """Find the smallest absolute sum whose p-value is at most alpha; NaN where none is.

    Differences are as for `p_by_enumeration`.
    """
    sizes = np.abs(differences[differences != 0])
    if np.ldexp(1.0, 1 - len(sizes)) > alpha:
        return float("nan")
    sums = _Sums.of(sizes)
    # Half a tolerance a step, so that the search cannot step over a sum.
    step = sums.tolerance / 2
    steps = first_significant(
        lambda k: sums.p_beyond(k * step),
        alpha=alpha,
        deviation=float(np.sqrt((sizes * sizes).sum())) / step,
        highest=round(sizes.sum() / step),
    )
    return sums.next_from(steps * step)


@dataclass(frozen=True, eq=False)
class _Sums:
    """The signed sums of each half of the users, rising, and when two sums are ties."""

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    n_users: int
    tolerance: float

    @classmethod
    def of(cls, sizes: NDArray[np.float64]) -> _Sums:
        halves = _signed_sums(sizes[::2]), _signed_sums(sizes[1::2])
        return cls(*halves, len(sizes), float(TOLERANCE * sizes.max()))

    def p_beyond(self, total: float) -> float:
        """Give the probability of a sum at least as far from 0."""
        threshold = total - self.tolerance
        n_upper = _count_upper(self.left, self.right, threshold)
        return float(min(1.0, np.ldexp(float(n_upper), 1 - self.n_users)))

    def next_from(self, total: float) -> float:
        """Give the smallest sum that is not below the total."""
        places = np.searchsorted(self.right, total - self.tolerance - self.left)
        there = places < len(self.right)
        return float((self.left[there] + self.right[places[there]]).min())


def _count_upper(
    left: NDArray[np.float64], right: NDArray[np.float64], threshold: float
) -> int | np.int64:
    """Count the pairs in which the left sum exceeds the right one by the threshold at least."""
    if len(left) >= LONG:
        from analyses.significance.permutation.enumeration_loop import count_upper

        return count_upper(left, right, threshold)
    return np.searchsorted(right, left - threshold, side="right").sum(dtype=np.int64)


def _signed_sums(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """All sums of +-sizes, rising; each step merges two sorted lists."""
    if 2 ** len(sizes) >= LONG:
        from analyses.significance.permutation.enumeration_loop import merged_sums

        return merged_sums(sizes)
    sums = np.zeros(1)
    for size in sizes:
        sums = np.sort(np.concatenate([sums - size, sums + size]), kind="stable")
    return sums
