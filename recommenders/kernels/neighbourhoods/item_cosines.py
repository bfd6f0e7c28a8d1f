"""Item-kNN on interactions: cosines of items by the users who had both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import joblib
import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from qrels.interactions.item_sets import ItemSets, blocks_of
from runs.shared.parallel import processes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PAIRS_AT_ONCE: Final = 10_000_000
"""Pairs of items of a block: they take 8 bytes each, in three copies while shards are added up."""


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
        return self.of_shards([ItemSets.of(history)], n_jobs=1)

    def of_shards(self, shards: Sequence[ItemSets | Path], *, n_jobs: int) -> csr_array[Any]:
        """Learn from shards of users, over one numbering of items, or the folders they are in.

        Common users are sums over shards, for a block of items after the other, in processes or on
        a cluster if there are several shards.
        """
        from scipy.sparse import vstack

        loaded = [*map(_loaded, shards)]
        counts = np.sum([each.user_counts for each in loaded], axis=0)
        bounds = np.sum([each.pairs_at_most() for each in loaded], axis=0)
        blocks = blocks_of(np.minimum(bounds, len(counts)), most=PAIRS_AT_ONCE)
        tasks = (joblib.delayed(_nearest)(self, shards, *block, counts) for block in blocks)
        rows = processes(n_jobs if len(shards) > 1 else 1, return_as="generator")(tasks)
        return vstack([*rows], format="csr")


def _loaded(shard: ItemSets | Path) -> ItemSets:
    return shard if isinstance(shard, ItemSets) else ItemSets.load(shard)


def _nearest(
    model: ItemCosines,
    shards: Sequence[ItemSets | Path],
    first: int,
    last: int,
    counts: NDArray[np.int64],
) -> csr_array[Any]:
    """Find the neighbours of the items of a block."""
    from scipy.sparse import csr_array

    from recommenders.kernels.neighbourhoods.item_cosines_loop import nearest_cosines

    common = _loaded(shards[0]).common_users(first, last)
    for shard in shards[1:]:
        common = common + _loaded(shard).common_users(first, last)
    is_kept = counts >= model.least_users
    common.data *= is_kept[common.indices] & np.repeat(is_kept[first:last], np.diff(common.indptr))
    common.eliminate_zeros()
    nearest = nearest_cosines(
        *(common.indptr, common.indices, common.data.astype(np.float64), np.sqrt(counts)),
        *(first, model.shrinkage, model.neighbours),
    )
    return csr_array(nearest, shape=common.shape)
