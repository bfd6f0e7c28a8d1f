"""Neighbourhoods: for every row of a matrix, the rows most like it, as a sparse graph.

The rows are users; for items, hand in the transposed matrix. Rows go in blocks, so that no
square matrix is ever held; sums run in the order of the columns, so the graph is the same on
every machine and for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recommenders.kernels.neighbourhoods.products import dense_product
from recommenders.shared.blocks import row_blocks
from recommenders.shared.sparse import pattern
from runs import top_items

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# From the numbers of some rows to their likeness to all rows, -inf for no neighbour: float64 of
# shape (rows of the slice, n_rows), a new array.
Likeness: TypeAlias = Callable[[slice], NDArray[np.float64]]

NearestUsers: TypeAlias = Annotated[
    int, Field(ge=1, description="Nearest users that count (the paper's k): at least 1.")
]


def nearest(
    likeness: Likeness, *, n_rows: int, count: int, keep_self: bool = False
) -> csr_array[Any]:
    """Keep, of every row, the neighbours it is most like, ``count`` of them where so many exist.

    Equals, in float32, go by their number. Row u of the graph, of shape (n_rows, n_rows), holds the
    likeness to its neighbours.

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

    blocks = row_blocks(n_rows, row_bytes=8 * n_rows)
    graph = vstack([graph_of(rows) for rows in blocks], format="csr")
    graph.sort_indices()
    return graph


def nearest_by_cosine(
    matrix: csr_array[Any], *, count: int, shrinkage: float = 0.0
) -> csr_array[Any]:
    r"""Find the rows with the highest cosine, positive ones only.

    .. math:: s_{uv} = \frac{r_u \cdot r_v}{\|r_u\| \, \|r_v\|} \cdot \frac{n_{uv}}{n_{uv} + \beta}

    Ratings are of shape (n_rows, n_columns), and 0 where they are missing. The shrinkage
    :math:`\beta` is distrust in cosines that rest on few common columns, :math:`n_{uv}` of them; 0
    trusts all alike.

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
