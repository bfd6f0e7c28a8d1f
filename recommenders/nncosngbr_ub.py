"""NNCosNgbr-UB: sum of the neighbours' ratings, less baselines; not averaged."""

from __future__ import annotations

from functools import partial

import numpy as np

from qrels import Ratings
from recommenders.kernels.neighbours import (
    BYTES_PER_PAIR,
    Baselines,
    BaselineSettings,
    NearestUsers,
    NeighbourSumScorer,
    nearest_by_cosine,
)
from recommenders.shared.system import MemoryNeed, NotNegative, Range, searched, system
from runs.shared.arrays import Floats, Sparse


class NNCosNgbrUBSettings(BaselineSettings):
    """Settings of NNCosNgbr-UB."""

    neighbours: NearestUsers = searched(100, Range(10, 400, log=True))
    shrinkage: NotNegative = searched(
        0.0,
        Range(0.0, 100.0),
        "Number of common items that halves a cosine (the paper's lambda): 0 or more.",
    )


def nncosngbr_ub_memory_need(ratings: Ratings, settings: NNCosNgbrUBSettings) -> MemoryNeed:
    """Estimate the bytes of training, in proportion to the pairs of users that are kept.

    If the nearest are searched among the raters of an item, that may be all pairs with an item in
    common: at most the sum of the squared numbers of ratings over the items.
    """
    n_users = len(ratings.users)
    n_pairs = n_users * min(n_users, settings.neighbours)
    if settings.among == "rated":
        n_pairs = min(n_users**2, int((ratings.item_counts() ** 2).sum()))
    return MemoryNeed(BYTES_PER_PAIR * n_pairs, f"up to {n_pairs} pairs of users")


@system(
    "nncosngbr-ub",
    family="neighbours",
    source="Cremonesi, Koren & Turrin (2010), Performance of recommender algorithms on top-N "
    "recommendation tasks, RecSys, section 4.1",
    memory_need=nncosngbr_ub_memory_need,
)
def nncosngbr_ub(
    ratings: Ratings, settings: NNCosNgbrUBSettings, *, seed: int
) -> NeighbourSumScorer:
    r"""Sum by how much the neighbours' ratings of an item exceed their baselines.

    .. math:: s_{ui} = b_{ui} + \sum_{v \in V_{ui}} s_{uv} (r_{vi} - b_{vi}), \quad
              s_{uv} = \cos(r_u, r_v) \frac{n_{uv}}{n_{uv} + \lambda}

    with :math:`V_{ui}` the raters of i among the k users of the highest :math:`s_{uv}`,
    :math:`n_{uv}` the items both rated, missing ratings being 0 in the cosine, and b the baselines
    of :class:`recommenders.kernels.neighbours.Baselines`. With ``among = "rated"``,
    :math:`V_{ui}` are the k nearest of all raters of i. Unless the setting ``denominator`` is true,
    the sum is not divided by its weights: items that many neighbours rated are favoured.

    The paper has the form over items; over users it is what the comparisons with it use. The
    shrinkage and the dampings are those usual in the predecessors of the paper; k is inferred.
    """
    matrix = ratings.matrix()
    baselines = Baselines.fit(matrix, settings)
    residuals = baselines.residuals(matrix)
    is_by_item = settings.among == "rated"
    neighbour_weights = nearest_by_cosine(
        matrix,
        count=len(ratings.users) if is_by_item else settings.neighbours,
        shrinkage=settings.shrinkage,
    )
    return NeighbourSumScorer(
        ratings,
        neighbour_weights=neighbour_weights,
        values=residuals,
        scores_of_sums=partial(_add_baselines, baselines=baselines),
        averaged=settings.denominator,
        max_count=settings.neighbours if is_by_item else None,
    )


def _add_baselines(
    sums: Sparse, neighbour_weights: Sparse, histories: Sparse, *, baselines: Baselines
) -> Floats:
    """Add the baselines of users and items to the sums of residuals over neighbours.

    Sums and the users' own ratings (``histories``) are of shape (n_block, n_items). An item that
    no neighbour has rated, and so has no entry in the sums, scores its baseline.
    """
    user_offsets = baselines.user_offsets(histories)[:, np.newaxis]
    return sums.toarray() + user_offsets + baselines.item_baselines
