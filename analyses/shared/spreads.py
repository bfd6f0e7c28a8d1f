"""Intervals as wide as replicates spread, around what was observed: one, or many at once.

The target is the expectation at this number of users: what was observed is an unbiased estimate of
it, while replicates, in which users vary once as a sample and once more within it, lie to one
side. They tell the width alone.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
"""Level of all intervals."""

REACH = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Standard deviations from the middle of an interval to its ends."""

FLOOR = 1e-16
"""Of what is compared by ratio: smaller values are as good as 0."""


def deviations(replicates: Floats) -> Floats:
    """Give standard deviations along the last axis of what is defined; NaN of fewer than two.

    Examples
    --------
    >>> deviations(np.array([[1.0, 2.0, 3.0, np.nan], [1.0, np.nan, np.nan, np.nan]]))
    array([ 1., nan])
    """
    defined = np.isfinite(replicates)
    n_defined = defined.sum(axis=-1)
    lowest = np.fmin.reduce(replicates, axis=-1, keepdims=True, initial=np.inf)
    # From the lowest, so that what does not vary has a deviation of exactly 0.
    above = np.where(defined, replicates - lowest, 0.0)
    means = above.sum(axis=-1) / np.maximum(n_defined, 1)
    squares = (np.where(defined, above - means[..., None], 0.0) ** 2).sum(axis=-1)
    nothing = np.full(squares.shape, np.nan)
    return np.sqrt(np.divide(squares, n_defined - 1, out=nothing, where=n_defined > 1))


def spread_around(
    estimates: Floats,
    replicates: Floats,
    *,
    reach: float = REACH,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Floats, Floats]:
    """Give the interval of so many standard deviations of the replicates around the estimates.

    Estimates are of shape (...), replicates of (..., n_replicates). NaN from fewer than two
    replicates. It ends at the limits, the lowest and the highest value there is.

    Examples
    --------
    >>> low, high = spread_around(np.array(2.0), np.array([3.0, 5.0, 4.0]))
    >>> round(float(low), 2), round(float(high), 2)
    (0.04, 3.96)
    """
    width = reach * deviations(replicates)
    return np.clip(estimates - width, *limits), np.clip(estimates + width, *limits)


def ratio_around(
    estimates: Floats, replicates: Floats, *, highest: float = np.inf
) -> tuple[Floats, Floats]:
    """Give the same on the scale of logarithms, for what is positive and skewed.

    Examples
    --------
    >>> low, high = ratio_around(np.array(2.0), np.array([1.0, 4.0, 2.0]))
    >>> round(float(low), 2), round(float(high), 2)
    (0.51, 7.78)
    """
    logs = np.log(np.maximum(replicates, FLOOR))
    low, high = spread_around(np.log(np.maximum(estimates, FLOOR)), logs)
    return np.exp(low), np.minimum(np.exp(high), highest)


def joint_reach(replicates: Floats) -> float:
    """Give the standard deviations by which all rows at once hold, with a chance of 95 %.

    The 95th percentile of the largest of the rows' absolute deviations from their means, each in
    its standard deviations (max |t|), and never less than for one row alone.

    Parameters
    ----------
    replicates
        Of shape (n_rows, n_replicates).

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing.

    Examples
    --------
    >>> normal = np.random.default_rng(1).normal(size=(20, 10_000))
    >>> bool(2.9 < joint_reach(normal) < 3.1), round(joint_reach(normal[:1]), 1)
    (True, 2.0)
    """
    width = deviations(replicates)
    some = replicates[width > 0]
    if some.size == 0:
        return REACH
    centred = np.abs(some - np.nanmean(some, axis=1, keepdims=True)) / width[width > 0, None]
    furthest = np.fmax.reduce(centred, axis=0)
    return max(REACH, float(np.nanquantile(furthest, CONFIDENCE)))


def arcsine_around(estimates: Floats, replicates: Floats) -> tuple[Floats, Floats]:
    """Give the same on the scale of arcsines, for what is in [-1, 1] and varies less at its ends.

    Examples
    --------
    >>> low, high = arcsine_around(np.array(0.95), np.array([0.8, 0.9, 0.85]))
    >>> round(float(low), 2), round(float(high), 2)
    (0.87, 0.99)
    """
    return arcsine_limits(estimates, REACH * deviations(np.arcsin(replicates)))


def arcsine_limits(estimates: Floats, widths: Floats) -> tuple[Floats, Floats]:
    """Give the interval whose arcsines are so far from the estimate's, within [-1, 1].

    Examples
    --------
    >>> low, high = arcsine_limits(np.array(0.0), np.array(np.pi / 6))
    >>> round(float(low), 2), round(float(high), 2)
    (-0.5, 0.5)
    """
    low, high = np.arcsin(estimates) - widths, np.arcsin(estimates) + widths
    return np.sin(np.maximum(low, -np.pi / 2)), np.sin(np.minimum(high, np.pi / 2))


def stabilised(estimates: Floats, replicates: Floats) -> Floats:
    """Move replicates in [-1, 1] to the estimates, and let them vary as they would there.

    Arcsines vary alike everywhere; an estimate nearer to an end than a standard deviation is taken
    to be as far from it.

    Examples
    --------
    >>> stabilised(np.array(0.95), np.array([0.8, 0.9, 0.85])).round(2)
    array([0.92, 0.98, 0.95])
    """
    angles = np.arcsin(replicates)
    defined = np.isfinite(angles)
    n_defined = np.maximum(defined.sum(axis=-1), 1)
    means = np.where(defined, angles, 0.0).sum(axis=-1) / n_defined
    from_end = np.maximum(np.pi / 2 - np.abs(np.arcsin(estimates)), deviations(angles))
    slopes = np.sin(np.minimum(from_end, np.pi / 2))
    return np.asarray(estimates[..., None] + slopes[..., None] * (angles - means[..., None]))
