"""Tests beside the permutation test, for all pairs of systems and all measures.

Each takes scores of shape (n_measures, n_systems, n_users) and gives two-sided p-values in (0, 1]
of shape (n_measures, n_pairs), pairs in the order of `pair_indices`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from analyses.intervals.resampling import WEIGHTS_AT_ONCE, draw_weights
from analyses.shared.exact_sums import to_grid
from analyses.significance.exact import p_on_lattice
from analyses.significance.permutation import ROUNDING, pair_indices
from runs.shared.arrays import Floats, Longs, Numbers
from runs.shared.parallel import delayed, run_in_threads, single_threaded

BLOCK = 1 << 17
"""Differences of users at a time: so many stay in the cache."""

STEP_BITS = 40
"""Differences are distinguished by steps of 2^-40 of the scores: about 12 decimals."""

MAX_USERS_RANKED_EXACTLY = 50
"""Up to so many differing users the distribution of signed ranks is computed exactly."""

VALUES_AT_ONCE = 1 << 22
"""Differences of pairs of systems, or their samples, that are held at a time: 32 MB."""

ROUNDING_STEPS = 2.0
"""Differences of two gridded scores that can be rounding alone, in steps of the grid."""

SAMPLES_AT_ONCE = 512
TIE = 1e-9

Value = TypeVar("Value", bound=np.generic)


def for_all_pairs(scores: Floats, statistic: Callable[[Floats], NDArray[Value]]) -> NDArray[Value]:
    """Compute a statistic of the users' differences of every pair of systems.

    Memory beyond scores and results is that of a few blocks of differences. Scores are of shape
    (n_measures, n_systems, n_users), with at least two systems; the statistic makes (n_rows, ...)
    of differences (n_rows, n_users), a block of these at a time.

    The result: statistics of shape (n_measures, n_pairs, ...).
    """
    n_measures, n_systems, n_users = scores.shape
    first, second = pair_indices(n_systems)
    n_tests = n_measures * len(first)
    n_rows = max(1, BLOCK // max(1, n_users))
    blocks = []
    for start in range(0, n_tests, n_rows):
        tests = np.arange(start, min(start + n_rows, n_tests))
        # Tests are numbered measure by measure, pair by pair.
        measure, pair = np.divmod(tests, len(first))
        differences = scores[measure, first[pair]] - scores[measure, second[pair]]
        blocks.append(statistic(differences))
    results = np.concatenate(blocks)
    return results.reshape(n_measures, len(first), *results.shape[1:])


def pair_means_and_deviations(scores: Floats) -> tuple[Floats, Floats]:
    """Compute means and standard deviations of the differences of all pairs of systems.

    Scores are of shape (n_measures, n_systems, n_users), both results of (n_measures, n_pairs).
    Rounding alone is 0; the deviation of a single user is NaN.
    """
    columns = for_all_pairs(
        normalised(scores), lambda rows: np.stack(means_and_deviations(rows), axis=1)
    )
    powers = exponents(scores)[:, :, 0]
    means = np.ldexp(columns[:, :, 0], powers)
    deviations = np.ldexp(columns[:, :, 1], powers)
    return means, deviations


def normalised(scores: Floats) -> Floats:
    """Scale each measure by a power of two, which is exact, to largest scores in [0.5, 1).

    Scores are of shape (n_measures, n_systems, n_users), before and after.
    """
    return np.ldexp(scores, -exponents(scores))


def exponents(scores: Floats) -> NDArray[np.intc]:
    """Find the exponents of the powers of two just above the largest absolute scores.

    Scores are of shape (n_measures, n_systems, n_users), exponents of (n_measures, 1, 1).
    """
    largest = np.abs(scores).max(axis=(1, 2), keepdims=True, initial=0.0)
    _, powers = np.frexp(largest)
    return powers


def rounded_steps(differences: Floats) -> Floats:
    """Round differences of normalised scores to whole numbers of steps of 2^-40.

    Sizes that are equal but for rounding become equal. The shape stays.
    """
    return np.rint(np.ldexp(differences, STEP_BITS))


def means_and_deviations(differences: Floats) -> tuple[Floats, Floats]:
    """Compute mean and standard deviation (divisor n - 1) of rows of differences.

    Differences of normalised scores are of shape (n_rows, n_users), each result of (n_rows,). What
    can be rounding alone, below 2^-48 of the largest score, is 0. The deviation of a single user is
    NaN.
    """
    n_users = differences.shape[1]
    means = differences.mean(axis=1)
    squares = ((differences - means[:, np.newaxis]) ** 2).sum(axis=1)
    deviations = np.full(len(means), np.nan)
    if n_users > 1:
        deviations = np.sqrt(squares / (n_users - 1))
    return _zero_if_within(ROUNDING, means), _zero_if_within(ROUNDING, deviations)


def _zero_if_within(tolerance: float, values: Floats) -> Floats:
    """Set values to 0 whose size is at most the tolerance."""
    return np.where(np.abs(values) <= tolerance, 0.0, values)


def t_test(scores: Floats) -> Floats:
    r"""Test all pairs of systems by Student's t of the users' differences d.

    .. math:: t = \frac{\bar d}{s_d / \sqrt{n}}, \qquad p = 2 P(T_{n-1} \ge |t|)

    The null hypothesis is that the mean difference is 0 in the population of users. The test is
    approximate unless differences are normal.

    Returns
    -------
    p-values of shape (n_measures, n_pairs), never 0 and never NaN: p = 1 if the means are equal
    (or there is a single user), and the smallest positive float64, 2e-308, if all differences
    are equal but not 0, or where p underflows.

    References
    ----------
    Student (1908), The probable error of a mean.
    """
    return for_all_pairs(normalised(scores), _t_of_rows)


def _t_of_rows(differences: Floats) -> Floats:
    """Compute the p-values of `t_test` (n_rows,) from normalised differences (n_rows, n_users)."""
    means, deviations = means_and_deviations(differences)
    return t_of_moments(means, deviations, n_users=differences.shape[1])


def t_of_moments(means: Floats, deviations: Floats, *, n_users: int | Floats) -> Floats:
    """Compute the p-values of `t_test` from means and standard deviations of the differences.

    Both are of one shape, that of the p-values; the number of users is one for all or fits it.
    p is 1 where the mean is 0 or there are fewer than two users, and never 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = np.sqrt(n_users) * np.abs(means) / deviations
    p = 2 * np.asarray(scipy.special.stdtr(n_users - 1, -statistics))
    is_undecided = (means == 0) | (np.asarray(n_users) < 2)
    return np.where(is_undecided, 1.0, _above_zero(p))


