"""Resampling users: the bootstrap that every interval of the analyses comes from.

All measures, pairs and curves see the same resampled users, so that differences between them are
paired. Draws are raw words that a replicate owns, and weighted sums are exact: intervals
depend neither on the number of workers nor on BLAS.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.draws import RESAMPLING, below, random_halves
from analyses.intervals.parts import ranges
from analyses.shared.exact_sums import grid_exponents, to_grid
from analyses.shared.spreads import CONFIDENCE as CONFIDENCE
from runs.shared.streams import random_words

WEIGHTS_AT_ONCE = 1 << 22
"""Users times replicates held at a time: 32 MB, and twice that while they are drawn."""


def draw_weights(
    n_users: int, *, replicates: int, seed: int, block: int | None = None
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Draw users, or what else is resampled, with replacement, as many as there are.

    A replicate depends on the seed, its number and n_users alone.

    Yields
    ------
    Some replicates at a time, a block if that is given, and how often each user is drawn in them:
    float64 of shape (n_replicates, n_users). Every row adds up to n_users.

    References
    ----------
    Efron & Tibshirani (1993), An introduction to the bootstrap.

    Examples
    --------
    >>> ((some, weights),) = draw_weights(5, replicates=3, seed=1)
    >>> some, weights.sum(axis=1)
    (slice(0, 3, None), array([5., 5., 5.]))
    """
    for start, stop in ranges(replicates, block or max(1, WEIGHTS_AT_ONCE // n_users)):
        yield slice(start, stop), resampled_users(start, stop, n_users=n_users, seed=seed)


def resampled_users(
    start: int, stop: int, *, n_users: int, seed: int, purpose: int = RESAMPLING
) -> NDArray[np.float64]:
    """Count how often each user is drawn in the replicates ``start`` to ``stop``.

    What is not users but resampled like them has a purpose of its own (see
    `analyses.intervals.draws`).

    Returns
    -------
    Whole numbers as float64, of shape (stop - start, n_users); every row adds up to n_users.

    Examples
    --------
    >>> resampled_users(0, 2, n_users=5, seed=1).sum(axis=1)
    array([5., 5.])
    """
    halves = random_halves(start, stop, n_halves=n_users, seed=seed, purpose=purpose)
    cells = below(halves, n_users) + n_users * np.arange(stop - start)[:, np.newaxis]
    counts = np.bincount(cells.ravel(), minlength=cells.size)
    return counts.reshape(cells.shape).astype(np.float64)


def resample_means(
    values: NDArray[np.float64], *, replicates: int, seed: int
) -> NDArray[np.float64]:
    """Give the means over resampled users of values of shape (..., n_users).

    Returns
    -------
    Means, of shape (..., replicates). Values are rounded to a grid (see `to_grid`) on which sums
    are exact: an error of less than n_users 2^-52 of the largest value.

    Examples
    --------
    What all users share needs no sampling:

    >>> resample_means(np.array([[2.0, 2.0, 2.0]]), replicates=2, seed=1)
    array([[2., 2.]])
    """
    rows = values.reshape(-1, values.shape[-1])
    # Weighted sums, whose weights add up to n_users, fit the grid as plain sums do.
    grid, exponents = to_grid(rows[None])[0], grid_exponents(rows[None])[0]
    draws = draw_weights(rows.shape[1], replicates=replicates, seed=seed)
    sums = np.concatenate([grid @ weights.T for _, weights in draws], axis=1)
    means = np.ldexp(sums, exponents) / rows.shape[1]
    return means.reshape(*values.shape[:-1], replicates)


def random_blocks(n_users: int, *, n_blocks: int, seed: int) -> NDArray[np.intp]:
    """Put users into random blocks of (almost) equal size, to be resampled as wholes.

    Returns
    -------
    The block of each user, of shape (n_users,): numbers below min(n_blocks, n_users).

    Examples
    --------
    >>> np.bincount(random_blocks(7, n_blocks=3, seed=1))
    array([3, 2, 2])
    """
    order = np.argsort(random_words(n_users, seed, "blocks", n_users), kind="stable")
    blocks = np.empty(n_users, dtype=np.intp)
    blocks[order] = np.arange(n_users) % min(n_blocks, n_users)
    return blocks


def interval(
    observed: NDArray[np.float64],
    replicates: NDArray[np.float64],
    *,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Give a symmetric percentile interval about what was observed.

    Resampling adds noise, and noise makes orderings less alike: the replicates of a coefficient
    lie to one side of it, and so do their percentiles. With the 2.5th and the 97.5th, l and h,

    .. math:: \hat\theta \pm \max(\hat\theta - l,\, h - \hat\theta)

    holds both the percentile interval and its reflection about the observed value.

    What was observed is of shape (...), replicates of (..., n_replicates). Undefined ones (NaN) are
    left out; without a defined one the interval is NaN. It ends at the limits, the lowest and the
    highest value there is.

    References
    ----------
    Hall (1988), On symmetric bootstrap confidence intervals; Efron & Tibshirani (1993).

    Examples
    --------
    >>> low, high = interval(np.array(0.9), np.array([0.7, 0.8, 0.9]), limits=(-1, 1))
    >>> round(float(low), 3), round(float(high), 3)
    (0.705, 1.0)
    """
    low, high = percentiles(replicates)
    reach = np.maximum(observed - low, high - observed)
    return np.clip(observed - reach, *limits), np.clip(observed + reach, *limits)


def percentiles(
    replicates: NDArray[np.float64], *, confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the limits of the middle part along the last axis, 95 % by default.

    Examples
    --------
    >>> [round(float(limit), 9) for limit in percentiles(np.arange(101.0), confidence=0.9)]
    [5.0, 95.0]
    """
    tail = (1 - confidence) / 2
    undefined = np.asarray(np.isnan(replicates).all(axis=-1))
    filled = np.where(undefined[..., None], 0.0, replicates)
    # numpy looks for NaN row by row, in Python.
    quantile = np.nanquantile if np.isnan(filled).any() else np.quantile
    low, high = quantile(filled, [tail, 1 - tail], axis=-1)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)
