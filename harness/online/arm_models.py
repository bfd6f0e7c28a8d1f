"""Models that arms serve: they learn from a history, and recommend for the profile of a user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qrels.interactions.interactions import Interactions
from recommenders.shared.scorers import row_blocks, row_of_entry
from recommenders.shared.train_and_rank import train
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
        """Learn from a history the votes of items for items, and which items are popular.

        Votes are the similarities, (n_items, n_items), that ``self.similarity`` computes, in fixed
        point.
        """
        from recommenders.kernels.hidden_ranks import FixedPoint

        similarity = self.similarity(history)
        by_popularity = np.argsort(-history.event_counts(), kind="stable").astype(np.int32)
        return NeighbourRecommender(similarity, FixedPoint.of(similarity), by_popularity)


@dataclass(frozen=True, eq=False)
class NeighbourRecommender:
    """A neighbour model that has learnt.

    Parameters
    ----------
    similarity
        Votes of items (rows) for items (columns), of shape (n_items, n_items).
    votes
        The same in fixed point, by which lists agree with the ranks of hidden items to the last
        bit.
    by_popularity
        Items by falling number of events, of shape (n_items,).
    """

    similarity: Sparse
    votes: FixedPoint
    by_popularity: Ints

    def recommend(self, profiles: Sparse, *, depth: int) -> Ints:
        """Recommend items for profiles, rows of ones of shape (n, n_items).

        Items are ordered by falling votes, then by number; those without votes follow, the most
        popular first (``self.by_popularity``, all item numbers). The result has the shape (n,
        depth); -1 where all items are in the profile. ``self.votes`` are similarities in fixed
        point.
        """
        from recommenders.kernels.hidden_ranks_loop import list_highest

        offsets = profiles.indptr.astype(np.int64)
        items = profiles.indices.astype(np.int32)
        return list_highest(offsets, items, self.votes, self.by_popularity, depth)

    def hidden_ranks(self, test: Interactions, *, deepest: int, n_jobs: int) -> HiddenRanks:
        """Rank the hidden items of test users, given by their events, down to a rank."""
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
        """Train the system on the history, and order items by their number of events.

        The system learns from values of events added up by user and item.
        """
        scorer: Any = train(self.system, self.settings, history.totals(), seed=self.seed)
        items_by_popularity = np.argsort(-history.event_counts(), kind="stable")
        popularity_places = np.argsort(items_by_popularity)
        return SystemRecommender(scorer, popularity_places / len(popularity_places))


@dataclass(frozen=True, eq=False)
class SystemRecommender:
    """A trained system, and the place of each item by popularity.

    Parameters
    ----------
    scorer
        Scores all items for any profile.
    popularity_places
        From 0 (the most popular item) up to 1, of shape (n_items,).
    """

    scorer: HistoriesScorer
    popularity_places: Floats

    def recommend(self, profiles: Sparse, *, depth: int) -> Ints:
        """Recommend items for profiles, rows of ones of shape (n, n_items): (n, depth).

        Items are ordered by falling score; those without a score (NaN) follow by popularity, as
        ``self.popularity_places`` has it: (n_items,), 0 for the most popular. Items of the profile
        are left out.
        """
        n_users, n_items = profiles.shape
        lists = np.empty((n_users, depth), dtype=np.int32)
        for rows in row_blocks(len(lists), row_bytes=8 * n_items):
            block = profiles[rows]
            scores = self.scorer.score_histories(block).astype(np.float64)
            # Places by popularity are below 1, so that all items without a score come below.
            below_all = np.nanmin(scores, initial=0.0) - 1.0
            scores = np.where(np.isnan(scores), below_all - self.popularity_places, scores)
            scores[row_of_entry(block), block.indices] = -np.inf
            lists[rows] = top_items(scores, depth=depth)
        return lists

    def hidden_ranks(self, test: Interactions, *, deepest: int, n_jobs: int) -> HiddenRanks:
        """Rank the hidden items of test users down to a rank, whichever sign scores have."""
        from recommenders.kernels.hidden_scores import rank_hidden_by_scores

        hidden = test.select(test.is_first)
        return rank_hidden_by_scores(
            self.scorer.score_histories, hidden, deepest=deepest, n_jobs=n_jobs
        )


def recommended(model: Recommender, profiles: Sparse, *, depth: int, arm: str) -> Ints:
    """Ask the model of an arm for lists of shape (n, depth), for profiles of shape (n, n_items).

    Profiles are rows of ones; ``arm`` is the name of the arm, for errors. Raises InputError if
    lists are short, or hold an unknown item, an item twice, or one of the profile.
    """
    lists = model.recommend(profiles, depth=depth)
    if not _are_new_items(lists, profiles, depth=depth):
        n_items = profiles.shape[1]
        raise InputError(
            f"the model of arm {arm!r} must list {depth} items from 0 to {n_items - 1} for each "
            "user, none of them twice, and none that the user has."
        )
    return lists


def _are_new_items(lists: Ints, profiles: Sparse, *, depth: int) -> bool:
    """Check that lists are full, and hold different items that exist and the profile lacks.

    Profiles are rows of ones of shape (n, n_items), and full lists are item numbers of shape
    (n, depth).
    """
    n_users, n_items = profiles.shape
    if lists.shape != (n_users, depth) or lists.min(initial=0) < 0:
        return False
    if lists.max(initial=0) >= n_items:
        return False
    # A number for each pair of user and item; a pair that comes twice is not new.
    listed_pairs = np.arange(n_users)[:, np.newaxis] * n_items + lists
    profile_pairs = row_of_entry(profiles) * n_items + profiles.indices
    pairs = np.concatenate([listed_pairs.ravel(), profile_pairs])
    return len(np.unique(pairs)) == len(pairs)
