"""Sparse matrices, entry by entry: their pattern, other values in it, and sums of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def pattern(matrix: csr_array[Any]) -> csr_array[Any]:
    """Put 1.0 in place of every entry.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pattern(csr_array([[0.0, 4.5]])).toarray()
    array([[0., 1.]])
    """
    return with_data(matrix, np.ones(matrix.nnz))


def with_data(matrix: csr_array[Any], data: NDArray[np.number]) -> csr_array[Any]:
    """Give a matrix with the entries of this one where they are, and other values."""
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def averages(sums: csr_array[Any], weights: csr_array[Any]) -> csr_array[Any]:
    """Divide sums by the weights that went into them, all above 0.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> averages(csr_array([[0.0, -4.0, 0.0]]), csr_array([[0.0, 2.0, 3.0]])).toarray()
    array([[ 0., -2.,  0.]])
    """
    return sums.multiply(with_data(weights, 1 / weights.data)).tocsr()


def row_of_entry(matrix: csr_array[Any]) -> NDArray[np.intp]:
    """Tell the row of every entry, of shape (nnz,).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> row_of_entry(csr_array([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def row_sums(matrix: csr_array[Any]) -> NDArray[np.float64]:
    """Sum every row, of shape (n_rows,)."""
    return np.asarray(matrix.sum(axis=1), dtype=np.float64)


def row_maxima(matrix: csr_array[Any]) -> NDArray[np.float64]:
    """Give the highest entry of every row, minus infinity where there is none.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> row_maxima(csr_array([[-3.0, -1.0], [0.0, 0.0]]))
    array([ -1., -inf])
    """
    maxima = np.full(matrix.shape[0], -np.inf)
    np.maximum.at(maxima, row_of_entry(matrix), matrix.data)
    return maxima
