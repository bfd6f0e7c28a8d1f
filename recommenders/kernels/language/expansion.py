"""Term weighting of query expansion: an item is judged by its share among neighbours and in all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qrels import Ratings
from recommenders.kernels.language.language_models import counts
from recommenders.kernels.neighbourhoods.neighbour_sums import NeighbourSumScorer
from recommenders.kernels.neighbourhoods.neighbours import CosineNeighbours, NearestUsers, alike
from recommenders.shared.scorers import filled
from recommenders.shared.search_space import Range
from recommenders.shared.sparse import row_of_entry, row_sums, with_data
from recommenders.shared.system import Settings, searched

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# From the probability of items among the neighbours, and in all, to their weights.
Weighting: TypeAlias = Callable[
    [NDArray[np.float64], NDArray[np.float64]],
    NDArray[np.float64],
]


class ExpansionSettings(Settings):
    """What systems that weigh by two probabilities can be told."""

    neighbours: NearestUsers = searched(200, Range(25, 1000, log=True))
    estimator: Literal["nln", "mle"] = Field(
        "nln",
        description='Estimate of the probabilities: "mle", shares of the sum of ratings, or '
        '"nln", these divided by the number of users summed over (neighbourhood length '
        "normalisation).",
    )


def expansion_scorer(
    ratings: Ratings, weighting: Weighting, settings: ExpansionSettings, *, system: str
) -> NeighbourSumScorer:
    r"""Weigh items by their probability among the neighbours against that in the collection.

    .. math:: p_V(i) = \frac{N_{ui}}{\sum_j N_{uj}}, \quad
              p_C(i) = \frac{\sum_u r_{ui}}{\sum_{u,j} r_{uj}}, \quad
              N_{ui} = \sum_{v \in V_u} r_{vi}

    under maximum likelihood; with length normalisation the first is divided by the number of
    neighbours, the second by the number of users. An item that no neighbour has rated gets NaN.
    The weight as a function of the two is one of a module, to be pickled. Ratings are refused as by
    `require_amounts`.
    """
    matrix = counts(ratings, system=system)
    neighbours = CosineNeighbours(matrix, settings.neighbours, weighing=alike)
    collection, normalised = matrix.sum(axis=0) / matrix.sum(), settings.estimator == "nln"
    if normalised:
        collection /= np.count_nonzero(ratings.user_counts())
    weights = partial(_weights, weighting=weighting, normalised=normalised, collection=collection)
    return NeighbourSumScorer(ratings, neighbours, matrix, weights)


def _weights(
    sums: csr_array[Any],
    near: csr_array[Any],
    histories: csr_array[Any],
    *,
    weighting: Weighting,
    normalised: bool,
    collection: NDArray[np.float64],
) -> NDArray[np.floating]:
    """Weigh the items of some users, given their sums over neighbours."""
    sizes = np.diff(near.indptr) if normalised else np.ones(near.shape[0], dtype=np.intp)
    totals = (row_sums(sums) * sizes)[row_of_entry(sums)]
    return filled(with_data(sums, weighting(sums.data / totals, collection[sums.indices])))
