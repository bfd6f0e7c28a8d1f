"""Rows of tables: a name, and the numbers of an array beside it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from analyses.shared.table import Cell


def named_rows(names: Iterable[str], values: NDArray[np.float64]) -> list[list[Cell]]:
    """Put a name before all numbers of each element of the first axis.

    Examples
    --------
    >>> named_rows(["a", "b"], np.array([[[1.0], [2.0]], [[3.0], [4.0]]]))
    [['a', 1.0, 2.0], ['b', 3.0, 4.0]]
    """
    return [[name, *row.ravel().tolist()] for name, row in zip(names, values, strict=True)]
