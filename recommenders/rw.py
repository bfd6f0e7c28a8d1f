"""RW: Rocchio's weights, the mean rating among neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qrels import Ratings
from recommenders.kernels.neighbours import NearestUsers, NeighbourSumScorer, nearest_by_cosine
from recommenders.shared.scorers import pattern, row_of_entry, to_dense, with_data
from recommenders.shared.system import Range, Settings, searched, system
from runs.shared.arrays import Sparse


class RWSettings(Settings):
    """Settings of RW."""

    neighbours: NearestUsers = searched(100, Range(25, 1000, log=True))


@system(
    "rw",
    family="relevance feedback",
    source="Valcarce, Parapar & Barreiro (2016), Efficient pseudo-relevance feedback methods for "
    "collaborative filtering recommendation, ECIR",
)
def rw(ratings: Ratings, settings: RWSettings, *, seed: int) -> NeighbourSumScorer:
    r"""Score items by the neighbours' mean rating (Rocchio's weights).

    .. math:: s_{ui} = \frac{1}{|V_u|} \sum_{v \in V_u} r_{vi}

    with :math:`V_u` the k users of the highest cosine of ratings, missing ones being 0;
    cosines must be positive. The divisor is that of Rocchio's formula and changes no order.
    Items whose sum is 0, as no neighbour has rated them, cannot be scored: the
    terms of an expansion come from the feedback documents.

    The formula is known from the paper; k is not. The default does well on MovieLens-like data.
    """
    matrix = ratings.matrix()
    neighbours = pattern(nearest_by_cosine(matrix, count=settings.neighbours))
    return NeighbourSumScorer(ratings, neighbours, matrix, scores_of_sums=_means)


def _means(sums: Sparse, neighbours: Sparse, histories: Sparse) -> NDArray[np.floating]:
    """Divide the sums of ratings over neighbours by the number of neighbours.

    Sums are of shape (n_block, n_items), with entries for items that a neighbour has rated; the
    means are NaN for other items. Row u of ``neighbours``, (n_block, n_users), has an entry for
    each neighbour.
    """
    n_neighbours = np.diff(neighbours.indptr)
    means = sums.data / n_neighbours[row_of_entry(sums)]
    return to_dense(with_data(sums, means))
