"""Which items are alike: cosines of who rated them, and the nearest of every item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qrels import Ratings
from recommenders.kernels.neighbourhoods.neighbours import nearest
from recommenders.shared.scorers import filled
from recommenders.shared.sparse import pattern, row_of_entry

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
    each pair that somebody rated: float64 of shape (n_items, n_items), symmetric to the last bit,
    the diagonal exactly 1; nothing is stored for items that share no user.

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
    rated = pattern(ratings.matrix())
    shared = rated.T.tocsr() @ rated
    counts = ratings.item_counts()
    shared.data /= np.sqrt(counts[row_of_entry(shared)] * counts[shared.indices])
    return shared


def nearest_of(similarities: csr_array[Any], *, neighbours: int, keep_self: bool) -> csr_array[Any]:
    """Keep the highest similarities, all above 0, of every row of a sparse matrix.

    Equal similarities are settled by item number, lower first; they are compared as float32.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> similar = csr_array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
    >>> nearest_of(similar, neighbours=1, keep_self=False).toarray()
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0. ],
           [0.5, 0. , 0. ]])
    """
    return nearest(
        lambda rows: filled(similarities[rows], -np.inf).astype(np.float64, copy=False),
        n_rows=similarities.shape[0],
        count=neighbours,
        keep_self=keep_self,
    )
