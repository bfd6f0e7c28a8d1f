"""LM-WSR-UB: a weighted sum over the users whose language models explain the user best."""

from __future__ import annotations

from qrels import Ratings
from recommenders.kernels.language_models import (
    BackgroundWeight,
    SmoothedSettings,
    nearest_by_likelihood,
    term_counts,
)
from recommenders.kernels.neighbours import NeighbourSumScorer
from recommenders.shared.system import AtLeastOne, Range, searched, system


class LMWSRUBSettings(SmoothedSettings):
    """Settings of LM-WSR-UB."""

    neighbours: AtLeastOne = searched(
        100, Range(25, 400, log=True), "Number of most likely users (the paper's k): at least 1."
    )
    background_weight: BackgroundWeight = searched(0.9, Range(0.1, 0.999))


@system(
    "lm-wsr-ub",
    family="neighbours",
    requires_nonnegative=True,
    source="Valcarce, Parapar & Barreiro (2016), Language models for collaborative filtering "
    "neighbourhoods, ECIR",
)
def lm_wsr_ub(ratings: Ratings, settings: LMWSRUBSettings, *, seed: int) -> NeighbourSumScorer:
    r"""Sum the ratings of the users whose language models best explain the user's ratings.

    .. math:: s_{ui} = \sum_{v \in V_u} s_{uv} r_{vi}, \quad
              \log p(u|v) = \sum_j r_{uj} \log p_v(j)

    with :math:`V_u` the k users of the highest likelihood among those with an item in common,
    and :math:`p_v` the ratings of v as a language model, smoothed
    (:func:`recommenders.kernels.language_models.smoothed_models`). An item without a rating
    above 0 by a neighbour cannot be scored.

    The sum and the likelihood are known from the paper, its weights :math:`s_{uv}` are not:
    the likelihood itself would leave one neighbour only, so its geometric mean over the
    ratings stands here:
    :func:`recommenders.kernels.language_models.nearest_by_likelihood`.
    """
    matrix = term_counts(ratings)
    neighbour_weights = nearest_by_likelihood(matrix, settings)
    return NeighbourSumScorer(ratings, neighbour_weights, values=matrix)
