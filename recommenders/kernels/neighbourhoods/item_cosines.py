"""Item-kNN on interactions: cosines of items by the users who had both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PAIRS_AT_ONCE: Final = 10_000_000
"""Pairs of items of a block: they take 8 bytes each."""


@dataclass(frozen=True)
class ItemCosines:
    r"""Cosines of items by the users who had both.

    .. math:: S_{ij} = \frac{n_{ij}}{\sqrt{c_i c_j}} \cdot \frac{n_{ij}}{n_{ij} + \beta}

    Parameters
    ----------
    neighbours
        Items that each votes for.
    shrinkage
        :math:`\beta`: how little cosines of few common users are trusted, at least 0.
    least_users
        Users that an item needs to vote and be voted for.
    """

    neighbours: int = 50
    shrinkage: float = 0.0
    least_users: int = 1

    def __call__(self, history: Interactions) -> csr_array[Any]:
        """Learn from distinct pairs of user and item, for one block of items after the other."""
        from scipy.sparse import csr_array, vstack

        first = history.is_first
        shape = (len(history.users), len(history.items))
        ones = np.ones(np.count_nonzero(first), dtype=np.int32)
        by_user = csr_array((ones, (history.user[first], history.item[first])), shape=shape)
        by_item = by_user.T.tocsr()
        counts = np.diff(by_item.indptr).astype(np.int64)
        # An item shares users with at most as many items as its users have.
        sizes = np.append(0, np.cumsum(np.diff(by_user.indptr)[by_item.indices], dtype=np.int64))
        bounds = np.minimum(np.diff(sizes[by_item.indptr]), len(counts))
        rows = [
            self._nearest(by_item[begin:end] @ by_user, begin, counts)
            for begin, end in _blocks(bounds, most=PAIRS_AT_ONCE)
        ]
        return vstack(rows, format="csr") if rows else csr_array((0, 0))

    def _nearest(
        self, common: csr_array[Any], first: int, counts: NDArray[np.int64]
    ) -> csr_array[Any]:
        """Find the neighbours of a block of items, from the users they share with each item."""
        from scipy.sparse import csr_array

        from recommenders.kernels.neighbourhoods.item_cosines_loop import nearest_cosines

        kept, of_block = counts >= self.least_users, slice(first, first + common.shape[0])
        common.data *= kept[common.indices] & np.repeat(kept[of_block], np.diff(common.indptr))
        common.eliminate_zeros()
        nearest = nearest_cosines(
            *(common.indptr, common.indices, common.data.astype(np.float64), np.sqrt(counts)),
            *(first, self.shrinkage, self.neighbours),
        )
        return csr_array(nearest, shape=common.shape)


def _blocks(bounds: NDArray[np.int64], *, most: int) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks whose bounds add up to no more than that, or of one row.

    Examples
    --------
    >>> list(_blocks(np.array([3, 1, 9, 2, 2]), most=4))
    [(0, 2), (2, 3), (3, 5)]
    """
    first, room = 0, most
    for row, bound in enumerate(bounds.tolist()):
        if bound > room and row > first:
            yield first, row
            first, room = row, most
        room -= bound
    if len(bounds):
        yield first, len(bounds)
