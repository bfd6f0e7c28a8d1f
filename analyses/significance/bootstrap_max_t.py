"""max-T by the bootstrap: all pairs of systems at once, against means that may be equal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import Advance, monte_carlo_p, random_blocks, resampled_users
from analyses.shared.exact_sums import to_grid
from analyses.significance.corrections import step_down
from analyses.significance.paired_tests import TIE, gridded_squares
from analyses.significance.permutation import pair_indices
from runs.shared.arrays import Floats, Longs, Numbers

MIN_DIFFERING_USERS = 10
"""Pairs of systems with different scores for fewer users are not told apart: docs/methods/tests.md.
"""

N_BLOCKS = 400
"""Blocks of users that are resampled; of fewer users, each is a block: docs/methods/tests.md."""

REPLICATES_AT_ONCE = 1024

NUMBERS_AT_ONCE = 1 << 18
"""Squared differences of users or blocks, or sums in replicates, that are held at once: 2 MB."""

LEAST_PAIRS_AT_ONCE = 16

ROUNDING_STEPS = 2.0
"""Differences of two gridded scores that can be rounding alone, in steps of the grid."""


def max_t_test(
    scores: Floats, *, permutations: int, seed: int, n_jobs: int = 1, advance: Advance | None = None
) -> Floats:
    r"""Test all pairs of each measure against the largest statistic of resampled users.

    The null hypothesis of a pair is that the mean difference is 0 in the population of users; the
    distributions of the scores may differ. With the differences d of a pair, their mean and
    standard deviation s, and the same of n users that are drawn with replacement (starred), the
    same for all pairs and measures,

    .. math:: t = \frac{|\bar d|}{s / \sqrt n}, \qquad
              T_b = \frac{|\bar d^{*b} - \bar d|}{s^{*b} / \sqrt n}, \qquad
              \tilde p = \frac{1 + \#\{b : \max T_b \ge t\}}{B + 1} .

    The maximum is over the pair and those of smaller t (step-down); adjusted p-values may not fall
    below those of larger t.

    More than 400 users are put into 400 random blocks whose sizes differ by at most one. In place
    of users, blocks are drawn: the starred numbers are those of the sums of d over the blocks, with
    400 in place of n. The skewness of T* is then that of users; t is always that of users.

    If all users of a replicate have the same difference, s* is 0, and the observed s stands in its
    place. A pair with the same difference for all users has T = 0, and t = 0 or infinite.

    A pair of systems with different scores for fewer than ten users has t = T = 0: it is not told
    apart, and other pairs do not suffer. The few such users are often missed, or almost so, and T
    is then so large that near duplicates would hide what differs.

    Parameters
    ----------
    scores
        Of shape (n_measures, n_systems, n_users). They, and squared differences, are rounded to
        grids on which sums are exact: the result does not depend on jobs, blocks or BLAS.
    permutations
        Number of replicates B.
    seed
        Random seed.
    n_jobs
        Number of threads, each with one of BLAS.
    advance
        Called with the number of replicates finished since its last call.

    Returns
    -------
    Adjusted p-values of shape (n_measures, n_pairs), at least 1 / (permutations + 1). The chance of
    any false rejection is bounded for many users; with few, it is larger where scores are skewed,
    or where a system scores for hardly any user. Memory beyond scores on the grid is below 150 MB
    for each job, and 200 bytes for each measure and pair.

    References
    ----------
    Romano & Wolf (2005), Exact and approximate stepdown methods for multiple hypothesis testing;
    Efron & Tibshirani (1993), An introduction to the bootstrap, section 16.4; +1: Davison & Hinkley
    (1997), section 4.2.
    """
    grid = to_grid(scores)
    block_sums = _sums_of_blocks(grid, seed=seed)
    families = [
        PairMoments.from_scores(measure_scores, sums)
        for measure_scores, sums in zip(grid, block_sums, strict=True)
    ]
    count = partial(_count_maxima, block_sums, families, seed=seed)
    p_values = monte_carlo_p(
        count, permutations, draws_per_task=REPLICATES_AT_ONCE, n_jobs=n_jobs, advance=advance
    )
    by_measure = zip(families, p_values, strict=True)
    adjusted = [step_down(measure_p, family.pairs[::-1]) for family, measure_p in by_measure]
    return np.array(adjusted)


def _sums_of_blocks(grid: Floats, *, seed: int) -> Floats:
    """Add up gridded scores over random blocks of users, less the mean of each system.

    Scores are of shape (n_measures, n_systems, n_users), the sums, whole numbers, of (n_measures,
    n_systems, n_blocks). Scores of at most 400 users (`N_BLOCKS`) are returned as they are: each
    user is a block.
    """
    n_users = grid.shape[2]
    if n_users <= N_BLOCKS:
        return grid
    blocks = random_blocks(n_users, n_blocks=N_BLOCKS, seed=seed)
    users_by_block = np.argsort(blocks, kind="stable")
    starts = np.searchsorted(blocks[users_by_block], np.arange(N_BLOCKS))
    sums = np.empty((*grid.shape[:2], N_BLOCKS))
    for measure, measure_scores in enumerate(grid):
        means = measure_scores.mean(axis=1, keepdims=True)
        centred = measure_scores - np.rint(means)
        sums[measure] = np.add.reduceat(centred[:, users_by_block], starts, axis=1)
    return sums


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Means and variances of the differences of pairs of systems by one measure.

    Differences d are those of gridded scores, in steps of the grid, summed over the users of a
    block, centred ones less their mean.

    Parameters
    ----------
    pairs
        Numbers of the pairs, in the order of `pair_indices`, of shape (n_pairs,).
    systems
        Numbers of the two systems of each pair, of shape (n_pairs, 2).
    sums
        Sums of the differences, of shape (n_pairs,).
    factors
        What the whole numbers of `gridded_squares` are multiplied with, as a mean over the blocks:
        of shape (n_pairs,).
    variances
        Variances of the differences, with the divisor n_blocks, of shape (n_pairs,): infinite where
        all users have the same, and where fewer than 10 users have one.
    tolerances
        Variances that can be rounding alone, of shape (n_pairs,); infinite in the same places.
    statistics
        Squares of t / sqrt(n_blocks), of shape (n_pairs,), where t is of users: infinite where all
        have the same difference, 0 where fewer than 10 users have one.
    """

    pairs: Numbers
    systems: Numbers
    sums: Floats
    factors: Floats
    variances: Floats
    tolerances: Floats
    statistics: Floats

    @classmethod
    def from_scores(cls, grid: Floats, block_sums: Floats) -> PairMoments:
        """Compute the moments of all pairs.

        From gridded scores, of shape (n_systems, n_users), and the sums of them, less their means,
        over blocks of users, of shape (n_systems, n_blocks). Pairs are in rising order of their
        statistics.
        """
        systems = np.stack(pair_indices(len(grid)), axis=1)
        blocks = []
        for pairs in _blocks_of_pairs(len(systems), grid.shape[1]):
            blocks.append(cls._from_pairs(grid, block_sums, systems[pairs], pairs))
        moments = cls(
            pairs=np.concatenate([block.pairs for block in blocks]),
            systems=systems,
            sums=np.concatenate([block.sums for block in blocks]),
            factors=np.concatenate([block.factors for block in blocks]),
            variances=np.concatenate([block.variances for block in blocks]),
            tolerances=np.concatenate([block.tolerances for block in blocks]),
            statistics=np.concatenate([block.statistics for block in blocks]),
        )
        return moments.select(np.argsort(moments.statistics, kind="stable"))

    @classmethod
    def _from_pairs(
        cls, grid: Floats, block_sums: Floats, systems: Numbers, pairs: slice
    ) -> PairMoments:
        """Compute the moments of some pairs.

        From gridded scores (n_systems, n_users), sums over blocks (n_systems, n_blocks), the
        numbers of the two systems of each pair, (n_pairs, 2), and the slice that the pairs are of
        all pairs. Differences of at most two steps of the grid are rounding alone
        (`ROUNDING_STEPS`). Pairs that differ for fewer than 10 users (`MIN_DIFFERING_USERS`) are
        too alike: their statistic is 0. It is infinite where all differences are the same.
        Variances and tolerances of both are infinite.
        """
        n_users = grid.shape[1]
        n_blocks = block_sums.shape[1]
        differences = grid[systems[:, 0]] - grid[systems[:, 1]]
        n_differing = np.count_nonzero(np.abs(differences) > ROUNDING_STEPS, axis=1)
        of_users = _moments(grid, systems)
        of_blocks = of_users if n_blocks == n_users else _moments(block_sums, systems)
        is_constant = of_users.variances <= of_users.tolerances
        is_too_alike = n_differing < MIN_DIFFERING_USERS
        means = of_users.sums / n_users
        statistics = means**2 / np.where(is_constant, 1.0, of_users.variances)
        statistics *= n_users / n_blocks
        statistics[is_constant] = np.inf
        statistics[is_too_alike] = 0.0
        # Divided by infinite variances, statistics of replicates are 0.
        is_untested = is_constant | is_too_alike
        return cls(
            pairs=np.arange(pairs.start, pairs.start + len(systems)),
            systems=systems,
            sums=of_blocks.sums,
            factors=of_blocks.factors,
            variances=np.where(is_untested, np.inf, of_blocks.variances),
            tolerances=np.where(is_untested, np.inf, of_blocks.tolerances),
            statistics=statistics,
        )

    def select(self, pairs: Numbers | slice) -> PairMoments:
        """Select pairs by their positions, of shape (n_selected,), or as a slice."""
        return PairMoments(
            pairs=self.pairs[pairs],
            systems=self.systems[pairs],
            sums=self.sums[pairs],
            factors=self.factors[pairs],
            variances=self.variances[pairs],
            tolerances=self.tolerances[pairs],
            statistics=self.statistics[pairs],
        )


class Moments(NamedTuple):
    """Moments of the differences of pairs; see `PairMoments`. Arrays have the shape (n_pairs,)."""

    sums: Floats
    factors: Floats
    variances: Floats
    tolerances: Floats


def _moments(values: Floats, systems: Numbers) -> Moments:
    """Compute the moments of the differences of pairs, over users or over blocks of them.

    From whole numbers, (n_systems, n_values), and the numbers of the two systems of each pair,
    (n_pairs, 2).
    """
    n_values = values.shape[1]
    differences = values[systems[:, 0]] - values[systems[:, 1]]
    sums = differences.sum(axis=1)
    # Whole numbers (n_pairs, n_values), times 2^powers: the squares of centred differences.
    squares, powers = _centred_squares(values, systems, sums)
    factors = np.ldexp(1.0, powers) / n_values
    variances = squares.sum(axis=1) * factors
    largest = np.ldexp(squares.max(axis=1), powers)
    # Rounded are the squares, all to one grid, and the mean that is subtracted.
    rounding = largest * n_values * 2.0**-51 + np.sqrt(largest)
    tolerances = np.maximum(ROUNDING_STEPS**2, rounding)
    return Moments(sums, factors, variances, tolerances)


def _blocks_of_pairs(n_pairs: int, n_numbers: int) -> list[slice]:
    """Divide pairs into blocks with so many numbers each that these stay in the cache."""
    at_once = max(LEAST_PAIRS_AT_ONCE, NUMBERS_AT_ONCE // n_numbers)
    return [slice(start, start + at_once) for start in range(0, max(1, n_pairs), at_once)]


def _centred_squares(
    grid: Floats, systems: Numbers, sums: Floats
) -> tuple[Floats, NDArray[np.intc]]:
    """Square the differences of pairs, centred at their means, as whole numbers.

    From gridded scores (n_systems, n_users), the numbers of the two systems of each pair, of shape
    (n_pairs, 2), and the sums of their differences, (n_pairs,). The results: whole numbers of shape
    (n_pairs, n_users), and the powers, (n_pairs,), of two that they are to be multiplied with.
    """
    differences = grid[systems[:, 0]] - grid[systems[:, 1]]
    means = sums / grid.shape[1]
    differences -= means[:, np.newaxis]
    squares, powers = gridded_squares(differences)
    return squares, powers[:, 0]


def _count_maxima(
    block_sums: Floats, families: list[PairMoments], start: int, stop: int, *, seed: int
) -> Longs:
    """Count the replicates ``start`` to ``stop`` whose step-down maximum is at least each pair's t.

    From sums over blocks of users, of shape (n_measures, n_systems, n_blocks), and the pairs of
    each measure, in rising order of t. Blocks of pairs are gone through in this order: ``maxima``
    has the largest statistic of the pairs so far in each replicate, and `add_extreme_maxima`
    updates it, and the counts of the block, in place. Counts are of shape (n_measures, n_pairs), in
    the order of `pair_indices`.
    """
    from analyses.significance.permutation_loops import add_extreme_maxima

    n_blocks = block_sums.shape[2]
    n_replicates = stop - start
    weights = resampled_users(start, stop, n_users=n_blocks, seed=seed).T
    n_pairs = len(families[0].pairs)
    counts = np.zeros((len(block_sums), n_pairs), dtype=np.int64)
    for measure, family in enumerate(families):
        sums = block_sums[measure] @ weights
        maxima = np.zeros(n_replicates)
        for block in _blocks_of_pairs(n_pairs, max(n_blocks, n_replicates)):
            moments = family.select(block)
            squares, _ = _centred_squares(block_sums[measure], moments.systems, moments.sums)
            counts_of_block = np.zeros(len(moments.pairs), dtype=np.int64)
            add_extreme_maxima(
                counts_of_block,
                maxima,
                sums,
                squares @ weights,
                moments.systems,
                moments.sums,
                moments.factors,
                moments.variances,
                moments.tolerances,
                moments.statistics * (1 - TIE),
                n_blocks,
            )
            counts[measure, moments.pairs] = counts_of_block
    return counts
