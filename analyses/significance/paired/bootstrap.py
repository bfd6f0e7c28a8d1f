"""Sakai's bootstrap test."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.intervals.resampling import draw_weights
from analyses.shared.measure import to_grid
from analyses.significance.permutation.pairs import pair_indices
from runs.shared.parallel import single_threaded

# Measures are done together while their differences, or their replicates, are so many.
MOST_VALUES = 1 << 23
# Differences of two gridded scores that can be rounding alone, in steps of the grid.
NOISE = 2.0
BLOCK = 512
TIE = 1e-9


def sakai_test(
    scores: NDArray[np.float64], *, replicates: int, seed: int, n_jobs: int = 1, block: int = BLOCK
) -> NDArray[np.float64]:
    r"""Test all pairs of systems by the bootstrapped distribution of Student's t.

    Differences d are centred, :math:`w = d - \bar d`, so that the null hypothesis (the mean
    difference is 0 in the population of users) holds for them; B samples of n users are drawn
    with replacement, the same for all pairs and measures, and

    .. math:: \mathrm{ASL} = \frac{1 + \#\{b : |t(w^{*b})| \ge |t(d)|\}}{B + 1}, \qquad
              t(z) = \frac{\bar z}{s_z / \sqrt n} .

    The test is approximate. Sakai divides the count by B, which may give 0.

    Scores, and the squares of each pair's centred differences, are rounded to grids on which
    every sum of a sample is exact in float64: the result does not depend on the BLAS library, the
    number of jobs or the block. A sample's sum of squares is taken from the squares, not from
    products of the systems' scores: both need a row per pair, but the latter cancel where systems
    are alike.

    Returns
    -------
    Achieved significance levels in (0, 1], of shape (n_measures, n_pairs).

    References
    ----------
    Sakai (2006), Evaluating evaluation metrics based on the bootstrap; Efron & Tibshirani (1993),
    An introduction to the bootstrap, section 16.4; +1: Davison & Hinkley (1997), section 4.2.
    """
    n_measures, n_systems, n_users = scores.shape
    n_pairs = len(pair_indices(n_systems)[0])
    step = max(1, MOST_VALUES // (n_pairs * max(n_users, replicates)))
    tasks = (
        delayed(_bootstrap_measures)(
            scores[start : start + step], replicates=replicates, seed=seed, block=block
        )
        for start in range(0, n_measures, step)
    )
    with single_threaded("blas"):
        return np.concatenate(Parallel(n_jobs=n_jobs, prefer="threads")(tasks))


def _bootstrap_measures(
    scores: NDArray[np.float64], *, replicates: int, seed: int, block: int
) -> NDArray[np.float64]:
    means, shifts, squares = _sample(scores, replicates=replicates, seed=seed, block=block)
    observed, centred_squares = means[:, :, np.newaxis], squares[:, :, :1]
    threshold = _squared_t(observed, centred_squares) * (1 - TIE)
    statistics = _squared_t(shifts, np.maximum(squares[:, :, 1:] - shifts**2, 0.0))
    counts = np.count_nonzero(statistics >= threshold, axis=2)
    return np.asarray((counts + 1) / (replicates + 1))


def _sample(
    scores: NDArray[np.float64], *, replicates: int, seed: int, block: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Give what the statistics of every sample need, in steps of the grid.

    Returns
    -------
    Mean differences (n_measures, n_pairs); the mean of w in every sample, (n_measures, n_pairs,
    replicates); the mean of w^2, at first of all users, then of every sample, (n_measures,
    n_pairs, 1 + replicates).
    """
    n_measures, n_systems, n_users = scores.shape
    first, second = pair_indices(n_systems)
    grid = to_grid(scores)
    differences = grid[:, first] - grid[:, second]
    means = _beyond(NOISE / 2, differences.sum(axis=2) / n_users)
    rows, powers = _gridded_squares(differences - means[:, :, np.newaxis])
    shifts = np.empty((n_measures, len(first), replicates))
    squares = np.empty((n_measures, len(first), 1 + replicates))
    squares[:, :, 0] = rows.sum(axis=2)
    for part, counts in draw_weights(n_users, replicates=replicates, seed=seed, block=block):
        sums = (grid.reshape(-1, n_users) @ counts.T).reshape(n_measures, n_systems, -1)
        shifts[:, :, part] = (sums[:, first] - sums[:, second]) / n_users
        products = rows.reshape(-1, n_users) @ counts.T
        squares[:, :, 1:][:, :, part] = products.reshape(n_measures, len(first), -1)
    shifts = _beyond(NOISE, shifts - means[:, :, np.newaxis])
    return means, shifts, np.ldexp(squares, powers) / n_users


def _gridded_squares(centred: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intc]]:
    """Square, and round every row to whole numbers, times a power of two, whose sums are exact."""
    squares = centred**2
    largest = squares.max(axis=2, keepdims=True, initial=0.0)
    powers = np.frexp(largest * squares.shape[2])[1] - 52
    return np.rint(np.ldexp(squares, -powers)), powers


def _beyond(noise: float, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(values) <= noise, 0.0, values)


def _squared_t(means: NDArray[np.float64], variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Square of t but for a constant: 0 where the mean is 0, infinite without variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(means == 0, 0.0, means**2 / variances)
