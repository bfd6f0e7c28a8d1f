"""Scores on a grid where float64 adds exactly, so that no sum depends on its order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def to_grid(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round each measure's scores to whole numbers of its grid, whose sums float64 holds.

    The grid 2^k has n_users max|x| 2^-k < 2^51, so that every partial sum, and every difference
    of two, is a whole number below 2^53.

    Examples
    --------
    >>> to_grid(np.array([[[1.0, 0.5]]])) / 2**49
    array([[[1. , 0.5]]])
    """
    return np.rint(np.ldexp(scores, -grid_exponents(scores)))


def grid_exponents(scores: NDArray[np.float64]) -> NDArray[np.intc]:
    """Give the k of each measure's grid 2^k, of shape (n_measures, 1, 1)."""
    largest = np.abs(scores).max(axis=(1, 2), keepdims=True, initial=0.0)
    return exponents_of(largest, scores.shape[2])


def exponents_of(largest: NDArray[np.float64], count: int) -> NDArray[np.intc]:
    """Give the k of the grid 2^k for sums of so many numbers that are no larger, likewise."""
    return np.frexp(largest * count)[1] - 51
