"""The loop of `recommenders.kernels.neighbourhoods.products`, compiled."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
def add_products(
    left_ends: NDArray[np.integer[Any]],
    left_columns: NDArray[np.integer[Any]],
    left: NDArray[np.float64],
    right_ends: NDArray[np.integer[Any]],
    right_columns: NDArray[np.integer[Any]],
    right: NDArray[np.float64],
    product: NDArray[np.float64],
) -> None:
    """Add the product of two csr matrices to a dense one."""
    for row in range(len(left_ends) - 1):
        for entry in range(left_ends[row], left_ends[row + 1]):
            value, between = left[entry], left_columns[entry]
            for other in range(right_ends[between], right_ends[between + 1]):
                product[row, right_columns[other]] += value * right[other]
