"""Confidence intervals of mean differences, for all pairs of systems."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from analyses.intervals.resampling import draw_weights
from analyses.shared.measure import to_grid
from analyses.significance.paired.user_differences import pair_means_and_deviations, step_of_grid
from analyses.significance.permutation.pairs import pair_indices

Limits = tuple[NDArray[np.float64], NDArray[np.float64]]
# Measures are done together while their replicates are so many.
MOST_VALUES = 1 << 23


def t_intervals(scores: NDArray[np.float64], *, level: float) -> Limits:
    r"""Give :math:`\bar d \pm t_{n-1}\, s_d / \sqrt n`, with n the number of users.

    Scores are of shape (n_measures, n_systems, n_users).

    Returns
    -------
    Lower and upper limits of shape (n_measures, n_pairs); NaN for a single user.
    """
    means, deviations = pair_means_and_deviations(scores)
    return t_limits(means, deviations, n_users=scores.shape[2], level=level)


def t_limits(
    means: NDArray[np.float64], deviations: NDArray[np.float64], *, n_users: int, level: float
) -> Limits:
    """Give the limits of `t_intervals` from means and standard deviations of any shape."""
    quantile = stdtrit(n_users - 1, (1 + level) / 2) if n_users > 1 else np.nan
    reaches = quantile / np.sqrt(n_users) * deviations
    return means - reaches, means + reaches


def bootstrap_intervals(
    scores: NDArray[np.float64], *, level: float, replicates: int, seed: int
) -> Limits:
    """Give percentiles of the mean difference over samples of the users with replacement.

    The samples are those of :func:`analyses.significance.paired.sakai_test` with this seed. Their
    sums are exact, on the grid of :func:`to_grid`, and do not depend on how they are computed.

    Scores are of shape (n_measures, n_systems, n_users).

    Returns
    -------
    Lower and upper limits of shape (n_measures, n_pairs).

    References
    ----------
    Efron & Tibshirani (1993), An introduction to the bootstrap, section 13.3.
    """
    n_measures, n_systems, _ = scores.shape
    step = max(1, MOST_VALUES // (n_systems**2 * replicates))
    parts = [
        _percentiles(scores[start : start + step], level=level, replicates=replicates, seed=seed)
        for start in range(0, n_measures, step)
    ]
    lower, upper = np.concatenate(parts, axis=1)
    return lower, upper


def _percentiles(
    scores: NDArray[np.float64], *, level: float, replicates: int, seed: int
) -> NDArray[np.float64]:
    """Give both limits, of shape (2, n_measures, n_pairs)."""
    n_measures, n_systems, n_users = scores.shape
    first, second = pair_indices(n_systems)
    rows = to_grid(scores).reshape(-1, n_users)
    sums = np.empty((n_measures, n_systems, replicates))
    for part, counts in draw_weights(n_users, replicates=replicates, seed=seed):
        sums[:, :, part] = (rows @ counts.T).reshape(n_measures, n_systems, -1)
    tails = [(1 - level) / 2, (1 + level) / 2]
    steps = np.quantile(sums[:, first] - sums[:, second], tails, axis=2) / n_users
    return steps * step_of_grid(scores)
