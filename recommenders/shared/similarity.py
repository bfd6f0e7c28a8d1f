"""Which items are alike: cosines of who rated them, and the nearest of every item."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recommenders.shared.scorers import rated_or_not
from runs import NO_ITEM, top_items

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from qrels import Ratings

BLOCK_ITEMS = 512
# A number and a place for each pair, and two numbers more while cosines are worked out.
BYTES_PER_PAIR = 28


def pairs_at_most(ratings: Ratings) -> int:
    """Bound the pairs of items that some user has both rated, each with itself included.

    Examples
    --------
    Two users rated 3 items and 1 item of 100:

    >>> from qrels import Ratings
    >>> from runs import Numbering
    >>> user, item = np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0])
    >>> items = Numbering.of(f"{number}" for number in range(100))
    >>> pairs_at_most(Ratings(Numbering.of("uv"), items, user, item, np.ones(4)))
    10
    """
    return min(len(ratings.items) ** 2, int((ratings.user_counts() ** 2).sum()))


def cosines(ratings: Ratings) -> csr_array[Any]:
    r"""Compare items by the users who rated them.

    .. math:: s_{ij} = n_{ij} / \sqrt{c_i c_j}

    with :math:`n_{ij}` users who rated both and :math:`c_i` who rated i. Takes 28 bytes for
    each pair that somebody rated.

    Returns
    -------
    float64 of shape (n_items, n_items), symmetric to the last bit, the diagonal exactly 1;
    nothing is stored for items that share no user.

    Examples
    --------
    >>> from qrels import Ratings
    >>> from runs import Numbering
    >>> user, item = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> ratings = Ratings(Numbering.of("uv"), Numbering.of("abc"), user, item, np.ones(3))
    >>> cosines(ratings).toarray().round(3)
    array([[1.   , 0.707, 0.   ],
           [0.707, 1.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    rated = rated_or_not(ratings.matrix()).astype(np.float64)
    shared = rated.T.tocsr() @ rated
    counts = ratings.item_counts()
    shared.data /= np.sqrt(_row_values(counts, shared) * counts[shared.indices])
    return shared


def nearest(
    rows: Callable[[slice], NDArray[np.float64]], *, n_items: int, neighbours: int, keep_self: bool
) -> csr_array[Any]:
    """Keep the highest positive similarities of every item.

    Equal similarities are settled by item number, lower first; they are compared as float32.

    Parameters
    ----------
    rows
        Gives the similarities of some items to all, of shape (n_rows, n_items), as a new array.
    n_items
        Number of items.
    neighbours
        Number of items kept in each row.
    keep_self
        Whether an item may be among its own nearest.

    Returns
    -------
    Shape (n_items, n_items): row j holds the similarities of the items nearest to j.

    Examples
    --------
    >>> similar = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
    >>> nearest(
    ...     lambda block: similar[block].copy(), n_items=3, neighbours=1, keep_self=False
    ... ).toarray()
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0. ],
           [0.5, 0. , 0. ]])
    """
    from scipy.sparse import csr_array, vstack

    kept = [csr_array((0, n_items))]
    for start in range(0, n_items, BLOCK_ITEMS):
        similarities = rows(slice(start, start + BLOCK_ITEMS))
        if not keep_self:
            own = np.arange(len(similarities))
            similarities[own, start + own] = 0
        kept.append(_highest(similarities, neighbours))
    return csr_array(vstack(kept, format="csr"))


def nearest_of(similarities: csr_array[Any], *, neighbours: int, keep_self: bool) -> csr_array[Any]:
    """Keep the highest similarities of every row of a sparse matrix; see `nearest`."""
    return nearest(
        lambda block: similarities[block].toarray(),
        n_items=similarities.shape[0],
        neighbours=neighbours,
        keep_self=keep_self,
    )


def _highest(similarities: NDArray[np.float64], kept: int) -> csr_array[Any]:
    from scipy.sparse import csr_array

    positive = np.where(similarities > 0, similarities, -np.inf)
    columns = top_items(positive, depth=min(kept, similarities.shape[1]))
    found = columns != NO_ITEM
    rows = np.nonzero(found)[0]
    values = similarities[rows, columns[found]]
    matrix = csr_array((values, (rows, columns[found])), shape=similarities.shape)
    matrix.sort_indices()
    return matrix


def _row_values(values: NDArray[np.integer], matrix: csr_array[Any]) -> NDArray[np.integer]:
    """Give the value of its row to every stored number."""
    return np.repeat(values, np.diff(matrix.indptr))
