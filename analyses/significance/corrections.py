"""Corrections for testing many pairs of systems at once.

A family is the pairs of one measure: do not pool measures, and count no pair twice. Bonferroni,
Holm and Benjamini-Hochberg adjust any test's p-values; max-T and Tukey's HSD are permutation tests
of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import (
    SHUFFLING,
    Advance,
    monte_carlo_p,
    random_uint32,
    whole_numbers_below,
)
from analyses.shared.exact_sums import to_grid
from analyses.significance.permutation import PairSums, flipped_sums, pair_indices
from runs.shared.arrays import Floats, Longs, Numbers

__all__ = ["benjamini_hochberg", "bonferroni", "holm", "max_t_test", "tukey_test"]


def bonferroni(p: Floats) -> Floats:
    r"""Adjust the m p-values of each family: :math:`\tilde p = \min(1, m p)`.

    Bounds the chance of any false rejection in the family, however the tests depend on each
    other. :func:`holm` rejects all that this does, and more.

    The result: adjusted p-values of the same shape.

    Dunn (1961), Multiple comparisons among means.
    """
    return np.minimum(p.shape[-1] * p, 1.0)


def holm(p: Floats) -> Floats:
    r"""Adjust the m p-values of each family step by step, from the smallest.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})

    Bounds the chance of any false rejection in the family, however the tests depend on each
    other.

    The result: adjusted p-values of the same shape.

    Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    order = np.argsort(p, axis=-1, kind="stable")
    factors = np.arange(p.shape[-1], 0, -1.0)
    steps = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(steps, 1.0), axis=-1)
    return adjusted


def benjamini_hochberg(p: Floats) -> Floats:
    r"""Adjust the m p-values of each family step by step, from the largest.

    .. math:: \tilde p_{(i)} = \min_{j \ge i} \frac{m}{j}\, p_{(j)}

    Bounds the expected share of false rejections among the rejections (the false discovery
    rate), if tests are independent or depend positively. Pairs that share a system need not.

    The result: adjusted p-values of the same shape.

    Benjamini & Hochberg (1995), Controlling the false discovery rate.
    """
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, axis=-1))


SIGNS_AT_ONCE = 512
SIGNS_PER_TASK = 2048
# Distances of pairs under random signs, and swaps of users' scores, that are held at a time.
DISTANCES_AT_ONCE = SWAPS_AT_ONCE = 1 << 21


def max_t_test(
    scores: Floats, *, permutations: int, seed: int, n_jobs: int = 1, advance: Advance | None = None
) -> Floats:
    r"""Test all pairs of each measure against the largest statistic that random signs give.

    The signs are those of :func:`analyses.significance.permutation.monte_carlo_test` with this
    seed. With
    :math:`\sigma_{ij}^2 = \sum_u d_u^2`, which no sign changes, z = ``|sum of d| / sigma`` as
    observed, and :math:`M_b` the largest :math:`|T_b| / \sigma` under signs b over the pair of the
    k-th largest z and those of smaller z (step-down),

    .. math:: \tilde p_{ij} = \frac{1 + \#\{b : M_b \ge z_{ij}\}}{B + 1} ;

    adjusted p-values may not fall below those of larger z.

    Each pair alone is tested exactly. That the chance of any false rejection is bounded, needs
    each user's vector of differences to be symmetric as a whole; else it holds for many users.
    Scores are on the grid of :func:`to_grid`; what it cannot tell apart is a tie, and counts.

    The result: adjusted p-values of shape (n_measures, n_pairs), at least 1 / (permutations + 1).
    Memory beyond scores on the grid is below 300 MB for each job, and 100 bytes for each measure
    and pair.

    Westfall & Young (1993), Resampling-based multiple testing, sections 2.3 and 2.6; Phipson &
    Smyth (2010) for the +1.
    """
    grid = to_grid(scores)
    families = [Family.of(one) for one in grid]
    count = partial(_count_maxima, grid, families, seed=seed)
    p = monte_carlo_p(
        count, permutations, draws_per_task=SIGNS_PER_TASK, n_jobs=n_jobs, advance=advance
    )
    return np.array([family.never_falling(row) for family, row in zip(families, p, strict=True)])


