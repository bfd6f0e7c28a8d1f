"""Corrections for testing many pairs of systems at once.

A family is the pairs of one measure: do not pool measures, and count no pair twice. Bonferroni,
Holm and Benjamini-Hochberg adjust any test's p-values; max-T by random signs and Tukey's HSD are
permutation tests of their own. `analyses.significance.bootstrap_max_t` has max-T by the bootstrap.
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

__all__ = [
    "benjamini_hochberg",
    "bonferroni",
    "holm",
    "sign_flip_max_t_test",
    "step_down",
    "tukey_test",
]


def bonferroni(p: Floats) -> Floats:
    r"""Adjust the m p-values of each family: :math:`\tilde p = \min(1, m p)`.

    Bounds the chance of any false rejection in the family, however the tests depend on each
    other. :func:`holm` rejects all that this does, and more.

    ``p``: p-values of shape (..., m), a family along the last axis. The result: adjusted p-values
    of the same shape.

    Dunn (1961), Multiple comparisons among means.
    """
    n_tests = p.shape[-1]
    return np.minimum(n_tests * p, 1.0)


def holm(p: Floats) -> Floats:
    r"""Adjust the m p-values of each family step by step, from the smallest.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})

    Bounds the chance of any false rejection in the family, however the tests depend on each
    other.

    ``p``: p-values of shape (..., m), a family along the last axis. The result: adjusted p-values
    of the same shape.

    Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    order = np.argsort(p, axis=-1, kind="stable")
    factors = np.arange(p.shape[-1], 0, -1.0)
    rising_p = np.take_along_axis(p, order, axis=-1)
    multiplied = rising_p * factors
    steps = np.maximum.accumulate(multiplied, axis=-1)
    rising_adjusted = np.minimum(steps, 1.0)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, rising_adjusted, axis=-1)
    return adjusted


def benjamini_hochberg(p: Floats) -> Floats:
    r"""Adjust the m p-values of each family step by step, from the largest.

    .. math:: \tilde p_{(i)} = \min_{j \ge i} \frac{m}{j}\, p_{(j)}

    Bounds the expected share of false rejections among the rejections (the false discovery
    rate), if tests are independent or depend positively. Pairs that share a system need not.

    ``p``: p-values of shape (..., m), a family along the last axis. The result: adjusted p-values
    of the same shape.

    Benjamini & Hochberg (1995), Controlling the false discovery rate.
    """
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, axis=-1))


SIGNS_AT_ONCE = 512
SIGNS_PER_TASK = 2048

DISTANCES_AT_ONCE = 1 << 21
"""Distances of pairs under random signs that are held at a time."""

SWAPS_AT_ONCE = 1 << 21
"""Swaps of users' scores that are held at a time."""


def sign_flip_max_t_test(
    scores: Floats, *, permutations: int, seed: int, n_jobs: int = 1, advance: Advance | None = None
) -> Floats:
    r"""Test all pairs of each measure against the largest statistic that random signs give.

    The null hypothesis of a pair: a user's two scores are exchangeable, so that the differences are
    symmetric about 0. Where means are equal and distributions are not, it is false, and rejected
    more often than the level says.

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

    Scores are of shape (n_measures, n_systems, n_users); ``advance`` is called with the number of
    permutations finished since its last call. The result: adjusted p-values of shape (n_measures,
    n_pairs), at least 1 / (permutations + 1). Memory beyond scores on the grid is below 300 MB for
    each job, and 100 bytes for each measure and pair.

    Westfall & Young (1993), Resampling-based multiple testing, sections 2.3 and 2.6; Phipson &
    Smyth (2010) for the +1.
    """
    grid = to_grid(scores)
    families = [Family.from_scores(measure_scores) for measure_scores in grid]
    count = partial(_count_maxima, grid, families, seed=seed)
    p_values = monte_carlo_p(
        count, permutations, draws_per_task=SIGNS_PER_TASK, n_jobs=n_jobs, advance=advance
    )
    by_measure = zip(families, p_values, strict=True)
    adjusted = [step_down(measure_p, family.order) for family, measure_p in by_measure]
    return np.array(adjusted)


