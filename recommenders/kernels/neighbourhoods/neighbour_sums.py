"""The kernel of user neighbourhoods: sums over the neighbours, then one function of the sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recommenders.shared.scorers import TrainedOnRatings, filled
from recommenders.shared.sparse import averages, pattern

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# From sums over neighbours, with entries where there is one, and their users to scores, NaN
# where there is none.
Finish: TypeAlias = Callable[["csr_array[Any]", NDArray[np.int32]], NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class NeighbourSumScorer(TrainedOnRatings):
    r"""User neighbourhoods: :math:`f_u(\sum_v g_{uv} x_{vi})`, for training users only.

    Products are sparse, so a row is the same to the last bit in every block. A sum of exactly 0
    counts as none, as the product does not hold it. A user without training ratings scores NaN.

    Row u of the graph :math:`g`, of shape (n_users, n_users), holds the neighbours of u; the values
    :math:`x`, of shape (n_users, n_items), are what a neighbour says of an item. Without
    ``finish``, :math:`f`, which to be pickled must be a function of a module or a
    `functools.partial` of one, sums are the scores. If ``averaged``, they are divided by the
    weights of the neighbours that have an entry.
    """

    graph: csr_array[Any]
    values: csr_array[Any]
    finish: Finish | None = None
    averaged: bool = False

    def score_batch(self, user_numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        """Score every item for these training users."""
        near = self.graph[user_numbers]
        sums = near @ self.values
        if self.averaged:
            sums = averages(sums, near @ pattern(self.values))
        finished = filled(sums) if self.finish is None else self.finish(sums, user_numbers)
        scores = finished.astype(np.float32, copy=False)
        scores[~self.has_ratings[user_numbers]] = np.nan
        return scores
