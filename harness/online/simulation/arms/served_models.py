"""What an arm serves: models that learn from the history, and recommend from profiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from recommenders.kernels.hidden.fixed_point import FixedPoint

Similarity: TypeAlias = "Callable[[Interactions], csr_array[Any]]"
"""Learns from a history how much each item (row) votes for each other (column)."""


class Recommender(Protocol):
    """A model that has learnt."""

    def recommend(self, profiles: csr_array[Any], *, depth: int) -> NDArray[np.int32]:
        """Recommend items that a profile does not hold, as numbers of shape (n, depth).

        Profiles are rows of ones of shape (n, n_items): the items of each user so far. A row must
        not depend on the others.
        """


class Model(Protocol):
    """Something that learns anew at the beginning of each period."""

    def fit(self, history: Interactions) -> Recommender:
        """Learn from all that was done before the period."""


@dataclass(frozen=True)
class NeighbourModel:
    """Recommends the items with the most votes from the profile, and popular ones after them.

    The similarity learns the votes.

    Examples
    --------
    Ann had a and b, bob b and c; who has a is recommended b before c:

    >>> from scipy.sparse import csr_array
    >>> from recommenders.kernels.neighbourhoods.item_cosines import ItemCosines
    >>> from runs import Numbering
    >>> history = Interactions.of(
    ...     Numbering.of(["ann", "bob"]), Numbering.of("abc"),
    ...     user=[0, 0, 1, 1], item=[0, 1, 1, 2], time=range(4),
    ... )
    >>> model = NeighbourModel(ItemCosines(neighbours=2)).fit(history)
    >>> model.recommend(csr_array([[1.0, 0.0, 0.0]]), depth=2).tolist()
    [[1, 2]]
    """

    similarity: Similarity

    def fit(self, history: Interactions) -> NeighbourRecommender:
        """Learn votes and popularity."""
        from recommenders.kernels.hidden.fixed_point import FixedPoint

        similarity = self.similarity(history)
        by_popularity = np.argsort(-history.event_counts(), kind="stable").astype(np.int32)
        votes = FixedPoint.of(similarity, signed=False)
        return NeighbourRecommender(similarity, votes, by_popularity)


@dataclass(frozen=True, eq=False)
class NeighbourRecommender:
    """Votes of items for items, as they were learnt and in fixed point.

    The similarity, of shape (n_items, n_items), is what `recommenders.kernels.hidden.rank_hidden`
    takes; by the votes in fixed point lists agree with hidden ranks to the last bit. All items are
    kept by popularity, too, the most popular first.
    """

    similarity: csr_array[Any]
    votes: FixedPoint
    by_popularity: NDArray[np.int32]

    def recommend(self, profiles: csr_array[Any], *, depth: int) -> NDArray[np.int32]:
        """Recommend by falling votes, then item number; -1 where all items are in the profile."""
        from harness.online.simulation.world.simulation_loops import list_neighbours

        votes = self.votes
        return list_neighbours(
            profiles.indptr.astype(np.int64),
            profiles.indices.astype(np.int32),
            votes.starts,
            votes.neighbours,
            votes.weights,
            self.by_popularity,
            depth,
        )
