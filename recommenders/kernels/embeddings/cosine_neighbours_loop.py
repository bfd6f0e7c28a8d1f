"""The loops of `recommenders.kernels.embeddings.cosine_neighbours`, compiled."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@numba.njit(nogil=True, cache=True)
def nearest_of_rows(
    rough: Singles, floors: Singles, directions: Floats, first: int, count: int
) -> tuple[NDArray[np.int32], Floats]:
    """Find the items with the highest positive cosines with the items from ``first`` on.

    Rough cosines, of shape (n_rows, n_items), are nearly right; that of a neighbour cannot be below
    the floor of its row. Directions, of shape (n_items, n_factors), have length 1. Given are items
    by falling cosine, -1 at the end, and their cosines, both of shape (n_rows, count).
    """
    n_rows, n_items = rough.shape
    nearest = np.full((n_rows, count), -1, dtype=np.int32)
    cosines = np.zeros((n_rows, count))
    candidates = np.empty(n_items, dtype=np.int32)
    exact = np.empty(n_items)
    for row in range(n_rows):
        own = first + row
        found = 0
        for item in range(n_items):
            if rough[row, item] >= floors[row] and item != own:
                cosine = _product(directions[own], directions[item])
                if cosine > 0:
                    candidates[found], exact[found] = item, cosine
                    found += 1
        # A stable sort leaves equal cosines in the order of their items.
        order = np.argsort(-exact[:found], kind="mergesort")[:count]
        nearest[row, : len(order)] = candidates[order]
        cosines[row, : len(order)] = exact[order]
    return nearest, cosines


@numba.njit(nogil=True, cache=True)
def _product(one: Floats, other: Floats) -> float:
    """Add up products in the order of the factors, so that the sum is always the same."""
    total = 0.0
    for factor in range(len(one)):
        total += one[factor] * other[factor]
    return total
