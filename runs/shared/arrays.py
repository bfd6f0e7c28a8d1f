"""Arrays by what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats: TypeAlias = NDArray[np.float64]
"""Scores, coefficients, times: double precision."""

Singles: TypeAlias = NDArray[np.float32]
"""Single precision, where loops are to be fast."""

Masks: TypeAlias = NDArray[np.bool_]
"""What is chosen."""

Numbers: TypeAlias = NDArray[np.intp]
"""Counts, and numbers of rows, items, users, from 0."""

Ints: TypeAlias = NDArray[np.int32]
"""Numbers of users and items, and grades."""

Longs: TypeAlias = NDArray[np.int64]
"""Times, ranks, and places in long columns."""

Integers: TypeAlias = NDArray[np.integer]
"""Whole numbers of any kind."""

Sparse: TypeAlias = "csr_array[Any]"
"""A sparse matrix by rows."""
