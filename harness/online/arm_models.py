"""Models that arms serve: they learn from a history, and recommend for the profile of a user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qrels.interactions.interactions import Interactions
from recommenders import train
from recommenders.shared.scorers import row_blocks, row_of_entry
from runs import InputError, top_items
from runs.shared.arrays import Floats, Ints, Sparse

if TYPE_CHECKING:
    from qrels.ranks.hidden_ranks import HiddenRanks
    from recommenders.kernels.hidden_ranks import FixedPoint
    from recommenders.shared.scorers import HistoriesScorer


Similarity: TypeAlias = "Callable[[Interactions], Sparse]"
"""Learns from a history how much each item (row) votes for each other (column)."""


Model: TypeAlias = Any
"""Something that learns anew at the beginning of each period.

``fit(history)`` learns from all `Interactions` before the period, and gives a recommender.
"""

Recommender: TypeAlias = Any
"""A model that has learnt; those whose recall is measured have `hidden_ranks`, too.

``recommend(profiles, depth=...)`` recommends items that a profile does not hold, as numbers of
shape (n, depth). Profiles are rows of ones of shape (n, n_items): the items of each user so far. A
row must not depend on the others.
"""


@dataclass(frozen=True)
class NeighbourModel:
    """Recommends the items with the most votes from the profile, and popular ones after them."""

    similarity: Similarity

    def fit(self, history: Interactions) -> NeighbourRecommender:
        """Learn votes and popularity."""
        from recommenders.kernels.hidden_ranks import FixedPoint

        similarity = self.similarity(history)
        by_popularity = np.argsort(-history.event_counts(), kind="stable").astype(np.int32)
        return NeighbourRecommender(similarity, FixedPoint.of(similarity), by_popularity)


@dataclass(frozen=True, eq=False)
class NeighbourRecommender:
    """Votes of items for items, as they were learnt and in fixed point, and items by popularity.

    By the votes in fixed point lists agree with the ranks of hidden items to the last bit.
    """

    similarity: Sparse
    votes: FixedPoint
    by_popularity: Ints

    def recommend(self, profiles: Sparse, *, depth: int) -> Ints:
        """Recommend by falling votes, then item number; -1 where all items are in the profile."""
        from recommenders.kernels.hidden_ranks_loop import list_highest

        first, items = profiles.indptr.astype(np.int64), profiles.indices.astype(np.int32)
        return list_highest(first, items, self.votes, self.by_popularity, depth)

    def hidden_ranks(self, test: Interactions, *, deepest: int, n_jobs: int) -> HiddenRanks:
        """Rank the hidden items of test users."""
        from recommenders.kernels.hidden_ranks import rank_hidden

        return rank_hidden(self.similarity, test, deepest=deepest, n_jobs=n_jobs)


@dataclass(frozen=True)
class SystemModel:
    """A system of the harness, or a user's own, that scores whatever somebody did so far.

    It learns from the values of what users did with items, added up, as from ratings.
    """

    system: str
    settings: Mapping[str, Any]
    seed: int

    def fit(self, history: Interactions) -> SystemRecommender:
        """Train the system."""
        scorer: Any = train(self.system, self.settings, history.totals(), seed=self.seed)
        by_popularity = np.argsort(np.argsort(-history.event_counts(), kind="stable"))
        return SystemRecommender(scorer, by_popularity / len(by_popularity))


@dataclass(frozen=True, eq=False)
class SystemRecommender:
    """A trained system, and the place of each item by popularity, from 0 up to 1."""

    scorer: HistoriesScorer
    by_popularity: Floats

    def recommend(self, profiles: Sparse, *, depth: int) -> Ints:
        """Recommend by falling score, then popular ones that have none, but for what is known."""
        lists = np.empty((profiles.shape[0], depth), dtype=np.int32)
        for rows in row_blocks(len(lists), row_bytes=8 * profiles.shape[1]):
            known = profiles[rows]
            scores = self.scorer.score_histories(known).astype(np.float64)
            least = np.nanmin(scores, initial=0.0) - 1.0
            scores = np.where(np.isnan(scores), least - self.by_popularity, scores)
            scores[row_of_entry(known), known.indices] = -np.inf
            lists[rows] = top_items(scores, depth=depth)
        return lists

    def hidden_ranks(self, test: Interactions, *, deepest: int, n_jobs: int) -> HiddenRanks:
        """Rank the hidden items of test users, whichever sign scores have."""
        from recommenders.kernels.hidden_scores import rank_hidden_by_scores

        hidden, score = test.select(test.is_first), self.scorer.score_histories
        return rank_hidden_by_scores(score, hidden, deepest=deepest, n_jobs=n_jobs)


def recommended(model: Recommender, profiles: Sparse, *, depth: int, arm: str) -> Ints:
    """Ask an arm's model for lists of shape (n, depth).

    Refused are lists that are short, or hold an unknown item, an item twice, or one of the profile.
    """
    lists = model.recommend(profiles, depth=depth)
    n_users, n_items = profiles.shape
    are_new = lists.shape == (n_users, depth) and ((lists >= 0) & (lists < n_items)).all()
    if are_new:
        listed = np.arange(n_users)[:, None] * n_items + lists
        known = row_of_entry(profiles) * n_items + profiles.indices
        every = np.concatenate([listed.ravel(), known])
        are_new = len(np.unique(every)) == len(every)
    if not are_new:
        raise InputError(
            f"the model of arm {arm!r} must list {depth} items from 0 to {n_items - 1} for each "
            "user, none of them twice, and none that the user has."
        )
    return lists
