"""How uncertain discriminative power is: what it would be for other users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.intervals.resampling import draw_weights, random_blocks, run_noise
from analyses.shared.estimate import FLOOR, spread_around
from analyses.shared.measure import RunDeviations
from analyses.significance.permutation import find_scale
from runs.shared.parallel import single_threaded

REPLICATES = 400
"""Resamples by default: intervals need a standard deviation, which is then good to 4 %."""

N_BLOCKS = 500
"""Random blocks of users that are resampled as wholes; of fewer users, each is a block.

Sums over blocks are weighted, not users: a tenth of the work for 6,040 users. Standard deviations
are good to 3 %.
"""

NUMBERS_AT_ONCE = 1 << 21
"""Pairs times weightings, and products of systems times blocks, held at a time: 16 MB."""

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class PowerSamples:
    """Discriminative power for resampled users, the same for all measures and pairs.

    Parameters
    ----------
    powers
        Sum of p over the pairs, of shape (n_measures, replicates).
    curve_low, curve_high
        Bands of the p-values in falling order, of shape (n_measures, n_pairs).
    """

    powers: NDArray[np.float64]
    curve_low: NDArray[np.float64]
    curve_high: NDArray[np.float64]


def resample_power(
    values: NDArray[np.float64],
    p: NDArray[np.float64],
    pairs: Pairs,
    *,
    scales: tuple[int | None, ...],
    replicates: int,
    seed: int,
    n_jobs: int = 1,
    runs: RunDeviations | None = None,
) -> PowerSamples:
    r"""Compute discriminative power again for users, and runs, drawn with replacement.

    The p-values of a replicate come from the normal approximation
    :math:`p \approx 2 \Phi(-z)`, :math:`z = (|\sum_u w_u d_u| - c) / \sqrt{\sum_u w_u d_u^2}`, with
    the continuity correction c, one unit, for scores on a lattice. Powers are scaled to be that of
    the users as they are in the mean: resampling adds noise, which makes them larger.
    """
    if replicates < 2:
        unknown = np.full(p.shape, np.nan)
        return PowerSamples(np.empty((len(p), 0)), unknown, unknown)
    blocks = random_blocks(values.shape[2], n_blocks=N_BLOCKS, seed=seed)
    n_blocks = int(blocks.max()) + 1
    drawn = draw_weights(n_blocks, replicates=replicates, seed=seed)
    weights = np.concatenate([some for _, some in drawn]).T
    noise = np.zeros((*values.shape[:2], replicates))
    noise[:] = run_noise(runs, replicates=replicates, seed=seed)
    tasks = (
        delayed(_resample_measure)(scores, observed, pairs, scale, blocks, weights, shifts)
        for scores, observed, scale, shifts in zip(values, p, scales, noise, strict=True)
    )
    with single_threaded("blas"):
        results = Parallel(n_jobs=n_jobs, prefer="threads")(tasks)
    return PowerSamples(*(np.array(column) for column in zip(*results, strict=True)))


def _resample_measure(
    values: NDArray[np.float64],
    observed: NDArray[np.float64],
    pairs: Pairs,
    scale: int | None,
    blocks: NDArray[np.intp],
    weights: NDArray[np.float64],
    shifts: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    found = scale or find_scale(values)
    order = np.argsort(blocks, kind="stable")
    scaled = np.float64(1 / found if found else 0.0), shifts * values.shape[1]
    grid, unit, shifts = _to_grid(values[:, order], *scaled)
    firsts = np.searchsorted(blocks[order], np.arange(len(weights)))
    p = _normal_p(grid, pairs, float(unit), firsts, weights, shifts)
    powers = p.sum(axis=0)
    powers *= observed.sum() / max(powers.mean(), FLOOR)
    p.sort(axis=0)
    low, high = spread_around(-np.sort(-observed), p[::-1], limits=(0.0, 1.0))
    return powers, low, high


def _to_grid(
    values: NDArray[np.float64], *others: NDArray[np.float64] | np.float64
) -> tuple[NDArray[np.float64], ...]:
    """Round scores to whole numbers so small that sums of squared differences are exact.

    Other numbers are given in the same units.
    """
    bits = (51 - int(np.ceil(np.log2(values.shape[1])))) // 2
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    power = bits - int(exponent)
    return np.rint(np.ldexp(values, power)), *(np.ldexp(each, power) for each in others)


def _normal_p(
    grid: NDArray[np.float64],
    pairs: Pairs,
    unit: float,
    firsts: NDArray[np.intp],
    weights: NDArray[np.float64],
    shifts: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Approximate the p-values of weighted users, of shape (n_pairs, n_weightings).

    The users of a block lie together, from the first of each on; weights are those of the blocks,
    of shape (n_blocks, n_weightings). Totals of systems are shifted, (n_systems, n_weightings).
    """
    from scipy.special import erfc

    totals = np.add.reduceat(grid, firsts, axis=1) @ weights + shifts
    squares = _squares(grid, pairs, firsts)
    p = np.empty((len(squares), weights.shape[1]))
    at_once = max(1, NUMBERS_AT_ONCE // weights.shape[1])
    for start in range(0, len(p), at_once):
        rows = slice(start, start + at_once)
        first, second = (side[rows] for side in pairs)
        variances = squares[rows] @ weights
        sizes = np.maximum(np.abs(totals[first] - totals[second]) - unit, 0.0)
        z = np.divide(sizes, np.sqrt(2 * variances), out=sizes, where=variances > 0)
        erfc(z, out=p[rows])
    return p


def _squares(
    grid: NDArray[np.float64], pairs: Pairs, firsts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Sum the squared differences of all pairs over blocks, from products: (n_pairs, n_blocks)."""
    sizes = np.diff(firsts, append=grid.shape[1])
    blocks = np.repeat(np.arange(len(firsts)), sizes)
    users = np.zeros((len(firsts), len(grid), sizes.max()))
    users[blocks, :, np.arange(len(blocks)) - firsts[blocks]] = grid.T
    squares = np.empty((len(pairs[0]), len(firsts)))
    at_once = max(1, NUMBERS_AT_ONCE // len(grid) ** 2)
    for start in range(0, len(firsts), at_once):
        some = users[start : start + at_once]
        products = (some @ some.swapaxes(1, 2)).transpose(1, 2, 0)
        of_first, of_second = (products[side, side] for side in pairs)
        squares[:, start : start + at_once] = of_first + of_second - 2 * products[pairs]
    return squares
