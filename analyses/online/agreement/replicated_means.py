"""A model's measures again for resampled users: one product of matrices, in blocks of users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.parts import ranges
from runs import InputError

Floats = NDArray[np.float64]

USERS_AT_ONCE: Final = 4096
"""Added up in single precision; sums of them are added up in double."""

WEIGHTS_AT_ONCE: Final = 1 << 25
"""Users times replicates held at a time: 128 MB, and 256 MB more while they are drawn."""


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
    n_denominators = denominators.shape[1]
    if len(denominators) != n_users or not n_denominators or n_measures % n_denominators:
        raise InputError(
            f"denominators of shape {denominators.shape} do not fit numerators of shape "
            f"{numerators.shape}."
        )
    means = np.empty((replicates, n_measures))
    for start, stop in ranges(replicates, max(1, WEIGHTS_AT_ONCE // max(1, n_users))):
        weights = np.stack([weigh(number) for number in range(start, stop)]).astype(np.float32)
        sums = _weighted_sums(weights, numerators)
        totals = _weighted_sums(weights, denominators.astype(np.float32, copy=False))
        totals = totals.repeat(n_measures // n_denominators, axis=1)
        drawn = totals > 0
        means[start:stop] = np.divide(sums, totals, out=np.full(sums.shape, np.nan), where=drawn)
    return means


def _weighted_sums(weights: NDArray[np.float32], values: NDArray[np.float32]) -> Floats:
    """Add up blocks of users in double precision, so that errors do not grow with their number."""
    sums = np.zeros((len(weights), values.shape[1]))
    for start, stop in ranges(len(values), USERS_AT_ONCE):
        sums += weights[:, start:stop] @ values[start:stop]
    return sums
