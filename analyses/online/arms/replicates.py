"""Replicates of an experiment: its users and periods drawn anew, and what its arms had then."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.parts import ranges
from runs.shared.streams import random_uniforms

Floats = NDArray[np.float64]

# A weight above 18 has a chance below 2^-53, which no uniform number has.
AT_MOST: Final = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(19)])
"""Chance that a weight is at most 0, 1, 2, ..."""

USERS_AT_ONCE: Final = 4096
"""Added up in single precision; sums of them are added up in double."""

WEIGHTS_AT_ONCE: Final = 1 << 25
"""Users times replicates held at a time: 128 MB, and 256 MB more while they are drawn."""


def draw_periods(n_periods: int, *, replicates: int, seed: int) -> NDArray[np.int64]:
    """Draw as many periods as there are, with replacement: how often each, by replicate.

    Examples
    --------
    >>> draw_periods(3, replicates=2, seed=1).sum(axis=0).tolist()
    [3, 3]
    """
    counts = np.empty((n_periods, replicates), dtype=np.int64)
    for replicate in range(replicates):
        luck = random_uniforms(np.arange(n_periods), seed, "periods", replicate)
        drawn = np.minimum((luck * n_periods).astype(np.int64), n_periods - 1)
        counts[:, replicate] = np.bincount(drawn, minlength=n_periods)
    return counts


def poisson_weights(user: NDArray[np.integer], *, replicate: int, seed: int) -> Floats:
    """Draw how often each user occurs in a replicate, from the Poisson distribution of mean 1.

    A weight depends on the seed, the replicate and the number of the user alone: whoever holds some
    of the users, of whichever arm or analysis, draws the same for them.

    Returns
    -------
    Whole numbers, of shape (n,).

    References
    ----------
    Chamandy, Muralidharan, Najmi & Naidu (2012), Estimating uncertainty for massive data streams.

    Examples
    --------
    >>> whole = poisson_weights(np.arange(9), replicate=0, seed=1)
    >>> bool((poisson_weights(np.array([7, 3]), replicate=0, seed=1) == whole[[7, 3]]).all())
    True
    """
    uniforms = random_uniforms(user, seed, "poisson bootstrap", replicate)
    return np.searchsorted(AT_MOST, uniforms, side="right").astype(np.float64)


def replicate_means(
    numerators: NDArray[np.float32],
    denominators: NDArray[np.floating],
    *,
    weigh: Callable[[int], Floats],
    replicates: int,
) -> Floats:
    r"""Compute a model's measures again for resampled users.

    .. math:: \hat m_{bp} = \sum_u w_{bu} x_{up} \Big/ \sum_u w_{bu} d_{up}

    Uniform weights have :math:`x = R_u, d = 1`, stratified ones :math:`x = D_u R_u, d = D_u`.

    Numerators are of shape (n_users, n_measures), denominators of shape (n_users, n), where
    n_measures / n measures that lie side by side share a column. What weighs the users of a
    replicate should depend on the user and the replicate alone, as keyed random numbers do: then a
    user has one weight in all measures, models and rates. Given are means of shape (replicates,
    n_measures), with an error of 1e-6 of the value; NaN where no user is drawn.
    """
    n_users, n_measures = numerators.shape
    means = np.empty((replicates, n_measures))
    for start, stop in ranges(replicates, max(1, WEIGHTS_AT_ONCE // max(1, n_users))):
        weights = np.stack([weigh(number) for number in range(start, stop)]).astype(np.float32)
        sums = _weighted_sums(weights, numerators)
        totals = _weighted_sums(weights, denominators.astype(np.float32, copy=False))
        totals = totals.repeat(n_measures // denominators.shape[1], axis=1)
        drawn = totals > 0
        means[start:stop] = np.divide(sums, totals, out=np.full(sums.shape, np.nan), where=drawn)
    return means


def _weighted_sums(weights: NDArray[np.float32], values: NDArray[np.float32]) -> Floats:
    """Add up blocks of users in double precision, so that errors do not grow with their number."""
    sums = np.zeros((len(weights), values.shape[1]))
    for start, stop in ranges(len(values), USERS_AT_ONCE):
        sums += weights[:, start:stop] @ values[start:stop]
    return sums
