"""Runs of equal values in an array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def place_in_group(groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number the members of each run of equal values from 1.

    Examples
    --------
    >>> place_in_group(np.array([4, 4, 7, 7, 7])).tolist()
    [1, 2, 1, 2, 3]
    """
    rows = np.arange(len(groups))
    is_first = np.ones(len(groups), dtype=bool)
    is_first[1:] = groups[1:] != groups[:-1]
    return rows - np.maximum.accumulate(np.where(is_first, rows, 0)) + 1
