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
from recommenders.shared.lenskit_bridge import ratings_or_ones
from recommenders.shared.register import find_system
from recommenders.shared.scorers import BatchScorer, HistoryBasedScorer
from recommenders.shared.system import Settings
from recommenders.shared.train_and_rank import train
from runs import Numbering
from runs.shared.arrays import Singles, Sparse


class SystemScorer(Component[ItemList], Trainable):
    """LensKit component that scores items by one of our systems.

    Each system has a class of its own, made by `scorer_class`: ``system`` is its name, ``config``
    holds its settings. ``scorer`` is there once it is trained.
    """

    system: ClassVar[str]
    config: Settings
    scorer: BatchScorer

    def train(self, data: Dataset, options: TrainingOptions | None = None) -> None:
        """Train the system on a LensKit data set, unless it is trained and must not be retrained.

        Sets ``self.scorer``, the trained system. If ``rng`` of the options is an integer, it is the
        seed of training; from any other generator a seed is drawn. Raises InputError if the system
        cannot be trained on these ratings.
        """
        options = options or TrainingOptions()
        if self.is_trained() and not options.retrain:
            return
        if isinstance(options.rng, int):
            seed = options.rng
        else:
            seed = int(options.random_generator().integers(2**63))
        self.scorer = train(self.system, self.config.model_dump(), _to_ratings(data), seed=seed)

    def is_trained(self) -> bool:
        """Check whether `train` has been called."""
        return hasattr(self, "scorer")

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        """Return the items with scores for a query, by the trained system ``self.scorer``.

        Systems based on histories score by the ratings in the query, if it has any; all others by
        the user's ratings in training. A user unknown in training gets NaN for every item, unless
        the history is used; an item unknown in training gets NaN.
        """
        scores_by_number = self._scores(RecQuery.create(query))
        # Number -1, an unknown item, picks the NaN at the end.
        with_unknown = np.append(scores_by_number, np.float32(np.nan))
        item_numbers = self.scorer.items.numbers(_text_ids(items))
        return ItemList(items, scores=with_unknown[item_numbers])

    def _scores(self, query: RecQuery) -> Singles:
        """Score every training item for a query: float32 of shape (n_items,), by item number.

        A history in the query is scored if the trained system is based on histories; otherwise
        the user is. All scores are NaN for a query without user, or an unknown user.
        """
        history = query.query_items
        if isinstance(self.scorer, HistoryBasedScorer) and history is not None and len(history) > 0:
            (scores,) = self.scorer.score_histories(self._history_row(history))
            return scores
        user_number = self.scorer.users.numbers([str(query.user_id)])
        if query.user_id is None or user_number[0] < 0:
            return np.full(len(self.scorer.items), np.nan, dtype=np.float32)
        (scores,) = self.scorer.score_batch(user_number)
        return scores

    def _history_row(self, history: ItemList) -> Sparse:
        """Convert a list of items with ratings to a sparse row of shape (1, n_items).

        Columns are the item numbers of ``self.scorer``. A list without ratings counts as ratings of
        1. Items that were not in training are left out.
        """
        item_numbers = self.scorer.items.numbers(_text_ids(history))
        in_training = item_numbers >= 0
        values = ratings_or_ones(history)[in_training]
        columns = item_numbers[in_training]
        rows = np.zeros(len(columns), dtype=np.int32)
        n_items = len(self.scorer.items)
        return csr_array((values, (rows, columns)), shape=(1, n_items))


@cache
def scorer_class(system: str) -> type[SystemScorer]:
    """Make the class of the LensKit components of a system, such as ``recommenders.RM2Scorer``.

    It is a subclass of `SystemScorer` whose configuration is the class of the system's settings.
    """
    spec = find_system(system)
    attributes = {
        "__module__": "recommenders",
        "__doc__": f"{spec.summary}\n\n{spec.source}",
        "__annotations__": {"config": spec.settings},
        "system": system,
    }
    return type(f"{spec.stem}Scorer", (SystemScorer,), attributes)


def _to_ratings(data: Dataset) -> Ratings:
    """Convert a LensKit data set to ratings, sorted by user and item number.

    Interactions without a rating count as 1.
    """
    interactions = data.interactions().matrix()
    field = "rating" if "rating" in interactions.attribute_names else None
    matrix = interactions.scipy(attribute=field, layout="coo")
    # LensKit's own numbers of users and items are the rows and columns of the matrix.
    user_ids = data.users.ids().astype(np.str_)
    item_ids = data.items.ids().astype(np.str_)
    users = Numbering.of(user_ids)
    items = Numbering.of(item_ids)
    user = users.numbers(user_ids)[matrix.row]
    item = items.numbers(item_ids)[matrix.col]
    order = np.lexsort((item, user))
    rating = np.asarray(matrix.data, dtype=np.float64)
    return Ratings(users, items, user[order], item[order], rating[order])


def _text_ids(items: ItemList) -> NDArray[np.str_]:
    """Return the ids of an item list as texts, of shape (n,); an empty array for an empty list."""
    if len(items) == 0:
        return np.empty(0, dtype=np.str_)
    return items.ids().astype(np.str_)