def _above_zero(p: Floats) -> Floats:
    """Clip p-values to the smallest positive float64 and 1."""
    return np.clip(p, np.finfo(np.float64).tiny, 1.0)


def sign_test(scores: Floats) -> Floats:
    r"""Test all pairs of systems by how many users each serves better.

    With n users who differ, k of them on the rarer side,

    .. math:: p = \min\Big(1,\; 2 \sum_{i=0}^{k} \binom{n}{i} 2^{-n}\Big)

    The null hypothesis is that each differing user is as likely to prefer either system: it is
    about medians, not means, and true means may be equal where it fails.

    Returns
    -------
    p-values of shape (n_measures, n_pairs), exact; 1 if no user differs. Differences below about
    12 decimals are none.

    References
    ----------
    Conover (1999), Practical nonparametric statistics, section 3.4.
    """
    return for_all_pairs(normalised(scores), _sign_of_rows)


def _sign_of_rows(differences: Floats) -> Floats:
    """Compute the p-values of `sign_test` (n_rows,) from normalised differences.

    Differences are of shape (n_rows, n_users); those below about 12 decimals are 0. p is 1 where as
    many users are better as worse, and never 0.
    """
    steps = rounded_steps(differences)
    n_better = (steps > 0).sum(axis=1)
    n_worse = (steps < 0).sum(axis=1)
    n_rarer = np.minimum(n_better, n_worse)
    # P(at most k of n) is a regularised incomplete beta function, of n - k and k + 1.
    n_commoner = np.maximum(np.maximum(n_better, n_worse), 1)
    p = 2 * np.asarray(scipy.special.betainc(n_commoner, n_rarer + 1, 0.5))
    return np.where(n_better == n_worse, 1.0, _above_zero(p))


def wilcoxon_test(scores: Floats) -> Floats:
    r"""Test all pairs of systems by the signed ranks of the users' differences.

    Users who do not differ are dropped ("wilcox"); the others get the ranks r of their absolute
    differences, equal ones the mean of theirs. The null hypothesis is that differences are
    symmetric about 0: then the signed rank sum is a permutation test's statistic,

    .. math:: T = \sum_u \mathrm{sgn}(d_u)\, r_u, \qquad \mathrm{Var}\, T = \sum_u r_u^2 .

    - At most 50 differing users: the exact distribution of T given the ranks, ties included.
    - More: p = 2 P(Z >= abs(T) / sqrt(Var T)), Z standard normal, without continuity correction.
      Summing squared mean ranks is the usual correction for ties.

    `scipy.stats.wilcoxon` gives the same for ``method="exact"`` without ties, and for
    ``method="asymptotic"``.

    The result: p-values of shape (n_measures, n_pairs); 1 if no user differs. Differences equal to
    about 12 decimals are ties.

    Wilcoxon (1945), Individual comparisons by ranking methods; Pratt & Gibbons (1981), Concepts of
    nonparametric theory, chapter 3.
    """
    return for_all_pairs(normalised(scores), _wilcoxon_of_rows)


