"""Neighbourhoods: for every row of a matrix, the rows most like it, as a sparse graph.

The rows are users; for items, hand in the transposed matrix. Rows go in blocks, so that no
square matrix is ever held; sums run in the order of the columns, so the graph is the same on
every machine and for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recommenders.kernels.products import dense_product
from runs import top_items

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# From the numbers of some rows to their likeness to all rows, -inf for no neighbour.
Likeness: TypeAlias = Callable[[slice], NDArray[np.float64]]

BLOCK_ROWS = 512
BLOCK_BYTES = 64 * 2**20


def nearest(
    likeness: Likeness, *, n_rows: int, count: int, keep_self: bool = False
) -> csr_array[Any]:
    """Keep, of every row, the neighbours it is most like.

    Parameters
    ----------
    likeness
        Gives float64 of shape (rows of the slice, n_rows), a new array.
    n_rows
        Number of rows.
    count
        Neighbours kept of every row (fewer where fewer exist). Equals, in float32, go by
        their number.
    keep_self
        Whether a row may be its own neighbour.

    Returns
    -------
    Graph of shape (n_rows, n_rows): row u holds the likeness to its neighbours.

    Examples
    --------
    >>> table = np.array([[9.0, 1.0, 1.0], [2.0, 9.0, -np.inf], [3.0, 4.0, 9.0]])
    >>> nearest(lambda rows: table[rows].copy(), n_rows=3, count=1).toarray()
    array([[0., 1., 0.],
           [2., 0., 0.],
           [0., 4., 0.]])
    """
    from scipy.sparse import csr_array, vstack

    def graph_of(rows: slice) -> csr_array[Any]:
        values = likeness(rows)
        if not keep_self:
            own = np.arange(rows.start, rows.stop)
            values[own - rows.start, own] = -np.inf
        chosen = top_items(values, depth=min(count, n_rows))
        row, rank = np.nonzero(chosen >= 0)
        column = chosen[row, rank]
        return csr_array((values[row, column], (row, column)), shape=values.shape)

    graph = vstack([graph_of(rows) for rows in row_blocks(n_rows)], format="csr")
    graph.sort_indices()
    return graph


def nearest_by_cosine(
    matrix: csr_array[Any], *, count: int, shrinkage: float = 0.0
) -> csr_array[Any]:
    r"""Find the rows with the highest cosine, positive ones only.

    .. math:: s_{uv} = \frac{r_u \cdot r_v}{\|r_u\| \, \|r_v\|} \cdot \frac{n_{uv}}{n_{uv} + \beta}

    Parameters
    ----------
    matrix
        Ratings, of shape (n_rows, n_columns); what is missing counts as 0.
    count
        Neighbours kept of every row.
    shrinkage
        :math:`\beta`: trust in cosines that rest on few common columns, :math:`n_{uv}` of
        them; 0 trusts all alike.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ratings = csr_array([[3.0, 4.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 1.0]])
    >>> nearest_by_cosine(ratings, count=2).toarray()
    array([[0. , 0.8, 0. ],
           [0.8, 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    transposed = matrix.T.tocsr()
    lengths = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    rated, rated_by = pattern(matrix), pattern(transposed)

    def cosines(rows: slice) -> NDArray[np.float64]:
        products = dense_product(matrix[rows], transposed)
        alike = products > 0
        values = np.full(products.shape, -np.inf)
        np.divide(products, lengths[rows, np.newaxis] * lengths, out=values, where=alike)
        if shrinkage > 0:
            common = dense_product(rated[rows], rated_by)
            np.multiply(values, common / (common + shrinkage), out=values, where=alike)
        return values

    return nearest(cosines, n_rows=matrix.shape[0], count=count)


def pattern(matrix: csr_array[Any]) -> csr_array[Any]:
    """Put 1.0 in place of every entry.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pattern(csr_array([[0.0, 4.5]])).toarray()
    array([[0., 1.]])
    """
    return with_data(matrix, np.ones(matrix.nnz))


def with_data(matrix: csr_array[Any], data: NDArray[np.floating]) -> csr_array[Any]:
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


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Cut the rows so that a block of float64, of shape (rows, n_rows), keeps in the budget."""
    size = min(BLOCK_ROWS, max(1, BLOCK_BYTES // (8 * max(n_rows, 1))))
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))