@dataclass(frozen=True, eq=False)
class Family:
    """Pairs of one measure, in falling order of z.

    Arrays are of shape (n_pairs,): ``order`` has the numbers of the pairs, ``first`` and ``second``
    their systems, ``scales`` 1 / sigma (0 where systems are equal but for rounding), ``observed``
    z. By the tolerance sums on the grid may differ where true sums tie.
    """

    order: Numbers
    first: Numbers
    second: Numbers
    scales: Floats
    observed: Floats
    tolerance: float

    @classmethod
    def of(cls, grid: Floats) -> Family:
        """Standardise the observed sums of gridded scores (n_systems, n_users)."""
        tolerance = 2.0 * grid.shape[1]
        sums = PairSums.of(grid, n_powers=1)
        sigma = sums.deviations
        scales = np.divide(1.0, sigma, out=np.zeros(len(sigma)), where=sigma > tolerance)
        observed = sums.totals * scales
        order = np.argsort(-observed, kind="stable")
        first, second = pair_indices(len(grid))
        pairs = (first[order], second[order], scales[order], observed[order])
        return cls(order, *pairs, tolerance)

    def count(self, flipped: Floats) -> Longs:
        """Count for each pair the signs whose maximum reaches z; sums are (n_systems, n_signs).

        Three arrays of at most 16 MB are held at a time.
        """
        counts = np.zeros(len(self.order), dtype=np.int64)
        at_once = max(1, DISTANCES_AT_ONCE // len(self.order))
        for start in range(0, flipped.shape[1], at_once):
            counts += self._count_few(flipped[:, start : start + at_once])
        return counts

    def _count_few(self, flipped: Floats) -> Longs:
        distances = np.abs(flipped[self.first] - flipped[self.second]) + self.tolerance
        distances *= self.scales[:, np.newaxis]
        maxima = np.maximum.accumulate(distances[::-1], axis=0)[::-1]
        return np.count_nonzero(maxima >= self.observed[:, np.newaxis], axis=1)

    def never_falling(self, p: Floats) -> Floats:
        """Raise p-values that fall below one of a larger z."""
        raised = np.empty_like(p)
        raised[self.order] = np.maximum.accumulate(p[self.order])
        return raised


def _count_maxima(
    grid: Floats, families: list[Family], start: int, stop: int, *, seed: int
) -> Longs:
    """Count the permutations ``start`` to ``stop`` whose maximum reaches each pair's z."""
    counts = np.zeros((len(grid), len(families[0].order)), dtype=np.int64)
    for flipped in flipped_sums(grid, start, stop, seed=seed, block=SIGNS_AT_ONCE):
        for measure, family in enumerate(families):
            counts[measure, family.order] += family.count(flipped[measure])
    return counts


SHUFFLES_AT_ONCE = 16
SHUFFLES_PER_TASK = 256


def tukey_test(
    scores: Floats,
    *,
    permutations: int = 5000,
    seed: int,
    n_jobs: int = 1,
    advance: Advance | None = None,
) -> Floats:
    r"""Test all pairs of each measure against the range of the systems' means under permutation.

    The null hypothesis is that all systems are alike: a user's scores may be dealt out to the
    systems in any order. They are, for every user by himself, the same way for all measures, and

    .. math:: \tilde p_{ij} = \frac{1 + \#\{b : \max_s \bar x^b_s - \min_s \bar x^b_s \ge
              |\bar x_i - \bar x_j|\}}{B + 1} .

    Scores are on the grid of :func:`to_grid`, where all sums are exact: the result does not
    depend on the number of jobs or the order of summation. Sums that the grid cannot tell apart
    tie, and count.

    The result: adjusted p-values of shape (n_measures, n_pairs), at least 1 / (permutations + 1).
    That the chance of any false rejection is bounded is proved if all systems are alike; a pair
    that is alike among others that are not is tested against a wider range, which errs on the safe
    side. Memory beyond two copies of the scores is below 100 MB for each job, or 16 bytes for each
    user and system.

    Carterette (2012), Multiple testing in statistical analysis of systems-based information
    retrieval experiments; Tukey (1953); Phipson & Smyth (2010) for the +1.
    """
    grid = to_grid(scores)
    # Users first, measures last: a user's scores are dealt out in rows that lie together.
    by_user = np.ascontiguousarray(grid.transpose(2, 1, 0))
    count = partial(_count_ranges, by_user, seed=seed)
    part = SHUFFLES_PER_TASK
    return monte_carlo_p(count, permutations, draws_per_task=part, n_jobs=n_jobs, advance=advance)


def _count_ranges(by_user: Floats, start: int, stop: int, *, seed: int) -> Longs:
    """Count the permutations whose range of sums is at least each pair's difference.

    From gridded scores of shape (n_users, n_systems, n_measures) to (n_measures, n_pairs).
    """
    from analyses.significance.permutation_loops import add_dealt_out

    n_users, n_systems, n_measures = by_user.shape
    first, second = pair_indices(n_systems)
    totals = by_user.sum(axis=0)
    thresholds = np.abs(totals[first] - totals[second]).T - 2 * n_users
    counts = np.zeros(thresholds.shape, dtype=np.int64)
    n_swaps = n_users * (n_systems - 1)
    at_once = max(1, min(SHUFFLES_AT_ONCE, SWAPS_AT_ONCE // max(1, n_swaps)))
    for begin in range(start, stop, at_once):
        end = min(begin + at_once, stop)
        swaps = random_swaps(begin, end, n_users=n_users, n_systems=n_systems, seed=seed)
        sums = np.zeros((end - begin, n_systems, n_measures))
        add_dealt_out(by_user, swaps, sums)
        for widths in np.ptp(sums, axis=1):
            counts += widths[:, np.newaxis] >= thresholds
    return counts


def random_swaps(
    start: int, stop: int, *, n_users: int, n_systems: int, seed: int
) -> NDArray[np.uint8 | np.uint16]:
    """Draw for each permutation and user the swaps of Fisher & Yates.

    System s = 1, 2, ... in turn changes places with system j, 0 <= j <= s, each equally likely;
    the j are of shape (stop - start, n_users, n_systems - 1).
    """
    n_swaps = n_systems - 1
    halves = random_uint32(
        start, stop, n_halves=n_users * n_swaps, seed=seed, purpose=SHUFFLING
    ).reshape(-1, n_users, n_swaps)
    systems = whole_numbers_below(halves, np.arange(2, n_systems + 1))
    return systems.astype(np.uint8 if n_systems <= 256 else np.uint16)
