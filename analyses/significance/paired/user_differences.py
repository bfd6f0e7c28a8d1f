"""Users' differences between systems, a few pairs at a time, free of rounding noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import grid_exponents
from analyses.significance.permutation.exact import ROUNDING
from analyses.significance.permutation.pairs import pair_indices

# So many differences at a time stay in the cache.
BLOCK = 1 << 17
# Differences are told apart by steps of 2^-40 of the scores: about 12 decimals.
STEPS = 40

Value = TypeVar("Value", bound=np.generic)


def for_all_pairs(
    scores: NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], NDArray[Value]],
    *,
    block: int = BLOCK,
) -> NDArray[Value]:
    """Compute a statistic of the users' differences of every pair of systems.

    Memory beyond scores and results is that of a few blocks of differences. Scores are of shape
    (n_measures, n_systems, n_users), with at least two systems; the statistic makes (n_rows, ...)
    of differences (n_rows, n_users), a block of these at a time.

    Returns
    -------
    Statistics of shape (n_measures, n_pairs, ...).
    """
    n_measures, n_systems, n_users = scores.shape
    first, second = pair_indices(n_systems)
    n_tests, n_rows = n_measures * len(first), max(1, block // max(1, n_users))
    parts = []
    for start in range(0, n_tests, n_rows):
        numbers = np.arange(start, min(start + n_rows, n_tests))
        measure, pair = np.divmod(numbers, len(first))
        parts.append(statistic(scores[measure, first[pair]] - scores[measure, second[pair]]))
    results = np.concatenate(parts)
    return results.reshape(n_measures, len(first), *results.shape[1:])


def pair_means_and_deviations(
    scores: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give means and standard deviations of the differences of all pairs, (n_measures, n_pairs)."""
    columns = for_all_pairs(
        normalised(scores), lambda rows: np.stack(means_and_deviations(rows), axis=1)
    )
    powers = exponents(scores)[:, :, 0]
    return np.ldexp(columns[:, :, 0], powers), np.ldexp(columns[:, :, 1], powers)


def normalised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each measure by a power of two, which is exact, to largest scores in [0.5, 1)."""
    return np.ldexp(scores, -exponents(scores))


def exponents(scores: NDArray[np.float64]) -> NDArray[np.intc]:
    """Give the powers of two just above the largest scores, of shape (n_measures, 1, 1)."""
    return np.frexp(np.abs(scores).max(axis=(1, 2), keepdims=True, initial=0.0))[1]


def step_of_grid(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the step of the grid of `to_grid`, of shape (n_measures, 1)."""
    return np.ldexp(1.0, grid_exponents(scores)[:, :, 0])


def in_steps(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round differences of normalised scores, so that equal sizes are equal whole numbers."""
    return np.rint(np.ldexp(differences, STEPS))


def means_and_deviations(
    differences: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation (divisor n - 1) of rows of differences of normalised scores.

    What can be rounding alone, below 2^-48 of the largest score, is 0. Each is of shape (n_rows,);
    the deviation of a single user is NaN.
    """
    n_users = differences.shape[1]
    means = differences.mean(axis=1)
    squares = ((differences - means[:, np.newaxis]) ** 2).sum(axis=1)
    deviations = np.sqrt(squares / (n_users - 1)) if n_users > 1 else np.full(len(means), np.nan)
    return _without_rounding(means), _without_rounding(deviations)


def _without_rounding(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(values) <= ROUNDING, 0.0, values)
