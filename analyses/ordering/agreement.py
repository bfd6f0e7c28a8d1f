"""How exactly scores of systems are compared, and means of agreements where they are defined."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runs.shared.arrays import Floats

DECIMALS = 12
"""System scores are rounded to this many decimals, so that equal systems tie."""


def ratio_or_nan(numerator: ArrayLike, denominator: NDArray[np.number]) -> Floats:
    """Divide arrays, whose shapes broadcast; NaN where the denominator is not above 0.

    A numerator that is NaN gives NaN. The result has the common shape.
    """
    shape = np.broadcast_shapes(np.shape(numerator), denominator.shape)
    undefined = np.full(shape, np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)


def mean_of_defined(values: Floats, weights: ArrayLike = 1.0) -> Floats:
    """Average along the last axis what is not NaN: (..., n) to (...); NaN where nothing is left.

    The result is the sum of weights times values over the sum of the weights of what is not NaN;
    NaN also where these weights add up to 0 or less. ``weights`` broadcast to the shape of the
    values.
    """
    is_defined = ~np.isnan(values)
    defined_values = np.where(is_defined, values, 0.0)
    total = (defined_values * weights).sum(axis=-1)
    total_weight = (is_defined * weights).sum(axis=-1)
    return ratio_or_nan(total, total_weight)


def deviation_of_defined(values: Floats) -> Floats:
    """Compute the standard deviation along the last axis of what is not NaN: (..., n) to (...).

    It divides by the number of values less 1; NaN of fewer than two.
    """
    is_defined = ~np.isnan(values)
    n_defined = is_defined.sum(axis=-1)
    means = mean_of_defined(values)
    deviations = np.where(is_defined, values - means[..., np.newaxis], 0.0)
    sums_of_squares = (deviations**2).sum(axis=-1)
    # Equal values have a mean that may be rounded: their deviation is set to exactly 0.
    highest = np.fmax.reduce(values, axis=-1)
    lowest = np.fmin.reduce(values, axis=-1)
    is_constant = highest == lowest
    sums_of_squares = np.where(is_constant, 0.0, sums_of_squares)
    return np.sqrt(ratio_or_nan(sums_of_squares, n_defined - 1))
