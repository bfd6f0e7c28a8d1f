"""How exactly scores of systems are compared, and means of agreements where they are defined."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runs.shared.arrays import Floats

DECIMALS = 12
"""System scores are rounded to this many decimals, so that equal systems tie."""


def ratio_or_nan(above: ArrayLike, below: NDArray[np.number]) -> Floats:
    """Divide; NaN where what is divided by is not above 0. Shapes broadcast."""
    nothing = np.full(np.broadcast_shapes(np.shape(above), below.shape), np.nan)
    return np.divide(above, below, out=nothing, where=below > 0)


def mean_of_defined(values: Floats, weights: ArrayLike = 1.0) -> Floats:
    """Average along the last axis what is not NaN, weighted; NaN where nothing is left."""
    defined = ~np.isnan(values)
    total = (np.where(defined, values, 0.0) * weights).sum(axis=-1)
    return ratio_or_nan(total, (defined * weights).sum(axis=-1))


def deviation_of_defined(values: Floats) -> Floats:
    """Give the standard deviation of the defined values along the last axis; NaN below two."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=-1)
    means = mean_of_defined(values)
    squares = (np.where(defined, values - means[..., None], 0.0) ** 2).sum(axis=-1)
    # Equal values have a mean that may be rounded.
    is_flat = np.fmax.reduce(values, axis=-1) == np.fmin.reduce(values, axis=-1)
    squares = np.where(is_flat, 0.0, squares)
    return np.sqrt(ratio_or_nan(squares, count - 1))
