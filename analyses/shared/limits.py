"""Limits of 95 % intervals from replicates: numbers of resampled users, or of other samples."""

from __future__ import annotations

from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from analyses.ordering.agreement import mean_of_defined
from analyses.shared.families import CONFIDENCE
from runs.shared.arrays import Floats

Limits: TypeAlias = tuple[Floats, Floats]
"""The lower and the upper limits of intervals: two arrays of one shape."""

ONE_SIDED_CONFIDENCE = 2 * CONFIDENCE - 1
"""Confidence of a two-sided interval each limit of which, alone, holds with `CONFIDENCE`."""

NORMAL_QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Half-width of a 95 % interval, in standard deviations: 1.96."""

ONE_SIDED_QUANTILE = NormalDist().inv_cdf((1 + ONE_SIDED_CONFIDENCE) / 2)
"""Distance of a single 95 % limit from the estimate, in standard deviations: 1.645."""

TAU_FACTOR = 1.1
"""Standard deviation of taus over samples of users, relative to that over resampled users.

Resampling adds noise to means that have it already, and taus of noisier means vary less: by 5 to
12 % in the simulations of docs/methods/intervals.md.
"""

RANDOM_LOSS_FACTOR = 0.92
"""The same for areas under curves of tau when judgements are lost at random.