def _wilcoxon_of_rows(differences: Floats) -> Floats:
    """Compute the p-values of `wilcoxon_test` (n_rows,) from normalised differences.

    Differences are of shape (n_rows, n_users). Exact for at most 50 differing users, else by the
    normal approximation; 1 where the signed rank sum is 0, and never 0.
    """
    ranks = signed_ranks(differences)
    totals = ranks.sum(axis=1)
    n_differing = np.count_nonzero(ranks, axis=1)
    deviations = np.sqrt((ranks * ranks).sum(axis=1))
    z = np.abs(totals) / np.maximum(deviations, 1.0)
    p = 2 * np.asarray(scipy.special.ndtr(-z))
    is_exact = (n_differing <= MAX_USERS_RANKED_EXACTLY) & (totals != 0)
    for row in np.flatnonzero(is_exact):
        p[row] = p_on_lattice(ranks[row])
    return np.where(totals == 0, 1.0, _above_zero(p))


def signed_ranks(differences: Floats) -> Floats:
    """Compute twice the signed mean ranks of absolute differences: whole numbers.

    Normalised differences and ranks are of shape (n_rows, n_users). Differences of 0 get no rank,
    but 0; those equal to about 12 decimals tie.
    """
    from scipy.stats import rankdata

    steps = rounded_steps(differences)
    n_equal = (steps == 0).sum(axis=1, keepdims=True)
    ranks_from_zero = rankdata(np.abs(steps), axis=1)
    return np.sign(steps) * 2 * (ranks_from_zero - n_equal)


