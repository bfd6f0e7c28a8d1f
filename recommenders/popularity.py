"""Popularity: the same list for all users, without the items that they have rated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qrels import Ratings
from recommenders.shared.lenskit_bridge import popularity_scores, train_component
from recommenders.shared.scorers import TrainedOnRatings
from recommenders.shared.system import Settings, system
from runs.shared.arrays import Ints, Singles, Sparse

if TYPE_CHECKING:
    from lenskit.basic import PopScorer


class PopularitySettings(Settings):
    """Popularity has no settings."""


def _popularity_component(settings: PopularitySettings) -> PopScorer:
    """Configure LensKit's component: its default, quantiles, would tell equal counts apart."""
    from lenskit.basic import PopScorer

    return PopScorer(score="count")


@system("popularity", family="baseline", source="-", lenskit=_popularity_component)
def popularity(ratings: Ratings, settings: PopularitySettings, *, seed: int) -> PopularityScorer:
    """Recommend the items with the most ratings in training."""
    model = train_component(_popularity_component(settings), ratings, seed=seed)
    return PopularityScorer(ratings, popularity_scores(model))


@dataclass(frozen=True, eq=False)
class PopularityScorer(TrainedOnRatings):
    """Scores items alike for all users, by ``item_scores``: float32 of shape (n_items,)."""

    item_scores: Singles

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these users."""
        return np.tile(self.item_scores, (len(user_numbers), 1))

    def score_histories(self, histories: Sparse) -> Singles:
        """Score every item for these rows of ratings."""
        return np.tile(self.item_scores, (histories.shape[0], 1))
