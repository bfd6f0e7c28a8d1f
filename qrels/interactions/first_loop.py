"""The loop of `qrels.interactions.interactions`, compiled."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
def mark_first(user: NDArray[np.int32], item: NDArray[np.int32], n_items: int) -> NDArray[np.bool_]:
    """Mark the first row of every pair of a user and an item; the rows of a user are together."""
    latest = np.full(n_items, -1, dtype=np.int32)
    first = np.empty(len(user), dtype=np.bool_)
    for row in range(len(user)):
        first[row] = latest[item[row]] != user[row]
        latest[item[row]] = user[row]
    return first
