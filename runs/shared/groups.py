"""Columns of whole numbers: one for each row, and runs of equal values in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runs.shared.errors import InputError

Integers = NDArray[np.int64]

HALF_RANKS = "ranks that share ties are half ranks, so settle ties by item, min, max or at random"


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


def whole(numbers: ArrayLike, *, what: str) -> Integers:
    """Read whole numbers.

    Raises
    ------
    InputError
        If one is not whole.

    Examples
    --------
    >>> whole([1.0, 2.0], what="rank")
    array([1, 2])
    """
    values = np.asarray(numbers)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    odd = ~(np.isfinite(values) & (values == np.floor(values)))
    if odd.any():
        raise InputError(
            f"a {what} must be a whole number, got {values.ravel()[odd.argmax()]}: {HALF_RANKS}."
        )
    return values.astype(np.int64)


def spread(numbers: ArrayLike, n_rows: int, *, what: str) -> Integers:
    """Read one whole number for all rows, or one for each.

    Raises
    ------
    InputError
        If there are neither one nor as many as rows.

    Examples
    --------
    >>> spread(9, 2, what="number of negatives")
    array([9, 9])
    """
    values = whole(numbers, what=what)
    if values.shape not in ((), (n_rows,)):
        raise InputError(f"there must be one {what} for all {n_rows} rows, or one for each.")
    return np.broadcast_to(values, (n_rows,)).copy()
