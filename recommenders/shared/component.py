"""Systems of ours as LensKit components, for LensKit pipelines."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

import numpy as np
from lenskit.data import Dataset, ItemList, QueryInput, RecQuery
from lenskit.pipeline import Component
from lenskit.training import Trainable, TrainingOptions
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.shared.register import find_system
from recommenders.shared.scorers import BatchScorer, HistoryScorer
from recommenders.shared.system import Settings
from recommenders.shared.train_and_rank import train
from runs import Numbering
from runs.shared.arrays import Singles, Sparse


class SystemScorer(Component[ItemList], Trainable):
    """Scores items by one of our systems, with the function that scores batches.

    Each system has a class of its own, by `scorer_class`, whose configuration is its settings.
    """

    system: ClassVar[str]
    config: Settings
    scorer: BatchScorer

    def train(self, data: Dataset, options: TrainingOptions | None = None) -> None:
        """Train the system, unless it is trained and retraining is not wanted."""
        options = options or TrainingOptions()
        if self.is_trained() and not options.retrain:
            return
        # A seed means here what it means to ``recommenders.train``.
        rng = options.rng
        seed = rng if isinstance(rng, int) else int(options.random_generator().integers(2**63))
        self.scorer = train(self.system, self.config.model_dump(), _ratings_of(data), seed=seed)

    def is_trained(self) -> bool:
        """Tell whether there is something to score with."""
        return hasattr(self, "scorer")

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        """Score items for a query: by its history where the system can, else by its user.

        Unknown users without a history, and unknown items, get NaN.
        """
        everything = np.append(self._scores(RecQuery.create(query)), np.float32(np.nan))
        # Number -1, an unknown item, picks the NaN at the end.
        numbers = self.scorer.items.numbers(_text_ids(items))
        return ItemList(items, scores=everything[numbers])

    def _scores(self, query: RecQuery) -> Singles:
        history = query.query_items
        if isinstance(self.scorer, HistoryScorer) and history is not None and len(history) > 0:
            return self.scorer.score_histories(self._row(history))[0]
        user_number = self.scorer.users.numbers([str(query.user_id)])
        if query.user_id is None or user_number[0] < 0:
            return np.full(len(self.scorer.items), np.nan, dtype=np.float32)
        return self.scorer.score_batch(user_number)[0]

    def _row(self, history: ItemList) -> Sparse:
        """Write a history as one row of ratings, 1 where it has none."""
        numbers = self.scorer.items.numbers(_text_ids(history))
        ratings = history.field("rating")
        values = np.ones(len(history)) if ratings is None else np.asarray(ratings, np.float64)
        known = numbers >= 0
        row = np.zeros(np.count_nonzero(known), dtype=np.int32)
        return csr_array((values[known], (row, numbers[known])), shape=(1, len(self.scorer.items)))


@cache
def scorer_class(system: str) -> type[SystemScorer]:
    """Give the class of a system's components, as `RM2Scorer` of `recommenders`."""
    spec = find_system(system)
    facts = {
        "__module__": "recommenders",
        "__doc__": f"{spec.summary}\n\n{spec.source}",
        "__annotations__": {"config": spec.settings},
        "system": system,
    }
    return type(f"{spec.stem}Scorer", (SystemScorer,), facts)


def _ratings_of(data: Dataset) -> Ratings:
    """Read a LensKit data set; interactions without a rating count as 1."""
    interactions = data.interactions().matrix()
    field = "rating" if "rating" in interactions.attribute_names else None
    matrix = interactions.scipy(attribute=field, layout="coo")
    user_ids, item_ids = (named.ids().astype(np.str_) for named in (data.users, data.items))
    users, items = Numbering.of(user_ids), Numbering.of(item_ids)
    user, item = users.numbers(user_ids)[matrix.row], items.numbers(item_ids)[matrix.col]
    order = np.lexsort((item, user))
    rating = np.asarray(matrix.data, dtype=np.float64)
    return Ratings(users, items, user[order], item[order], rating[order])


def _text_ids(items: ItemList) -> NDArray[np.str_]:
    return items.ids().astype(np.str_) if len(items) > 0 else np.empty(0, dtype=np.str_)