A user who is drawn twice loses the same judgements twice.
"""

SMALLEST_RATIO = 1e-16
"""Numbers that are compared by ratio and are smaller than this count as this."""


def standard_deviations(replicates: Floats) -> Floats:
    """Compute standard deviations along the last axis: (..., n_replicates) to (...).

    They divide by the number of values less 1. NaN and infinite values are left out. The result is
    NaN where fewer than two are left.
    """
    is_defined = np.isfinite(replicates)
    n_defined = is_defined.sum(axis=-1)
    lowest = np.fmin.reduce(replicates, axis=-1, keepdims=True, initial=np.inf)
    # From the lowest, so that what does not vary has a deviation of exactly 0.
    above_lowest = np.where(is_defined, replicates - lowest, 0.0)
    means = above_lowest.sum(axis=-1) / np.maximum(n_defined, 1)
    deviations = np.where(is_defined, above_lowest - means[..., np.newaxis], 0.0)
    sums_of_squares = (deviations**2).sum(axis=-1)
    undefined = np.full(sums_of_squares.shape, np.nan)
    variances = np.divide(sums_of_squares, n_defined - 1, out=undefined, where=n_defined > 1)
    return np.sqrt(variances)


def normal_limits(
    estimates: Floats,
    replicates: Floats,
    *,
    quantile: float = NORMAL_QUANTILE,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Limits:
    """Compute intervals around estimates from the standard deviations of their replicates.

    A limit is the estimate less, or plus, so many standard deviations; 95 % by default.

    Parameters
    ----------
    estimates
        Of shape (...).
    replicates
        Of shape (..., n_replicates).
    quantile
        Half-width in standard deviations.
    bounds
        The lowest and the highest value that there is; limits do not go beyond.

    Returns
    -------
    Lower and upper limits, of shape (...); NaN from fewer than two replicates.
    """
    lowest, highest = bounds
    half_widths = quantile * standard_deviations(replicates)
    lower = np.clip(estimates - half_widths, lowest, highest)
    upper = np.clip(estimates + half_widths, lowest, highest)
    return lower, upper


def ratio_limits(estimates: Floats, replicates: Floats, *, highest: float = np.inf) -> Limits:
    """Compute 95 % limits on the scale of logarithms, for positive and skewed numbers.

    They are exponentials of the estimate's logarithm less, or plus, 1.96 standard deviations of the
    logarithms of replicates. Estimates and limits are of shape (...), replicates of (...,
    n_replicates). Upper limits are at most ``highest``.
    Numbers below `SMALLEST_RATIO`, such as 0, count as this. NaN from fewer than two replicates.
    """
    log_estimates = np.log(np.maximum(estimates, SMALLEST_RATIO))
    log_replicates = np.log(np.maximum(replicates, SMALLEST_RATIO))
    low, high = normal_limits(log_estimates, log_replicates)
    return np.exp(low), np.minimum(np.exp(high), highest)


def arcsine_limits(estimates: Floats, replicates: Floats, *, factor: float = TAU_FACTOR) -> Limits:
    """Compute 95 % limits on the scale of arcsines, for estimates in [-1, 1].

    Estimates are of shape (...), replicates, also in [-1, 1], of (..., n_replicates). Limits are
    the arcsine of the estimate less, or plus, 1.96 standard deviations of the replicates' arcsines,
    times ``factor``, and then the sine; of shape (...), in [-1, 1]. NaN where the estimate is, and
    from fewer than two replicates.
    """
    half_widths = NORMAL_QUANTILE * factor * standard_deviations(np.arcsin(replicates))
    angles = np.arcsin(estimates)
    low = np.maximum(angles - half_widths, -np.pi / 2)
    high = np.minimum(angles + half_widths, np.pi / 2)
    return np.sin(low), np.sin(high)


def variance_stabilised(
    estimates: Floats, replicates: Floats, *, factor: float = TAU_FACTOR
) -> Floats:
    """Move replicates in [-1, 1] to the estimates, and let them vary as they would there.

    Estimates are of shape (...); replicates, and the result, of (..., n_replicates). Arcsines
    vary alike everywhere, so that numbers near -1 or 1 vary less. The result is the estimate plus
    the deviation of a replicate's arcsine from their mean, times the slope of the sine at the
    estimate and times ``factor``. An estimate nearer to an end than a standard deviation, in
    arcsines, is taken to be as far from it. The moved replicates may leave [-1, 1]. NaN where the
    estimate or the replicate is, or fewer than two replicates are defined.
    """
    angles = np.arcsin(replicates)
    deviations = standard_deviations(angles)
    distances_from_end = np.pi / 2 - np.abs(np.arcsin(estimates))
    distances_from_end = np.maximum(distances_from_end, deviations)
    slopes = factor * np.sin(np.minimum(distances_from_end, np.pi / 2))
    centred = angles - mean_of_defined(angles)[..., np.newaxis]
    moved = slopes[..., np.newaxis] * centred
    return np.asarray(estimates[..., np.newaxis] + moved)


def joint_quantile(
    replicates: Floats, *, one_sided: bool = False, confidence: float = CONFIDENCE
) -> float:
    """Compute the half-width, in standard deviations, with which all intervals hold at once.

    It is a percentile, by default the 95th, of the largest of the rows' deviations from their
    means, each in its standard deviations (max ``|t|``, or one-sided max t, for lower limits), and
    never less than for one row alone. Of so many replicates, a new one exceeds it with a chance of
    exactly 1 - ``confidence``.

    Parameters
    ----------
    replicates
        Of shape (n_rows, n_replicates): all rows for the same resampled users. Rows that do not
        vary, or have fewer than two defined replicates, are left out.
    one_sided
        Whether only lower limits are to hold at once.
    confidence
        Chance with which all hold.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing.
    """
    single_tail = 1 - confidence if one_sided else (1 - confidence) / 2
    single_quantile = NormalDist().inv_cdf(1 - single_tail)
    deviations = standard_deviations(replicates)
    is_varying = deviations > 0
    varying = replicates[is_varying]
    if varying.size == 0:
        return single_quantile
    means = np.nanmean(varying, axis=1, keepdims=True)
    centred = varying - means
    standardised = centred / deviations[is_varying, np.newaxis]
    if not one_sided:
        standardised = np.abs(standardised)
    # Of each replicate over the rows in which it is defined.
    largest = np.fmax.reduce(standardised, axis=0)
    percentile = np.nanquantile(largest, confidence, method="weibull")
    return max(single_quantile, float(percentile))
