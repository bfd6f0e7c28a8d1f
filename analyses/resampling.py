"""Resampling users: the bootstrap that every interval of the analyses comes from.

All measures, pairs and curves see the same resampled users, so that differences between them are
paired. Draws are raw words keyed by (seed, replicate), and weighted sums are exact: intervals
depend neither on the number of workers nor on BLAS.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analyses.permutation.monte_carlo import grid_exponents, to_grid
from analyses.streams import random_words

CONFIDENCE = 0.95
"""Level of all intervals."""

WEIGHTS_AT_ONCE = 1 << 22
"""Users times replicates held at a time: 32 MB."""


def draw_weights(n_users: int, *, replicates: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Draw users with replacement, as many as there are, again and again.

    Parameters
    ----------
    n_users
        Number of users, or of what else is resampled.
    replicates
        Number of draws.
    seed
        Replicate b depends on (seed, n_users, b) alone.

    Yields
    ------
    How often each user is drawn, for some replicates at a time: float64 of shape
    (n_replicates, n_users). Every row adds up to n_users.

    References
    ----------
    Efron & Tibshirani (1993), An introduction to the bootstrap.

    Examples
    --------
    >>> weights = np.concatenate(list(draw_weights(5, replicates=3, seed=1)))
    >>> weights.shape, weights.sum(axis=1)
    ((3, 5), array([5., 5., 5.]))
    """
    at_once = max(1, WEIGHTS_AT_ONCE // n_users)
    for first in range(0, replicates, at_once):
        some = range(first, min(first + at_once, replicates))
        yield np.stack([_weigh(n_users, seed, replicate) for replicate in some])


def _weigh(n_users: int, seed: int, replicate: int) -> NDArray[np.float64]:
    words = random_words((n_users + 1) // 2, seed, "bootstrap", n_users, replicate)
    # The high half of a 32-bit word times n is a number below n, fair to 2^-32 n.
    halves = words.astype("<u8", copy=False).view("<u4")[:n_users].astype(np.uint64)
    drawn = (halves * np.uint64(n_users)) >> np.uint64(32)
    return np.bincount(drawn.astype(np.intp), minlength=n_users).astype(np.float64)


def resample_means(
    values: NDArray[np.float64], *, replicates: int, seed: int
) -> NDArray[np.float64]:
    """Give the means over resampled users.

    Parameters
    ----------
    values
        Of shape (..., n_users).
    replicates, seed
        As in `draw_weights`.

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
    sums = np.concatenate([grid @ weights.T for weights in draws], axis=1)
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
    replicates: NDArray[np.float64], *, confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the percentile interval along the last axis.

    Undefined replicates (NaN) are left out; without a defined one the interval is NaN.

    Examples
    --------
    >>> [round(float(limit), 9) for limit in interval(np.arange(101.0), confidence=0.9)]
    [5.0, 95.0]
    """
    tail = (1 - confidence) / 2
    undefined = np.asarray(np.isnan(replicates).all(axis=-1))
    filled = np.where(undefined[..., None], 0.0, replicates)
    low, high = np.nanquantile(filled, [tail, 1 - tail], axis=-1)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)
