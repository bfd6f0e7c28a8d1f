"""RSV: Robertson's selection value, Rocchio's weight times the probability among neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qrels import Ratings
from recommenders.kernels.language_models import term_counts
from recommenders.kernels.neighbours import NearestUsers, NeighbourSumScorer, nearest_by_cosine
from recommenders.shared.scorers import pattern, row_of_entry, to_dense, with_data
from recommenders.shared.system import Range, Settings, searched, system
from runs.shared.arrays import Sparse


class RSVSettings(Settings):
    """Settings of RSV."""

    neighbours: NearestUsers = searched(100, Range(25, 1000, log=True))


@system(
    "rsv",
    family="relevance feedback",
    requires_nonnegative=True,
    source="Valcarce, Parapar & Barreiro (2016), Efficient pseudo-relevance feedback methods for "
    "collaborative filtering recommendation, ECIR",
)
def rsv(ratings: Ratings, settings: RSVSettings, *, seed: int) -> NeighbourSumScorer:
    r"""Score items by the neighbours' mean rating times the item's probability among them.

    .. math:: s_{ui} = p_V(i) \cdot \frac{1}{|V_u|} \sum_{v \in V_u} r_{vi}, \quad
              p_V(i) = \frac{\sum_{v \in V_u} r_{vi}}{\sum_j \sum_{v \in V_u} r_{vj}}

    with the neighbourhood V of RW. Items that no neighbour has rated above 0 cannot be scored.

    With the same neighbours the lists are those of RW, whatever the data: with
    :math:`N_{ui} = \sum_{v \in V_u} r_{vi} \ge 0` the score is :math:`N_{ui}^2` over a number of
    the user's, and RW's is :math:`N_{ui}` over another. Dividing :math:`p_V` by the length of the
    neighbourhood, as KLD and CHI2 do, changes that number alone.

    Valcarce et al. (2018) print .0919 and .0918 for P@100 of the two. A form by which they would
    differ was not found. If this is their formula, it cannot be the cause; how many neighbours each
    was tuned to have may be, as five more or less move P@100 by .0002 to .0006 on MovieLens latest
    small. Two forms that do order items otherwise are no options here, as we know of no source that
    has them for recommendation: that of information retrieval, with :math:`p_V(i) - p_C(i)`, lowers
    P@100 there from .062 to .055; with the share of the neighbours who rated the item for
    :math:`p_V` it is .061.
    """
    matrix = term_counts(ratings)
    neighbours = pattern(nearest_by_cosine(matrix, count=settings.neighbours))
    return NeighbourSumScorer(ratings, neighbours, matrix, scores_of_sums=_selection_values)


def _selection_values(sums: Sparse, neighbours: Sparse, histories: Sparse) -> NDArray[np.floating]:
    r"""Compute the selection values of items for a block of users, of shape (n_block, n_items).

    .. math:: N_{ui}^2 / (|V_u| \sum_j N_{uj})

    with ``sums`` :math:`N_{ui}` of ratings over the neighbours :math:`V_u` of user u, of shape
    (n_block, n_items), which have entries for items that a neighbour has rated above 0; the values
    are NaN for other items. Row u of ``neighbours``, (n_block, n_users), has an entry for each
    neighbour. ``histories`` are not used.
    """
    n_neighbours = np.diff(neighbours.indptr)
    divisors_by_row = sums.sum(axis=1) * n_neighbours
    divisors = divisors_by_row[row_of_entry(sums)]
    return to_dense(with_data(sums, sums.data * (sums.data / divisors)))
