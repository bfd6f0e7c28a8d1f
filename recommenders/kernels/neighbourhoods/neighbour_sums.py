"""The kernel of user neighbourhoods: sums over the neighbours, then one function of the sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recommenders.kernels.neighbourhoods.neighbours import Neighbours, all_neighbours
from recommenders.shared.scorers import TrainedOnRatings, filled
from recommenders.shared.sparse import averages, pattern

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# From sums over neighbours, with entries where there is one, these neighbours, and the ratings of
# those whose neighbours they are, to scores, NaN where there is none.
Finish: TypeAlias = Callable[
    ["csr_array[Any]", "csr_array[Any]", "csr_array[Any]"], NDArray[np.floating]
]


@dataclass(frozen=True, eq=False)
class NeighbourSumScorer(TrainedOnRatings):
    r"""User neighbourhoods: :math:`f_u(\sum_v g_{uv} x_{vi})`.

    Products are sparse, so a row is the same to the last bit in every block. A sum of exactly 0
    counts as none, as the product does not hold it. A user without ratings scores NaN.

    Neighbours are training users, with their weights :math:`g`; nobody is a neighbour of their own.
    The values :math:`x`, of shape (n_users,
    n_items), are what a neighbour says of an item. Without ``finish``, :math:`f`, which to be
    pickled must be a function of a module or a `functools.partial` of one, sums are the scores. If
    ``averaged``, they are divided by the weights of the neighbours that have an entry.
    """

    neighbours: Neighbours
    values: csr_array[Any]
    finish: Finish | None = None
    averaged: bool = False

    def score_batch(self, user_numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        """Score every item for these training users."""
        return self._scores(self._graph[user_numbers], self.histories[user_numbers])

    def _scores(self, near: csr_array[Any], histories: csr_array[Any]) -> NDArray[np.float32]:
        sums = near @ self.values
        if self.averaged:
            sums = averages(sums, near @ pattern(self.values))
        finished = filled(sums) if self.finish is None else self.finish(sums, near, histories)
        scores = finished.astype(np.float32, copy=False)
        scores[np.diff(histories.indptr) == 0] = np.nan
        return scores

    @cached_property
    def _graph(self) -> csr_array[Any]:
        return all_neighbours(self.neighbours)