def step_down(p: Floats, order: Numbers) -> Floats:
    """Raise p-values, (n_pairs,), that are below the p-value of a pair of a larger statistic.

    ``order``: the numbers of the pairs, from the largest statistic to the smallest, of the same
    shape. p-values go in and out by the numbers of the pairs.
    """
    raised = np.empty_like(p)
    p_by_falling_statistic = p[order]
    raised[order] = np.maximum.accumulate(p_by_falling_statistic)
    return raised


@dataclass(frozen=True, eq=False)
class Family:
    """Pairs of one measure, in falling order of z.

    Arrays are of shape (n_pairs,): ``order`` has the numbers of the pairs, ``first`` and ``second``
    their systems, ``inverse_sigmas`` 1 / sigma (0 where systems are equal but for rounding),
    ``observed`` z. By the tolerance sums on the grid may differ where true sums tie.
    """

    order: Numbers
    first: Numbers
    second: Numbers
    inverse_sigmas: Floats
    observed: Floats
    tolerance: float

    @classmethod
    def from_scores(cls, grid: Floats) -> Family:
        """Standardise the observed sums of one measure's gridded scores (n_systems, n_users).

        Pairs are put in falling order of z; z is 0 where systems are equal but for rounding:
        where sigma is at most the tolerance, two steps of the grid for each user.
        """
        tolerance = 2.0 * grid.shape[1]
        # By pair: absolute sums of differences, and their standard deviations under random signs.
        sums = PairSums.from_scores(grid, n_powers=1)
        sigma = sums.deviations
        is_different = sigma > tolerance
        inverse_sigmas = np.divide(1.0, sigma, out=np.zeros(len(sigma)), where=is_different)
        observed = sums.totals * inverse_sigmas
        order = np.argsort(-observed, kind="stable")
        first, second = pair_indices(len(grid))
        ordered_first = first[order]
        ordered_second = second[order]
        ordered_sigmas = inverse_sigmas[order]
        ordered_z = observed[order]
        return cls(order, ordered_first, ordered_second, ordered_sigmas, ordered_z, tolerance)

    def count_maxima(self, flipped: Floats) -> Longs:
        """Count for each pair the signs under which the step-down maximum is at least its z.

        ``flipped``: sums of the systems' scores under random signs, (n_systems, n_signs). Counts
        are of shape (n_pairs,), in falling order of z. Three arrays of at most 16 MB are held at a
        time.
        """
        counts = np.zeros(len(self.order), dtype=np.int64)
        at_once = max(1, DISTANCES_AT_ONCE // len(self.order))
        for start in range(0, flipped.shape[1], at_once):
            block = flipped[:, start : start + at_once]
            counts += self._count_maxima_in_block(block)
        return counts

    def _count_maxima_in_block(self, flipped: Floats) -> Longs:
        """Count, for each pair in falling order of z, the signs whose maximum is at least its z.

        The maximum is over the pair and all pairs of smaller z. ``flipped``: sums of the systems'
        scores under random signs, (n_systems, n_signs). A distance within ``self.tolerance``, in
        steps of the grid, counts. The result: counts of shape (n_pairs,).
        """
        differences = flipped[self.first] - flipped[self.second]
        distances = np.abs(differences, out=differences)
        distances += self.tolerance
        distances *= self.inverse_sigmas[:, np.newaxis]
        # Pairs are in falling order of z: the maximum is over this and all later ones.
        maxima = np.maximum.accumulate(distances[::-1], axis=0)[::-1]
        is_extreme = maxima >= self.observed[:, np.newaxis]
        return np.count_nonzero(is_extreme, axis=1)


def _count_maxima(
    grid: Floats, families: list[Family], start: int, stop: int, *, seed: int
) -> Longs:
    """Count the permutations ``start`` to ``stop`` whose maximum is at least each pair's z.

    From gridded scores of shape (n_measures, n_systems, n_users) and a family for each measure;
    counts are of shape (n_measures, n_pairs), in the order of `pair_indices`. `flipped_sums` yields
    sums of the systems' scores under some of the random signs: (n_measures, n_systems, n_signs).
    """
    n_pairs = len(families[0].order)
    counts = np.zeros((len(grid), n_pairs), dtype=np.int64)
    for flipped in flipped_sums(grid, start, stop, seed=seed, block=SIGNS_AT_ONCE):
        for measure, family in enumerate(families):
            flipped_of_measure = flipped[measure]
            counts[measure, family.order] += family.count_maxima(flipped_of_measure)
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

    Scores are of shape (n_measures, n_systems, n_users); ``advance`` is called with the number of
    permutations finished since its last call. The result: adjusted p-values of shape (n_measures,
    n_pairs), at least 1 / (permutations + 1). That the chance of any false rejection is bounded is
    proved if all systems are alike; a pair that is alike among others that are not is tested
    against a wider range, which errs on the safe side. Memory beyond two copies of the scores is
    below 100 MB for each job, or 16 bytes for each user and system.

    Carterette (2012), Multiple testing in statistical analysis of systems-based information
    retrieval experiments; Tukey (1953); Phipson & Smyth (2010) for the +1.
    """
    grid = to_grid(scores)
    # Users first, measures last: a user's scores are dealt out in rows that lie together.
    by_user = np.ascontiguousarray(grid.transpose(2, 1, 0))
    count = partial(_count_ranges, by_user, seed=seed)
    return monte_carlo_p(
        count, permutations, draws_per_task=SHUFFLES_PER_TASK, n_jobs=n_jobs, advance=advance
    )


def _count_ranges(by_user: Floats, start: int, stop: int, *, seed: int) -> Longs:
    """Count the permutations whose range of sums is at least each pair's observed difference.

    From gridded scores of shape (n_users, n_systems, n_measures), for the permutations ``start`` to
    ``stop``. Counts are of shape (n_measures, n_pairs). Sums within 2 n_users of the grid tie.
    """
    from analyses.significance.permutation_loops import add_permuted_scores

    n_users, n_systems, n_measures = by_user.shape
    first, second = pair_indices(n_systems)
    totals = by_user.sum(axis=0)
    differences = totals[first] - totals[second]
    observed = np.abs(differences).T
    thresholds = observed - 2 * n_users
    counts = np.zeros(thresholds.shape, dtype=np.int64)
    n_swaps = n_users * (n_systems - 1)
    at_once = max(1, min(SHUFFLES_AT_ONCE, SWAPS_AT_ONCE // max(1, n_swaps)))
    for begin in range(start, stop, at_once):
        end = min(begin + at_once, stop)
        swaps = random_swaps(begin, end, n_users=n_users, n_systems=n_systems, seed=seed)
        sums = np.zeros((end - begin, n_systems, n_measures))
        add_permuted_scores(by_user, swaps, sums)
        for measure_ranges in np.ptp(sums, axis=1):
            counts += measure_ranges[:, np.newaxis] >= thresholds
    return counts


def random_swaps(
    start: int, stop: int, *, n_users: int, n_systems: int, seed: int
) -> NDArray[np.uint8 | np.uint16]:
    """Draw for each permutation and user the swaps of Fisher & Yates.

    System s = 1, 2, ... in turn changes places with system j, 0 <= j <= s, each equally likely;
    the j are of shape (stop - start, n_users, n_systems - 1).
    """
    n_swaps = n_systems - 1
    n_halves = n_users * n_swaps
    halves = random_uint32(start, stop, n_halves=n_halves, seed=seed, purpose=SHUFFLING)
    halves = halves.reshape(-1, n_users, n_swaps)
    systems = whole_numbers_below(halves, np.arange(2, n_systems + 1))
    dtype = np.uint8 if n_systems <= 256 else np.uint16
    return systems.astype(dtype)
