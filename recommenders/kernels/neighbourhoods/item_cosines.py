"""Item-kNN on interactions: cosines of items by the users who had both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qrels.interactions.interactions import Interactions

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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
        """Learn from distinct pairs of user and item."""
        from scipy.sparse import csr_array

        from recommenders.kernels.neighbourhoods.item_cosines_loop import nearest_cosines

        distinct = history.select(history.is_first)
        kept = distinct.user_counts()[distinct.item] >= self.least_users
        item, user = distinct.item[kept], distinct.user[kept]
        shape = (len(history.items), len(history.users))
        had = csr_array((np.ones(len(item)), (item, user)), shape=shape)
        # Far fewer pairs of items have a common user than there are pairs.
        common = (had @ had.T).tocsr()
        lengths = np.sqrt(np.bincount(item, minlength=shape[0]))
        nearest = nearest_cosines(
            common.indptr, common.indices, common.data, lengths, self.shrinkage, self.neighbours
        )
        return csr_array(nearest, shape=(shape[0], shape[0]))
