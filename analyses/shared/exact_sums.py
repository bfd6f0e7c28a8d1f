"""Sums of scores that are exact, so that they do not depend on the order of the users.

Scores are rounded to multiples of a power of two, their grid. It is so coarse that float64 holds
all sums of the multiples without rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Floats


def to_grid(scores: Floats) -> Floats:
    """Round the scores of each measure to multiples of its grid, whose sums float64 holds.

    ``scores`` has the shape (n_measures, n_systems, n_users). The result has the same shape and
    holds whole numbers: score / 2^k, rounded, with the k of `grid_exponents`. As
    n_users max|x| 2^-k < 2^51, every partial sum, and every difference of two sums, is a whole
    number below 2^53.
    """
    multiples = np.ldexp(scores, -grid_exponents(scores))
    return np.rint(multiples, out=multiples)


def grid_exponents(scores: Floats) -> NDArray[np.intc]:
    """Compute the exponent k of the grid 2^k of each measure, of shape (n_measures, 1, 1).

    ``scores`` has the shape (n_measures, n_systems, n_users).
    """
    largest = np.abs(scores).max(axis=(1, 2), keepdims=True, initial=0.0)
    n_users = scores.shape[2]
    return sum_grid_exponents(largest, n_users)


def sums_on_grid(rows: Floats, weights: Floats) -> Floats:
    """Add up rows with whole weights, exactly, after they are rounded to one common grid.

    ``rows`` has the shape (n_rows, n_users), ``weights`` (n_users, n_sums), the result
    (n_rows, n_sums). The weights of a sum, at least 0, must add up to at most n_users, as those of
    a bootstrap sample do: then all sums fit the grid. That is not checked.
    """
    as_one_measure = rows[np.newaxis]
    multiples = to_grid(as_one_measure)[0]
    exponents = grid_exponents(as_one_measure)[0]
    return np.asarray(np.ldexp(multiples @ weights, exponents))


def sum_grid_exponents(largest: Floats, n_terms: int) -> NDArray[np.intc]:
    """Compute the exponent k of the grid 2^k on which sums of ``n_terms`` numbers are exact.

    ``largest`` holds the largest absolute value of the numbers, of any shape; so has the result.
    """
    return np.frexp(largest * n_terms)[1] - 51
