"""Uncertainty of discriminative power: samples of users, and their p-values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyses.intervals.resampling import random_blocks, resampled_users, run_noise, run_weights
from analyses.shared.draws import Draws
from analyses.shared.families import N_CROSSED
from analyses.shared.limits import SMALLEST_RATIO, normal_limits
from analyses.shared.scores import RunDeviations
from analyses.significance.permutation import find_scale
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.parallel import delayed, run_in_threads, single_threaded

Pairs = tuple[Numbers, Numbers]
"""Numbers of the first and of the second systems of pairs, each of shape (n_pairs,)."""

REPLICATES = 400
"""Resamples by default: intervals need a standard deviation, which is then good to 4 %."""

N_BLOCKS = 500
"""Random blocks of users that are resampled as wholes; of fewer users, each is a block.

Sums over blocks are weighted, not users: a tenth of the work for 6,040 users. Standard deviations
are good to 3 %.
"""

LEVEL = 0.05
"""A pair of systems with a smaller p-value differs significantly."""

NUMBERS_AT_ONCE = 1 << 21
"""Pairs times weightings, and products of systems times blocks, held at a time: 16 MB."""


@dataclass(frozen=True, eq=False, repr=False)
class PowerSamples:
    """Discriminative power for resampled users, the same for all measures and pairs.

    Parameters
    ----------
    powers
        Sum of p over the pairs, of shape (n_measures, replicates).
    mid_powers
        Sum of the mid-p-values over the pairs, of the same shape.
    crossed
        The sum of mid-p-values over groups of pairs, of shape (n_measures, n_replicates, n_groups):
        of the first replicates.
    n_significant
        Number of pairs with a mid-p-value below `LEVEL` in some sets of pairs, of shape
        (n_measures, n_sets, n_replicates).
    draws
        What replicates draw, of users and runs.
    curve_low, curve_high
        Bands of the p-values in falling order, of shape (n_measures, n_pairs).
    """

    powers: Floats
    mid_powers: Floats
    crossed: Floats
    n_significant: Floats
    draws: Draws
    curve_low: Floats
    curve_high: Floats


def resample_power(
    values: Floats,
    p: Floats,
    mid_p: Floats,
    pairs: Pairs,
    *,
    scales: tuple[int | None, ...],
    groups: Floats,
    sets: Masks,
    replicates: int,
    seed: int,
    n_jobs: int = 1,
    runs: RunDeviations | None = None,
) -> PowerSamples:
    r"""Compute discriminative power for users, and runs, drawn with replacement.

    The p-values of a replicate come from the normal approximation
    :math:`p \approx 2 \Phi(-z)`, :math:`z = (|\sum_u w_u d_u| - c) / \sqrt{\sum_u w_u d_u^2}`, with
    the continuity correction c, one unit, for scores on a lattice. The mid-p-value is the mean of p
    and of the probability of the next larger sums, with -c in place of c. Powers are scaled to be
    that of the users as they are in the mean: resampling adds noise, which makes them larger.

    Discriminative power is the sum of p over the pairs. Scores are of shape (n_measures, n_systems,
    n_users), their p-values and mid-p-values as observed of (n_measures, n_pairs); ``pairs``:
    numbers of the two systems of each pair. ``scales``: for each measure the factor that makes its
    scores integers, None to look for it. ``groups``: weights of pairs, of shape (n_groups,
    n_pairs), by which mid-p-values are summed for the field ``crossed``. ``sets``: marks of pairs,
    of shape (n_sets, n_pairs), in which significant ones are counted. ``runs``: deviations of
    single runs of the systems, from which noise of their means is drawn; None for no noise. With
    fewer than two replicates, bands are NaN and powers empty. Memory beyond two copies of the
    scores: for each job, 3 numbers for each pair and replicate and one for each pair and block of
    users (300 MB for 200 systems), and 100 MB.
    """
    if replicates < 2:
        no_band = np.full(p.shape, np.nan)
        no_powers = np.empty((len(p), 0))
        no_crossed = np.empty((len(p), 0, 0))
        return PowerSamples(
            powers=no_powers,
            mid_powers=no_powers,
            crossed=no_crossed,
            n_significant=np.empty((len(p), len(sets), 0)),
            draws=Draws.of(np.empty((0, 0))),
            curve_low=no_band,
            curve_high=no_band,
        )
    n_measures, n_systems, n_users = values.shape
    # The number of each user's block; the blocks are resampled as wholes.
    blocks = random_blocks(n_users, n_blocks=N_BLOCKS, seed=seed)
    n_blocks = int(blocks.max()) + 1
    weights = resampled_users(0, replicates, n_users=n_blocks, seed=seed).T
    drawn_runs = None
    if runs is not None:
        drawn_runs = run_weights(runs.systems, replicates=replicates, seed=seed)
    draws = Draws.of(weights.T, drawn_runs)
    noise = np.zeros((n_measures, n_systems, replicates))
    noise[:] = run_noise(runs, replicates=replicates, seed=seed)
    resample_measure = delayed(_resample_measure)
    by_measure = zip(values, p, mid_p, scales, noise, strict=True)
    tasks = (
        resample_measure(
            scores,
            observed=observed,
            observed_mid=observed_mid,
            pairs=pairs,
            scale=scale,
            groups=groups,
            sets=sets,
            blocks=blocks,
            weights=weights,
            shifts=shifts,
            draws=draws,
        )
        for scores, observed, observed_mid, scale, shifts in by_measure
    )
    with single_threaded("blas"):
        samples = run_in_threads(tasks, n_jobs=n_jobs)
    powers = np.array([sample.powers for sample in samples])
    mid_powers = np.array([sample.mid_powers for sample in samples])
    crossed = np.array([sample.crossed for sample in samples])
    n_significant = np.array([sample.n_significant for sample in samples])
    curve_low = np.array([sample.curve_low for sample in samples])
    curve_high = np.array([sample.curve_high for sample in samples])
    return PowerSamples(
        powers=powers,
        mid_powers=mid_powers,
        crossed=crossed,
        n_significant=n_significant,
        draws=draws,
        curve_low=curve_low,
        curve_high=curve_high,
    )


def _resample_measure(
    values: Floats,
    *,
    observed: Floats,
    observed_mid: Floats,
    pairs: Pairs,
    scale: int | None,
    groups: Floats,
    sets: Masks,
    blocks: Numbers,
    weights: Floats,
    shifts: Floats,
    draws: Draws,
) -> PowerSamples:
    """Compute discriminative power of one measure for resampled users.

    Scores are of shape (n_systems, n_users), p-values and mid-p-values as observed of (n_pairs,),
    weights of groups of pairs of (n_groups, n_pairs), marks of sets of (n_sets, n_pairs), numbers
    of the users' blocks of (n_users,), weights of blocks of (n_blocks, n_replicates), shifts of the
    systems' means of (n_systems, n_replicates). ``scale``: factor that makes scores integers, None
    to look for it among usual ones; without one, there is no continuity correction. ``draws`` are
    those of the result. A mid-p-value
    below .05 is significant; sums over groups are those of the first 20 replicates (`N_CROSSED`).
    Arrays of the result have no axis of measures. Powers are scaled so that their
    mean is the sum of the observed p-values, or mid-p-values; the sums over groups are not.
    """
    n_users = values.shape[1]
    lattice_scale = scale or find_scale(values)
    unit = 1 / lattice_scale if lattice_scale else 0.0
    # Users of a block are put together; scores become whole numbers, times 2^power.
    order = np.argsort(blocks, kind="stable")
    power = _grid_power(values)
    scaled = np.ldexp(values[:, order], power)
    grid = np.rint(scaled)
    scaled_unit = float(np.ldexp(unit, power))
    scaled_shifts = np.ldexp(shifts * n_users, power)
    block_numbers = np.arange(len(weights))
    starts = np.searchsorted(blocks[order], block_numbers)
    p, mid_p = _normal_p(
        grid, pairs, unit=scaled_unit, starts=starts, weights=weights, shifts=scaled_shifts
    )
    powers = _scaled_to_mean(p.sum(axis=0), observed.sum())
    mid_powers = _scaled_to_mean(mid_p.sum(axis=0), observed_mid.sum())
    crossed = mid_p[:, :N_CROSSED].T @ groups.T
    is_significant = (mid_p < LEVEL).astype(np.float32)
    n_significant = sets.astype(np.float32) @ is_significant
    # The band needs room for copies of p.
    del mid_p
    # The band is of the p-values in falling order, not of each pair.
    p.sort(axis=0)
    falling_p = p[::-1]
    falling_observed = -np.sort(-observed)
    low, high = normal_limits(falling_observed, falling_p, bounds=(0.0, 1.0))
    return PowerSamples(
        powers=powers,
        mid_powers=mid_powers,
        crossed=crossed,
        n_significant=n_significant.astype(np.float64),
        draws=draws,
        curve_low=low,
        curve_high=high,
    )


def _scaled_to_mean(powers: Floats, mean: float) -> Floats:
    """Multiply positive numbers, (n_replicates,), by one factor so that they have this mean."""
    return powers * (mean / max(powers.mean(), SMALLEST_RATIO))


def _grid_power(values: Floats) -> int:
    """Find the exponent by which scores, (n_systems, n_users), times 2^exponent are rounded.

    Rounded to whole numbers, scores are as large as they may be for sums over users of squared
    differences to be exact in float64.
    """
    n_users = values.shape[1]
    user_bits = int(np.ceil(np.log2(n_users)))
    # Float64 has 53 bits: a difference has one more than a score, and its square twice as many.
    score_bits = (51 - user_bits) // 2
    highest = np.abs(values).max(initial=0.0)
    _, exponent = np.frexp(highest)
    return score_bits - int(exponent)


def _normal_p(
    grid: Floats, pairs: Pairs, *, unit: float, starts: Numbers, weights: Floats, shifts: Floats
) -> tuple[Floats, Floats]:
    """Approximate p-values and mid-p-values of weighted users: each (n_pairs, n_replicates).

    ``grid``: scores of shape (n_systems, n_users); the users of a block lie together, from its
    start on, of shape (n_blocks,). ``unit``: the continuity correction. Weights are those of the
    blocks, of shape (n_blocks, n_replicates); shifts are added to the totals of the systems,
    (n_systems, n_replicates). p is 2 Phi(-z), with z the absolute weighted sum of differences, less
    the correction, over the root of the weighted sum of their squares; 1 for a sum of 0 (at most
    the correction). The mid-p-value is the mean of p and of the same with the correction added in
    place of taken off; 1/2 where no user differs.
    """
    from scipy.special import erfc

    totals_of_blocks = np.add.reduceat(grid, starts, axis=1)
    totals = totals_of_blocks @ weights + shifts
    squares = _squared_differences(grid, pairs, starts)
    all_first, all_second = pairs
    n_pairs = len(squares)
    n_replicates = weights.shape[1]
    p = np.empty((n_pairs, n_replicates))
    mid_p = np.empty((n_pairs, n_replicates))
    at_once = max(1, NUMBERS_AT_ONCE // n_replicates)
    for start in range(0, n_pairs, at_once):
        rows = slice(start, start + at_once)
        first = all_first[rows]
        second = all_second[rows]
        variances = squares[rows] @ weights
        differences = totals[first] - totals[second]
        sizes = np.abs(differences, out=differences)
        # 2 Phi(-z) is erfc(z / sqrt 2); a difference of 0 has z = 0, and p = 1.
        scaled_deviations = np.sqrt(2 * variances)
        nearer = np.maximum(sizes - unit, 0.0)
        z = np.divide(nearer, scaled_deviations, out=nearer, where=variances > 0)
        erfc(z, out=p[rows])
        mid_rows = mid_p[rows]
        mid_rows[:] = p[rows]
        if unit > 0:
            sizes += unit
            farther_z = np.divide(sizes, scaled_deviations, out=sizes, where=variances > 0)
            mid_rows += erfc(farther_z, out=farther_z)
            mid_rows /= 2
        mid_rows[variances == 0] = 0.5
    return p, mid_p


def _squared_differences(grid: Floats, pairs: Pairs, starts: Numbers) -> Floats:
    """Sum the squared differences of all pairs over blocks of users: (n_pairs, n_blocks).

    From whole-number scores of shape (n_systems, n_users), whose products are exact; the users of a
    block lie together, from its start on, of shape (n_blocks,).
    """
    n_systems, n_users = grid.shape
    n_blocks = len(starts)
    # Blocks are padded with users of score 0 to one length, so that one product serves them all.
    block_sizes = np.diff(starts, append=n_users)
    blocks = np.repeat(np.arange(n_blocks), block_sizes)
    places = np.arange(n_users) - starts[blocks]
    # Blocks of equal length: missing users have scores of 0, which add nothing.
    padded = np.zeros((n_blocks, n_systems, block_sizes.max()))
    padded[blocks, :, places] = grid.T
    first, second = pairs
    squares = np.empty((len(first), n_blocks))
    at_once = max(1, NUMBERS_AT_ONCE // n_systems**2)
    for start in range(0, n_blocks, at_once):
        block_slice = slice(start, start + at_once)
        scores = padded[block_slice]
        products_by_block = scores @ scores.swapaxes(1, 2)
        products = products_by_block.transpose(1, 2, 0)
        first_squares = products[first, first]
        second_squares = products[second, second]
        cross_products = products[first, second]
        # (a - b)^2 = a^2 + b^2 - 2ab
        squares[:, block_slice] = first_squares + second_squares - 2 * cross_products
    return squares
