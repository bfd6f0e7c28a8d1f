r"""Exact p-values of sums with random signs, by counting all sign assignments of few users.

With differences d of the users and independent signs s, the p-value of a total t is
:math:`P(|\sum_u s_u d_u| \ge t)`. The users are divided into two parts. The signed sums of each
part are listed, equal ones once with the number of their sign assignments, and the lists meet in
the middle. Differences are of shape (n_users,).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from analyses.significance.exact import PairTest, distinct_sizes, smallest_significant
from runs.shared.arrays import Floats, Numbers

MAX_ENUMERATED_USERS = 40
"""Differing users whose signs are counted."""

TIES = 1e-9
"""Sums of all users that differ by less than this share of the largest difference are ties."""

MERGED = TIES / 1024
"""Sums of a part are merged in bins of this share: far wider than rounding, narrower than ties."""

LONG = 1 << 14
"""Lists of so many sums are walked by compiled loops, which cost half a second once."""

MAX_LISTED_SUMS = 1 << 20
"""Sums of all users that are listed at a time, in six arrays of 8 MB."""

REFINEMENT = 1 << 10
"""Parts into which a step of the search is divided that holds more sums."""


def by_enumeration(differences: Floats, *, alpha: float) -> PairTest:
    """Count all 2^n sign assignments from the distinct signed sums of two parts of the users.

    Horowitz & Sahni (1974): both lists rise, so that the sums in the upper tail are counted by
    search; the lower tail mirrors it. Ties between differences shorten the lists.

    Differences are of shape (n_users,): at most 40 are not 0, and at least one. A list has at most
    about 2^20 sums: time grows as 2^(n/2), and memory is below 250 MB for any differences.

    The result: p-value and mid-p-value (ties with the observed sum count half) of the observed sum,
    and the smallest sum that is significant at alpha; NaN if no sum is significant.
    """
    # The distinct absolute differences above 0, and how many users have each: (n_sizes,).
    sizes, n_users = distinct_sizes(differences)
    sums = _SumsOfParts.from_sizes(sizes, n_users)
    observed = float(np.abs(differences.sum()))
    p = sums.tail(observed)
    mid_p = (p + sums.share_above(observed)) / 2
    # Of the largest sum, which two sign assignments reach in absolute value.
    smallest_p = 1 / sums.n_half
    if smallest_p > alpha:
        return PairTest(p, mid_p, float("nan"))
    deviation = float(np.sqrt((n_users * sizes * sizes).sum()))
    critical_sum = _smallest_significant_sum(sums, alpha=alpha, deviation=deviation)
    return PairTest(p, mid_p, critical_sum)


def _smallest_significant_sum(sums: _SumsOfParts, *, alpha: float, deviation: float) -> float:
    """Find the smallest sum that at most a share alpha of all sums reaches; NaN if there is none.

    ``deviation``: standard deviation of the sum under random signs. ``sums.places`` finds, for each
    sum of the left part of the users, the first sum of the right part with which it adds up to at
    least a total; all sums before these places are smaller. A search in steps comes close to it.
    The sums within the last step are counted before they are listed. If there are more than 2^20,
    the steps are made finer. Sums within a step as short as the tolerance are ties: then the first
    sum after the step is taken.
    """
    tolerance = sums.tolerance
    n_longest = max(len(sums.left.values), len(sums.right.values))
    step = max(deviation / n_longest, tolerance)
    near = smallest_significant(
        sums.tail, alpha=alpha, deviation=deviation, farthest=sums.largest + step, step=step
    )
    first = sums.places(near - step - 2 * tolerance)
    last = sums.places(near)
    while step > tolerance and (last - first).sum() > MAX_LISTED_SUMS:
        start = near - step
        step = max(step / REFINEMENT, tolerance)
        near = smallest_significant(
            sums.tail, alpha=alpha, deviation=deviation, farthest=near, step=step, start=start
        )
        first = sums.places(near - step - 2 * tolerance)
        last = sums.places(near)
    if (last - first).sum() > MAX_LISTED_SUMS:
        return sums.smallest_at(last)
    candidates, counts = sums.between(first, last)
    # Sign assignments that give a candidate or a larger sum; what ties with it counts as larger.
    n_from = sums.count_at(last) + _sums_from_each(counts)
    n_extreme = n_from[np.searchsorted(candidates, candidates - tolerance)]
    significant = candidates[n_extreme <= alpha * sums.n_half]
    return float(significant[0]) if len(significant) else sums.smallest_at(last)


def _sums_from_each(counts: Floats) -> Floats:
    """Add up the counts from each place to the end: shape (n + 1,), with 0 at the end."""
    from_end = np.cumsum(counts[::-1])
    return np.append(from_end[::-1], 0.0)


@dataclass(frozen=True, eq=False)
class _SignedSums:
    """Distinct signed sums of a part of the users, rising, and the sign assignments of each.

    Values and counts are of shape (n_sums,).
    """

    values: Floats
    counts: Floats
    n_signs: float

    def with_user(self, size: float, *, width: float) -> _SignedSums:
        """Add a user whose difference has this size, in two ways: with each sign.

        ``self.values`` are rising sums, ``self.counts`` how many of the ``self.n_signs`` sign
        assignments give each, both of shape (n_sums,). Lists of 16,384 sums (`LONG`) or more, if
        some sums tie, are merged by a compiled loop. Sums that round to the same multiple of the
        width become one.
        """
        if self.n_signs > len(self.values) >= LONG:
            from analyses.significance.permutation_loops import add_user

            values, counts = add_user(self.values, self.counts, size, width)
            return _SignedSums(values, counts, 2 * self.n_signs)
        values = np.concatenate([self.values - size, self.values + size])
        if self.n_signs == len(self.values):
            # All counts are 1.
            values.sort(kind="stable")
            counts = np.ones(len(values))
        else:
            order = np.argsort(values, kind="stable")
            values = values[order]
            counts = np.concatenate([self.counts, self.counts])[order]
        return _merge(values, counts, 2 * self.n_signs, width=width)

    def with_users(self, size: float, n_users: int, *, width: float) -> _SignedSums:
        """Add users whose differences all have this size, each with either sign.

        Sums that round to the same multiple of the width become one.
        """
        if n_users == 1:
            return self.with_user(size, width=width)
        n_plus = np.arange(n_users + 1.0)
        shifts = size * (2 * n_plus - n_users)
        values = np.add.outer(shifts, self.values).ravel()
        n_ways = scipy.special.comb(n_users, n_plus)
        counts = np.multiply.outer(n_ways, self.counts).ravel()
        order = np.argsort(values, kind="stable")
        n_signs = np.ldexp(self.n_signs, n_users)
        return _merge(values[order], counts[order], float(n_signs), width=width)


def _merge(values: Floats, counts: Floats, n_signs: float, *, width: float) -> _SignedSums:
    """Merge rising sums that round to the same multiple of the width, and add up their counts.

    Values and counts are of shape (n_sums,); a merged sum has the value of the smallest.
    """
    if np.diff(values).min(initial=np.inf) > width:
        return _SignedSums(values, counts, n_signs)
    bins = np.rint(values / width)
    starts = np.flatnonzero(np.diff(bins, prepend=-np.inf))
    merged_counts = np.add.reduceat(counts, starts)
    return _SignedSums(values[starts], merged_counts, n_signs)


NO_USERS = _SignedSums(np.zeros(1), np.ones(1), 1.0)


@dataclass(frozen=True, eq=False)
class _SumsOfParts:
    """Signed sums of all users, as those of two parts of the users.

    Sums that differ by less than the tolerance are ties. The largest sum has positive signs alone.
    """

    left: _SignedSums
    right: _SignedSums
    tolerance: float
    largest: float

    @classmethod
    def from_sizes(cls, sizes: Floats, n_users: Numbers) -> _SumsOfParts:
        """Add the users of each size of differences to the part that has fewer sums.

        Ties differ by less than 1e-9 of the largest size (`TIES`), sums that are merged by less
        than a 1,024th of that (`MERGED`). Distinct sizes, above 0, and their numbers of users are
        of shape (n_sizes,).
        """
        left = NO_USERS
        right = NO_USERS
        width = float(MERGED * sizes.max())
        for size, n_users_of_size in zip(sizes.tolist(), n_users.tolist(), strict=True):
            if len(left.values) <= len(right.values):
                left = left.with_users(size, n_users_of_size, width=width)
            else:
                right = right.with_users(size, n_users_of_size, width=width)
        tolerance = float(TIES * sizes.max())
        largest = float((n_users * sizes).sum())
        return cls(left, right, tolerance, largest)

    @property
    def n_half(self) -> float:
        """Half of the number of sign assignments: as many as in one tail, at most."""
        return self.left.n_signs * self.right.n_signs / 2

    def tail(self, total: float) -> float:
        """Compute the share of the sign assignments whose absolute sum is at least the total.

        A sum that is smaller by less than the tolerance is a tie, and counts. At most 1.
        """
        n_extreme = self.count_from(total - self.tolerance)
        return min(1.0, n_extreme / self.n_half)

    def share_above(self, total: float) -> float:
        """Compute the share of the sign assignments whose absolute sum is above the total.

        A sum that is larger by at most the tolerance is a tie, and does not count.
        """
        return self.count_from(total + self.tolerance) / self.n_half

    @property
    def are_long(self) -> bool:
        """Whether the lists are walked by compiled loops."""
        return len(self.left.values) >= LONG

    def places(self, total: float) -> Numbers:
        """For each left sum, find the first right sum that adds up with it to at least the total.

        Places are of shape (n_left_sums,): the number of right sums where none is large enough.
        """
        if self.are_long:
            from analyses.significance.permutation_loops import first_places

            return first_places(self.left.values, self.right.values, total)
        smallest = total - self.left.values
        return np.searchsorted(self.right.values, smallest)

    @cached_property
    def right_counts_from(self) -> Floats:
        """Sign assignments of the right part that give each sum or a larger one; 0 at the end."""
        return _sums_from_each(self.right.counts)

    def count_from(self, total: float) -> float:
        """Count the sign assignments of all users whose sum is at least the total."""
        if self.are_long:
            from analyses.significance.permutation_loops import count_from

            return count_from(
                self.left.values, self.left.counts, self.right.values, self.right.counts, total
            )
        return self.count_at(self.places(total))

    def count_at(self, places: Numbers) -> float:
        """Count the sign assignments that give, with each left sum, a right sum from its place on.

        Places among the right sums are of shape (n_left_sums,).
        """
        n_right = self.right_counts_from[places]
        return float((self.left.counts * n_right).sum())

    def between(self, first: Numbers, last: Numbers) -> tuple[Floats, Floats]:
        """List the sums of all users between places, rising, and the sign assignments of each.

        For each left sum, the right sums from its ``first`` place to before its ``last`` are taken;
        both are of shape (n_left_sums,). Sums and counts are of shape (n_sums,).
        """
        n_right = last - first
        starts = np.cumsum(n_right) - n_right
        left = np.repeat(np.arange(len(n_right)), n_right)
        offsets = first - starts
        right = np.arange(len(left)) + offsets[left]
        values = self.left.values[left] + self.right.values[right]
        order = np.argsort(values)
        counts = self.left.counts[left] * self.right.counts[right]
        return values[order], counts[order]

    def smallest_at(self, places: Numbers) -> float:
        """Find the smallest sum of a left sum and the right sum at its place.

        Places are of shape (n_left_sums,). NaN if all are behind the last right sum.
        """
        has_right_sum = places < len(self.right.values)
        right_places = places[has_right_sum]
        sums = self.left.values[has_right_sum] + self.right.values[right_places]
        return float(sums.min()) if len(sums) else float("nan")
