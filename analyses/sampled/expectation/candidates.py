"""Rounded numbers of candidates that users share, where each their own would be too many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STEP = 1.02
"""Users whose numbers of candidates differ by less than this factor share a rounded one."""


def in_steps(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Round to powers of the step.

    Examples
    --------
    >>> in_steps(np.array([1000, 1001, 1030])).round(1)
    array([1003.4, 1003.4, 1023.4])
    """
    rounded: NDArray[np.float64] = STEP ** np.rint(np.log(sizes) / np.log(STEP))
    return rounded


def nearest_size(sizes: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
    """Find the rounded size of each number wanted, or the one that differs by the least factor.

    Parameters
    ----------
    sizes
        Rounded numbers, rising: (n_sizes,).
    wanted
        Numbers of candidates, from 1.

    Returns
    -------
    Positions among the sizes, as many as are wanted.

    Examples
    --------
    >>> nearest_size(np.array([1003, 1023]), np.array([1001, 5000, 2]))
    array([0, 1, 0])
    """
    if len(sizes) == 1:
        return np.zeros(len(wanted), dtype=np.intp)
    middles = np.sqrt(sizes[1:] * sizes[:-1])
    return np.searchsorted(middles, np.rint(in_steps(wanted)))