def sakai_test(scores: Floats, *, replicates: int, seed: int, n_jobs: int = 1) -> Floats:
    r"""Test all pairs of systems by the bootstrapped distribution of Student's t.

    Differences d are centred, :math:`w = d - \bar d`, so that the null hypothesis (the mean
    difference is 0 in the population of users) holds for them; B samples of n users are drawn
    with replacement, the same for all pairs and measures, and

    .. math:: \mathrm{ASL} = \frac{1 + \#\{b : |t(w^{*b})| \ge |t(d)|\}}{B + 1}, \qquad
              t(z) = \frac{\bar z}{s_z / \sqrt n} .

    The test is approximate. Sakai divides the count by B, which may give 0. Of one user nothing
    can be said: levels are 1.

    Scores, and the squares of each pair's centred differences, are rounded to grids on which
    every sum of a sample is exact in float64: the result does not depend on the BLAS library, the
    number of jobs or the blocks. A sample's sum of squares is taken from the squares, not from
    products of the systems' scores: both need a row per pair, but the latter cancel where systems
    are alike.

    The result: achieved significance levels in (0, 1], of shape (n_measures, n_pairs). Memory
    beyond two copies of the scores is below 400 MB for each job.

    Sakai (2006), Evaluating evaluation metrics based on the bootstrap; Efron & Tibshirani (1993),
    An introduction to the bootstrap, section 16.4; +1: Davison & Hinkley (1997), section 4.2.
    """
    n_measures, n_systems, n_users = scores.shape
    n_pairs = len(pair_indices(n_systems)[0])
    if n_users < 2:
        return np.ones((n_measures, n_pairs))
    step = max(1, VALUES_AT_ONCE // (n_pairs * max(n_users, SAMPLES_AT_ONCE)))
    bootstrap = delayed(partial(_bootstrap_measures, replicates=replicates, seed=seed))
    starts = range(0, n_measures, step)
    tasks = (bootstrap(scores[start : start + step]) for start in starts)
    with single_threaded("blas"):
        p_values = run_in_threads(tasks, n_jobs=n_jobs)
    return np.concatenate(p_values)


def _bootstrap_measures(scores: Floats, *, replicates: int, seed: int) -> Floats:
    """Compute the achieved significance levels of all pairs, for a few measures at once.

    Scores are of shape (n_measures, n_systems, n_users), levels, in (0, 1], of (n_measures,
    n_pairs). The samples of users depend on the seed and the number of users alone; they come as
    how often each user is drawn: weights of shape (n_samples, n_users), some samples at a time.
    """
    n_measures, n_systems, n_users = scores.shape
    grid = to_grid(scores)
    rows = grid.reshape(-1, n_users)
    n_pairs = len(pair_indices(n_systems)[0])
    at_once = max(1, VALUES_AT_ONCE // (n_measures * max(n_users, SAMPLES_AT_ONCE)))

    @lru_cache(maxsize=1)
    def centred_pairs(start: int) -> _CentredPairs:
        return _CentredPairs.from_scores(grid, slice(start, start + at_once))

    counts = np.zeros((n_measures, n_pairs), dtype=np.int64)
    block = max(1, min(SAMPLES_AT_ONCE, WEIGHTS_AT_ONCE // n_users))
    for _, weights in draw_weights(n_users, replicates=replicates, seed=seed, block=block):
        sums = (rows @ weights.T).reshape(n_measures, n_systems, -1)
        for start in range(0, n_pairs, at_once):
            n_extreme = centred_pairs(start).count_as_extreme(sums, weights)
            counts[:, start : start + at_once] += n_extreme
    return np.asarray((counts + 1) / (replicates + 1))


@dataclass(frozen=True, eq=False)
class _CentredPairs:
    """Centred differences of some pairs of systems, in steps of the grid.

    Parameters
    ----------
    first, second
        Numbers of the systems, of shape (n_pairs,).
    means
        Mean differences, of shape (n_measures, n_pairs).
    squares, powers
        Squares of the centred differences w as whole numbers, of shape (n_measures, n_pairs,
        n_users), which are times 2^powers, of shape (n_measures, n_pairs, 1).
    """

    first: Numbers
    second: Numbers
    means: Floats
    squares: Floats
    powers: NDArray[np.intc]

    @classmethod
    def from_scores(cls, grid: Floats, pairs: slice) -> _CentredPairs:
        """Centre the differences of pairs in gridded scores (n_measures, n_systems, n_users).

        ``pairs``: a slice of the pairs in the order of `pair_indices`. A mean of at most one step
        of the grid can be rounding, and is 0.
        """
        n_users = grid.shape[2]
        all_first, all_second = pair_indices(grid.shape[1])
        first = all_first[pairs]
        second = all_second[pairs]
        differences = grid[:, first] - grid[:, second]
        means = _zero_if_within(ROUNDING_STEPS / 2, differences.sum(axis=2) / n_users)
        differences -= means[:, :, np.newaxis]
        squares, powers = gridded_squares(differences)
        return cls(first, second, means, squares, powers)

    def count_as_extreme(self, sums: Floats, weights: Floats) -> Longs:
        """Count the samples whose t is at least as far from 0 as the observed one.

        A squared t that is smaller by a share of at most 1e-9 (`TIE`), as rounding may be, counts.
        ``self.squares`` are whole numbers of shape (n_measures, n_pairs, n_users), ``self.means``
        of (n_measures, n_pairs). Sums of the systems' scores are of shape (n_measures, n_systems,
        n_samples); weights of users of (n_samples, n_users); counts of (n_measures, n_pairs).
        """
        n_users = weights.shape[1]
        means = self.means[:, :, np.newaxis]
        observed_squares = self._mean_squares(self.squares.sum(axis=2, keepdims=True), n_users)
        threshold = _squared_t(means, observed_squares) * (1 - TIE)
        sample_sums = sums[:, self.first] - sums[:, self.second]
        sample_means = sample_sums / n_users
        shifts = _zero_if_within(ROUNDING_STEPS, sample_means - means)
        products = self.squares.reshape(-1, n_users) @ weights.T
        squares = self._mean_squares(products.reshape(shifts.shape), n_users)
        variances = np.maximum(squares - shifts**2, 0.0)
        is_extreme = _squared_t(shifts, variances) >= threshold
        return np.count_nonzero(is_extreme, axis=2)

    def _mean_squares(self, sums: Floats, n_users: int) -> Floats:
        """Divide sums of the whole-number squares by the users, in steps of the grid, squared.

        Sums are of shape (n_measures, n_pairs, n_samples).
        """
        return np.ldexp(sums, self.powers) / n_users


def gridded_squares(centred: Floats) -> tuple[Floats, NDArray[np.intc]]:
    """Square numbers, and round every row to whole numbers whose sums are exact in float64.

    The squares, of shape (..., n_users) as the numbers are, are the whole numbers times 2^powers;
    the powers are of shape (..., 1).
    """
    squares = centred**2
    n_users = squares.shape[-1]
    largest = squares.max(axis=-1, keepdims=True, initial=0.0)
    _, sum_powers = np.frexp(largest * n_users)
    powers = sum_powers - 52
    return np.rint(np.ldexp(squares, -powers)), powers


def _squared_t(means: Floats, variances: Floats) -> Floats:
    """Compute the square of t but for the factor n: 0 if the mean is 0, infinite if no variance.

    Means and variances are of one shape, or fit each other.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = means**2 / variances
    return np.where(means == 0, 0.0, ratios)
