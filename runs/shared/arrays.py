"""Types of arrays, named for what they hold, and means in trec_eval's order of addition."""

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
"""Whether each element is chosen."""

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


DEEPEST_RANK = 10_000_000
"""Deepest cut-off and ranking that may be asked for: weights of so many ranks take 80 MB."""

COLUMNS_AT_ONCE = 256
"""Number of columns that are added up together."""


def mean_in_order(values: Floats) -> Floats:
    """Average values along the last axis, adding one after the other from the first to the last.

    trec_eval adds the scores of topics so, by rising id. numpy's ``mean`` adds in pairs: the sums
    differ in their last bits, and then a mean whose fifth decimal is a 5 is rounded otherwise.

    Parameters
    ----------
    values
        Scores of topics or users, of shape (..., n_users), by rising id.

    Returns
    -------
    Means of shape (...).

    Examples
    --------
    >>> mean_in_order(np.array([[1.0, 1e16, -1e16], [1e16, -1e16, 1.0]])).tolist()
    [0.0, 0.3333333333333333]
    """
    totals = np.zeros(values.shape[:-1])
    for first in range(0, values.shape[-1], COLUMNS_AT_ONCE):
        block = values[..., first : first + COLUMNS_AT_ONCE].astype(np.float64)
        block[..., 0] += totals
        running_totals = np.cumsum(block, axis=-1)
        totals = running_totals[..., -1]
    return np.asarray(totals / values.shape[-1])
