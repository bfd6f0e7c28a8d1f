"""Term weighting of query expansion: an item is judged by its share among neighbours and in all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recommenders.kernels.language_models import counts
from recommenders.kernels.neighbour_sums import NeighbourSumScorer, neighbourhood_sizes
from recommenders.kernels.neighbours import nearest_by_cosine
from recommenders.shared.scorers import filled
from recommenders.shared.sparse import pattern, row_of_entry, row_sums, with_data

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from qrels import Ratings

Estimator: TypeAlias = Annotated[
    Literal["nln", "mle"],
    Field(
        description='Estimate of the probabilities: "mle", shares of the sum of ratings, or '
        '"nln", these divided by the number of users summed over (neighbourhood length '
        "normalisation).",
    ),
]
# From the probability of items among the neighbours, and in all, to their weights.
Weighting: TypeAlias = Callable[
    [NDArray[np.float64], NDArray[np.float64]],
    NDArray[np.float64],
]


@dataclass(frozen=True, eq=False)
class ExpansionWeights:
    r"""Weighs items by their probability among the neighbours against that in the collection.

    .. math:: p_V(i) = \frac{N_{ui}}{\sum_j N_{uj}}, \quad
              p_C(i) = \frac{\sum_u r_{ui}}{\sum_{u,j} r_{uj}}, \quad
              N_{ui} = \sum_{v \in V_u} r_{vi}

    under maximum likelihood; with length normalisation the first is divided by the number of
    neighbours, the second by the number of users. An item that no neighbour has rated gets NaN.

    Parameters
    ----------
    weighting
        The weight as a function of the two; a function of a module, to be pickled.
    sizes
        Number of neighbours by which :math:`p_V` is divided, of shape (n_users,).
    collection
        :math:`p_C`, divided likewise, of shape (n_items,).
    """

    weighting: Weighting
    sizes: NDArray[np.intp]
    collection: NDArray[np.float64]

    def __call__(
        self, sums: csr_array[Any], user_numbers: NDArray[np.int32]
    ) -> NDArray[np.floating]:
        """Weigh the items of these users, given their sums over neighbours."""
        totals = (row_sums(sums) * self.sizes[user_numbers])[row_of_entry(sums)]
        weights = self.weighting(sums.data / totals, self.collection[sums.indices])
        return filled(with_data(sums, weights))


def expansion_scorer(
    ratings: Ratings, weighting: Weighting, *, system: str, neighbours: int, estimator: Estimator
) -> NeighbourSumScorer:
    """Train a system that weighs items by their probability among neighbours and in all.

    Ratings are refused as by `require_amounts`.
    """
    matrix = counts(ratings, system=system)
    graph = nearest_by_cosine(matrix, count=neighbours)
    sizes, n_users = neighbourhood_sizes(graph), np.count_nonzero(ratings.user_counts())
    collection = matrix.sum(axis=0) / matrix.sum()
    if estimator == "mle":
        weights = ExpansionWeights(weighting, np.ones_like(sizes), collection)
    else:
        weights = ExpansionWeights(weighting, sizes, collection / n_users)
    return NeighbourSumScorer(ratings, pattern(graph), matrix, weights)
