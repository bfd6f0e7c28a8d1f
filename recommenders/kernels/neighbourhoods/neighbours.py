"""Neighbourhoods: for every row of a matrix, the rows most like it, as a sparse graph.

The rows are users; for items, hand in the transposed matrix. Rows go in blocks, so that no
square matrix is ever held; sums run in the order of the columns, so the graph is the same on
every machine and for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

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

# From the neighbours of some rows, and these rows, to the neighbours with other weights.
Weighing: TypeAlias = Callable[["csr_array[Any]", "csr_array[Any]"], "csr_array[Any]"]

NearestUsers: TypeAlias = Annotated[
    int, Field(ge=1, description="Nearest users that count (the paper's k): at least 1.")
]


class Neighbours(Protocol):
    """Finds the rows of a matrix that are most like other rows of as many columns."""

    @property
    def matrix(self) -> csr_array[Any]:
        """Rows that are found, of shape (n_rows, n_columns)."""

    def __call__(
        self, histories: csr_array[Any], owners: NDArray[np.integer[Any]], /
    ) -> csr_array[Any]:
        """Weigh the neighbours of these, in a graph of shape (n_histories, n_rows).

        Owners, of shape (n_histories,), are the numbers of rows that are no neighbours.
        """


def all_neighbours(neighbours: Neighbours) -> csr_array[Any]:
    """Find the neighbours of the rows of the matrix itself, as a graph (n_rows, n_rows)."""
    from scipy.sparse import vstack

    matrix = neighbours.matrix
    n_rows = matrix.shape[0]
    blocks = row_blocks(n_rows, row_bytes=8 * n_rows)
    graphs = [neighbours(matrix[rows], np.arange(rows.start, rows.stop)) for rows in blocks]
    return vstack(graphs, format="csr")


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
    from scipy.sparse import vstack

    def graph_of(rows: slice) -> csr_array[Any]:
        own = None if keep_self else np.arange(rows.start, rows.stop)
        return strongest(likeness(rows), count=count, owners=own)

    blocks = row_blocks(n_rows, row_bytes=8 * n_rows)
    return vstack([graph_of(rows) for rows in blocks], format="csr")


def strongest(
    values: NDArray[np.float64], *, count: int, owners: NDArray[np.integer[Any]] | None
) -> csr_array[Any]:
    """Keep the highest values of every row, as `nearest` does, but those of the row's owner.

    The values are written into. Without owners all count.

    Examples
    --------
    >>> strongest(np.array([[9.0, 1.0], [9.0, 1.0]]), count=1, owners=np.array([0, 1])).toarray()
    array([[0., 1.],
           [9., 0.]])
    """
    from scipy.sparse import csr_array

    if owners is not None:
        values[np.arange(len(owners)), owners] = -np.inf
    chosen = top_items(values, depth=min(count, values.shape[1]))
    row, rank = np.nonzero(chosen >= 0)
    column = chosen[row, rank]
    graph = csr_array((values[row, column], (row, column)), shape=values.shape)
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
    return all_neighbours(CosineNeighbours(matrix, count, shrinkage))


@dataclass(frozen=True, eq=False)
class CosineNeighbours:
    """Neighbours as of `nearest_by_cosine`, weighed by their cosines unless told otherwise."""

    matrix: csr_array[Any]
    count: int
    shrinkage: float = 0.0
    weighing: Weighing | None = None

    def __call__(
        self, histories: csr_array[Any], owners: NDArray[np.integer[Any]]
    ) -> csr_array[Any]:
        """Weigh the neighbours of these rows; see `Neighbours`."""
        near = strongest(self._cosines(histories), count=self.count, owners=owners)
        return near if self.weighing is None else self.weighing(near, histories)

    def _cosines(self, histories: csr_array[Any]) -> NDArray[np.float64]:
        products = dense_product(histories, self._transposed)
        positive = products > 0
        values = np.full(products.shape, -np.inf)
        lengths = _lengths(histories)[:, np.newaxis] * self._lengths
        np.divide(products, lengths, out=values, where=positive)
        if self.shrinkage > 0:
            common = dense_product(pattern(histories), pattern(self._transposed))
            np.multiply(values, common / (common + self.shrinkage), out=values, where=positive)
        return values

    @cached_property
    def _transposed(self) -> csr_array[Any]:
        return self.matrix.T.tocsr()

    @cached_property
    def _lengths(self) -> NDArray[np.float64]:
        return _lengths(self.matrix)


def alike(near: csr_array[Any], histories: csr_array[Any]) -> csr_array[Any]:
    """Weigh all neighbours alike, as a `Weighing`."""
    return pattern(near)


def _lengths(matrix: csr_array[Any]) -> NDArray[np.float64]:
    return np.sqrt(matrix.multiply(matrix).sum(axis=1))
