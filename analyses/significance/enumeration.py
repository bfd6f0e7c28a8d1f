r"""Exact p-values of sums with random signs, by counting all sign assignments of few users.

With differences d of the users and independent signs s, the p-value of a total t is
:math:`P(|\sum_u s_u d_u| \ge t)`. The users are divided into two parts. The signed sums of each
part are listed, equal ones once with the number of their sign assignments, and the lists meet in
the middle. Differences are of shape (n_users,).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from analyses.significance.exact import PairTest, distinct_sizes, smallest_significant
from runs.shared.arrays import Floats, Ints, Numbers

MAX_ENUMERATED_USERS = 40
"""Differing users whose signs are counted."""

TIES = 1e-9
"""Sums of all users that differ by less than this share of the largest difference are ties."""

MERGED = TIES / 1024
"""Sums of a part are merged in bins of this share: far wider than rounding, narrower than ties."""

LONG = 1 << 14
"""Lists of so many sums are searched for the smallest significant sum in blocks first."""

BLOCK = 16
"""Sums of a part that one stands for in this search."""

MARGIN = 2
"""Steps of the search around what blocks have found, in which the smallest sum is looked for."""

MAX_LISTED_SUMS = 1 << 20
"""Sums of all users that are listed at a time, in five arrays of 8 MB."""

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
    ties = sums.window(observed - sums.tolerance, observed + sums.tolerance)
    p = min(1.0, ties.n_from_low / sums.n_half)
    mid_p = (p + ties.n_from_high / sums.n_half) / 2
    # Of the largest sum, which two sign assignments reach in absolute value.
    smallest_p = 1 / sums.n_half
    if smallest_p > alpha:
        return PairTest(p, mid_p, float("nan"))
    deviation = float(np.sqrt((n_users * sizes * sizes).sum()))
    critical_sum = _smallest_significant_sum(sums, alpha=alpha, deviation=deviation)
    return PairTest(p, mid_p, critical_sum)


def _smallest_significant_sum(sums: _SumsOfParts, *, alpha: float, deviation: float) -> float:
    """Find the smallest sum that at most a share alpha of all sums reaches; NaN if there is none.

    ``deviation``: standard deviation of the sum under random signs. In long lists, blocks of sums
    say where it is; then a look at the sums around finds it, or a search in steps does. The sums
    within the last step are counted before they are listed. If there are more than 2^20, the steps
    are made finer. Sums within a step as short as the tolerance are ties: then the first sum after
    the step is taken.
    """
    tolerance = sums.tolerance
    n_longest = max(len(sums.left.values), len(sums.right.values))
    step = max(deviation / n_longest, tolerance)
    farthest = sums.largest + step
    if n_longest >= LONG:
        tail_of_blocks = sums.in_blocks().tail
        near = smallest_significant(
            tail_of_blocks, alpha=alpha, deviation=deviation, farthest=farthest, step=step
        )
        window = sums.window(near - MARGIN * step, near + MARGIN * step)
        is_before = window.n_from_low > alpha * sums.n_half
        if is_before and window.n_sums <= MAX_LISTED_SUMS:
            critical_sum = _first_significant(sums, window, alpha=alpha)
            if not np.isnan(critical_sum):
                return critical_sum
    near = smallest_significant(
        sums.tail, alpha=alpha, deviation=deviation, farthest=farthest, step=step
    )
    window = sums.window(near - step - 2 * tolerance, near)
    while step > tolerance and window.n_sums > MAX_LISTED_SUMS:
        start = near - step
        step = max(step / REFINEMENT, tolerance)
        near = smallest_significant(
            sums.tail, alpha=alpha, deviation=deviation, farthest=near, step=step, start=start
        )
        window = sums.window(near - step - 2 * tolerance, near)
    if window.n_sums > MAX_LISTED_SUMS:
        return sums.smallest_at(window.last)
    critical_sum = _first_significant(sums, window, alpha=alpha)
    return sums.smallest_at(window.last) if np.isnan(critical_sum) else critical_sum


def _first_significant(sums: _SumsOfParts, window: _Window, *, alpha: float) -> float:
    """Find the smallest sum of a window that at most a share alpha of all sums reaches.

    A sum that is smaller by less than the tolerance is a tie, and reaches it. NaN if there is none.
    """
    candidates, counts = sums.between(window)
    # Sign assignments that give a candidate or a larger sum.
    n_from = window.n_from_high + _sums_from_each(counts)
    n_before = np.count_nonzero(n_from[:-1] > alpha * sums.n_half)
    if n_before == 0:
        return float(candidates[0]) if len(candidates) else float("nan")
    ties_with_last = candidates - sums.tolerance <= candidates[n_before - 1]
    first = np.count_nonzero(ties_with_last)
    return float(candidates[first]) if first < len(candidates) else float("nan")


def _sums_from_each(counts: Floats) -> Floats:
    """Add up the counts from each place to the end: shape (n + 1,), with 0 at the end."""
    from_end = np.cumsum(counts[::-1])
    return np.append(from_end[::-1], 0.0)


@dataclass(frozen=True, eq=False)
class _SignedSums:
    """Distinct signed sums of a part of the users, rising, and the sign assignments of each.

    Values and counts are of shape (n_sums,); both are symmetric about 0.
    """

    values: Floats
    counts: Floats
    n_signs: float

    def with_users(self, size: float, n_users: int, *, width: float) -> _SignedSums:
        """Add users whose differences all have this size, each with either sign.

        Sums that round to the same multiple of the width become one.
        """
        from analyses.significance.permutation_loops import add_user, merge_ties

        if n_users == 1:
            # By numpy, which asks for huge pages where arrays are large; compiled loops do not.
            values = np.empty(2 * len(self.values))
            counts = np.empty(2 * len(self.values))
            add_user(self.values, self.counts, size, values, counts)
        else:
            n_plus = np.arange(n_users + 1.0)
            shifts = size * (2 * n_plus - n_users)
            values = np.add.outer(shifts, self.values).ravel()
            n_ways = scipy.special.comb(n_users, n_plus)
            counts = np.multiply.outer(n_ways, self.counts).ravel()
            order = np.argsort(values, kind="stable")
            values = values[order]
            counts = counts[order]
        # The sums above 0 mirror those below.
        lower_half = values[: len(values) // 2 + 1]
        if np.diff(lower_half).min() <= width:
            values, counts = merge_ties(values, counts, width)
        n_signs = float(np.ldexp(self.n_signs, n_users))
        return _SignedSums(values, counts, n_signs)

    def in_blocks(self) -> _SignedSums:
        """Replace every 16 sums (`BLOCK`) by their mean over sign assignments."""
        from analyses.significance.permutation_loops import means_of_blocks

        means, counts = means_of_blocks(self.values, self.counts, BLOCK)
        return _SignedSums(means, counts, self.n_signs)


NO_USERS = _SignedSums(np.zeros(1), np.ones(1), 1.0)


class _Window(NamedTuple):
    """Sums of all users from a low total to before a high one.

    For each left sum, the right sums from its ``first`` place to before its ``last`` add up with it
    to a sum in the window; both are of shape (n_left_sums,). With the number of sums in the window,
    each as often as it is a left sum and a right one, and the numbers of sign assignments that give
    at least the low total, and at least the high one.
    """

    first: Ints
    last: Ints
    n_sums: int
    n_from_low: float
    n_from_high: float


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

    def in_blocks(self) -> _SumsOfParts:
        """Replace the sums of both parts by means of 16: tails are nearly the same."""
        return replace(self, left=self.left.in_blocks(), right=self.right.in_blocks())

    def tail(self, total: float) -> float:
        """Compute the share of the sign assignments whose absolute sum is at least the total.

        A sum that is smaller by less than the tolerance is a tie, and counts. At most 1.
        """
        from analyses.significance.permutation_loops import count_from

        n_extreme = count_from(
            self.left.values,
            self.left.counts,
            self.right.values,
            self.right.counts,
            total - self.tolerance,
        )
        return min(1.0, n_extreme / self.n_half)

    def window(self, low: float, high: float) -> _Window:
        """Find the sums of all users that are at least a low total, and less than a high one."""
        from analyses.significance.permutation_loops import find_window

        first = np.empty(len(self.left.values), dtype=np.int32)
        last = np.empty_like(first)
        n_sums, n_from_low, n_from_high = find_window(
            self.left.values,
            self.left.counts,
            self.right.values,
            self.right.counts,
            low,
            high,
            first,
            last,
        )
        return _Window(first, last, n_sums, n_from_low, n_from_high)

    def between(self, window: _Window) -> tuple[Floats, Floats]:
        """List the sums of a window, rising, and the sign assignments of each.

        Sums and counts are of shape (n_sums,).
        """
        from analyses.significance.permutation_loops import list_window

        values = np.empty(window.n_sums)
        counts = np.empty(window.n_sums)
        list_window(
            self.left.values,
            self.left.counts,
            self.right.values,
            self.right.counts,
            window.first,
            window.last,
            values,
            counts,
        )
        order = np.argsort(values)
        return values[order], counts[order]

    def smallest_at(self, places: Ints) -> float:
        """Find the smallest sum of a left sum and the right sum at its place.

        Places are of shape (n_left_sums,). NaN if all are behind the last right sum.
        """
        has_right_sum = places < len(self.right.values)
        right_places = places[has_right_sum]
        sums = self.left.values[has_right_sum] + self.right.values[right_places]
        return float(sums.min()) if len(sums) else float("nan")
