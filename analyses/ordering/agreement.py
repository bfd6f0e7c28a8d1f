"""Agreement of orderings by the further coefficients, for the tables, and means where defined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.ordering.coefficients import COEFFICIENTS

Floats = NDArray[np.float64]

DRAWN = "tau-b"
"""The coefficient of the curves, which alone has bands."""

IN_TABLES = " The tables also have tau_AP and rank-biased overlap."
"""For captions."""


def further_coefficients(estimates: Floats, reference: Floats) -> dict[str, Floats]:
    """Compare orderings by every coefficient but `tau_b`, which says what they are given as.

    Examples
    --------
    >>> further_coefficients(np.array([3.0, 1.0, 2.0]), np.array([3.0, 2.0, 1.0]))["tau-ap"]
    np.float64(0.5)
    """
    return {
        name: one.compare(estimates, reference)
        for name, one in COEFFICIENTS.items()
        if name != DRAWN
    }


def mean_coefficients(estimates: Floats, reference: Floats) -> dict[str, Floats]:
    """Average `further_coefficients` over samples where they are defined, of shape (...).

    Estimates are of shape (..., n_samples, n_systems), the reference of (..., 1, n_systems).
    """
    found = further_coefficients(estimates, reference)
    return {name: mean_of_defined(values) for name, values in found.items()}


def stacked(parts: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """Join what was found at each level: the second axis of every array is that of the levels."""
    return {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}


def mean_of_defined(values: Floats, weights: ArrayLike = 1.0) -> Floats:
    """Average along the last axis what is not NaN, weighted; NaN where nothing is left.

    Examples
    --------
    >>> mean_of_defined(np.array([[1.0, 0.5, np.nan], [np.nan] * 3]))
    array([0.75,  nan])
    """
    defined = ~np.isnan(values)
    total = (np.where(defined, values, 0.0) * weights).sum(axis=-1)
    weight = (defined * weights).sum(axis=-1)
    return np.divide(total, weight, out=np.full(total.shape, np.nan), where=weight > 0)


def deviation_of_defined(values: Floats) -> Floats:
    """Give the standard deviation of the defined values along the last axis; NaN below two."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=-1)
    means = mean_of_defined(values)
    squares = (np.where(defined, values - means[..., None], 0.0) ** 2).sum(axis=-1)
    # Equal values have a mean that may be rounded.
    highest = np.where(defined, values, -np.inf).max(axis=-1)
    lowest = np.where(defined, values, np.inf).min(axis=-1)
    squares = np.where(highest == lowest, 0.0, squares)
    spread = np.divide(squares, count - 1, out=np.full(squares.shape, np.nan), where=count > 1)
    return np.sqrt(spread)
