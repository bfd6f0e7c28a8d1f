"""NNCosNgbr-IB: sum of the user's ratings of similar items, less baselines; not averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrels import Ratings
from recommenders.kernels.neighbours import (
    BYTES_PER_PAIR,
    Baselines,
    BaselineSettings,
    nearest_by_cosine,
    nearest_rated_sums,
    pairs_at_most,
)
from recommenders.shared.scorers import HistoryBasedScorer, pattern, weighted_means
from recommenders.shared.system import AtLeastOne, MemoryNeed, NotNegative, Range, searched, system
from runs.shared.arrays import Sparse


class NNCosNgbrIBSettings(BaselineSettings):
    """Settings of NNCosNgbr-IB."""

    neighbours: AtLeastOne = searched(
        100, Range(10, 400, log=True), "Number of nearest items (the paper's k): at least 1."
    )
    shrinkage: NotNegative = searched(
        100.0,
        Range(1.0, 1000.0, log=True),
        "Number of common users that halves a cosine (the paper's lambda): 0 or more.",
    )


def nncosngbr_ib_memory_need(ratings: Ratings, settings: NNCosNgbrIBSettings) -> MemoryNeed:
    """Estimate the bytes of training, in proportion to the pairs of items that are kept.

    If the nearest are searched among the items that a user rated, that may be all pairs that
    somebody rated.
    """
    n_items = len(ratings.items)
    n_pairs = n_items * min(n_items, settings.neighbours)
    if settings.among == "rated":
        n_pairs = pairs_at_most(ratings)
    return MemoryNeed(BYTES_PER_PAIR * n_pairs, f"up to {n_pairs} pairs of items")


@system(
    "nncosngbr-ib",
    family="neighbours",
    source="Cremonesi, Koren & Turrin (2010), Performance of recommender algorithms on top-N "
    "recommendation tasks, RecSys, section 4.1",
    memory_need=nncosngbr_ib_memory_need,
)
def nncosngbr_ib(
    ratings: Ratings, settings: NNCosNgbrIBSettings, *, seed: int
) -> BaselineItemScorer:
    r"""Sum by how much the user's ratings of similar items exceed their baselines.

    .. math:: s_{ui} = b_{ui} + \sum_{j \in J_{ui}} s_{ij} (r_{uj} - b_{uj}), \quad
              s_{ij} = \cos(r_{\cdot i}, r_{\cdot j}) \frac{n_{ij}}{n_{ij} + \lambda}

    with :math:`J_{ui}` those of the k items of the highest :math:`s_{ij}` that the user has rated,
    :math:`n_{ij}` the users who rated both, missing ratings being 0 in the cosine, and b the
    baselines of :class:`recommenders.kernels.neighbours.Baselines`. The sum is not divided by
    its weights, unless the setting ``denominator`` is true.

    The formula is known from the paper, where the k items are the nearest of those that the
    user has rated: set ``among = "rated"``. By default, as in the comparisons that precompute
    neighbourhoods, they are the nearest of all. With k as large as the catalogue the two are one.
    The shrinkage and the dampings are those usual in the predecessors of the paper; k is inferred.
    """
    matrix = ratings.matrix()
    baselines = Baselines.fit(matrix, settings)
    by_item = matrix.T.tocsr()
    is_by_user = settings.among == "rated"
    near = nearest_by_cosine(
        by_item,
        count=len(ratings.items) if is_by_user else settings.neighbours,
        shrinkage=settings.shrinkage,
    )
    return BaselineItemScorer(
        ratings,
        baselines,
        near.T.tocsr(),
        averaged=settings.denominator,
        max_count=settings.neighbours if is_by_user else None,
    )


@dataclass(frozen=True, eq=False)
class BaselineItemScorer(HistoryBasedScorer):
    r"""Item-linear in the ratings' residuals from baselines: :math:`b_u + (r_u - b_u) W`.

    Row j of the weights :math:`W`, of shape (n_items, n_items), holds what a residual of item j
    adds to the scores of all items. If ``averaged``, the sum is divided by the weights of the items
    rated. With ``max_count``, only so many items of the history, those of the highest weights, add
    to the score of an item.
    """

    baselines: Baselines
    weights: Sparse
    averaged: bool = False
    max_count: int | None = None

    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        """Score every item for rows of ratings, both of shape (n_rows, n_items).

        A score is the baseline of user and item plus the sum of the residuals of the row's ratings
        (rating minus baseline) times ``self.weights``, of shape (n_items, n_items); if
        ``self.averaged``, the sum is divided by that of the weights. An item without any weight
        scores its baseline.
        """
        sums = self._sums(histories)
        user_offsets = self.baselines.user_offsets(histories)[:, np.newaxis]
        return sums.toarray() + user_offsets + self.baselines.item_baselines

    def _sums(self, histories: Sparse) -> Sparse:
        """Sum or average the residuals of rows of ratings for every item: (n_rows, n_items)."""
        residuals = self.baselines.residuals(histories)
        if self.max_count is not None:
            sums, total_weights = nearest_rated_sums(
                self.weights.T.tocsr(), residuals.T.tocsr(), count=self.max_count
            )
            by_item = weighted_means(sums, total_weights) if self.averaged else sums
            return by_item.T.tocsr()
        sums = residuals @ self.weights
        return weighted_means(sums, pattern(histories) @ self.weights) if self.averaged else sums
