"""LM-WSR-IB: a weighted sum over the items whose language models explain an item best."""

from __future__ import annotations

from qrels import Ratings
from recommenders.kernels.language_models import (
    BackgroundWeight,
    SmoothedSettings,
    nearest_by_likelihood,
    term_counts,
)
from recommenders.shared.scorers import LinearItemScorer
from recommenders.shared.system import AtLeastOne, Range, searched, system


class LMWSRIBSettings(SmoothedSettings):
    """Settings of LM-WSR-IB."""

    neighbours: AtLeastOne = searched(
        100, Range(10, 200, log=True), "Number of most likely items (the paper's k): at least 1."
    )
    background_weight: BackgroundWeight = searched(0.97, Range(0.1, 0.999))


@system(
    "lm-wsr-ib",
    family="neighbours",
    requires_nonnegative=True,
    source="Valcarce, Parapar & Barreiro (2016), Language models for collaborative filtering "
    "neighbourhoods, ECIR",
)
def lm_wsr_ib(ratings: Ratings, settings: LMWSRIBSettings, *, seed: int) -> LinearItemScorer:
    r"""Sum the user's ratings of the items whose language models best explain the candidate.

    .. math:: s_{ui} = \sum_{j \in J_i} s_{ij} r_{uj}, \quad
              \log p(i|j) = \sum_v r_{vi} \log p_j(v)

    with :math:`J_i` the k items of the highest likelihood among those with a user in common,
    and :math:`p_j` the ratings of item j as a language model over users, smoothed
    (:func:`recommenders.kernels.language_models.smoothed_models`). An item is scored where the
    user has rated one of :math:`J_i` above 0.

    What is known and what inferred, see LM-WSR-UB: this is the same on the transposed matrix.
    Much depends on a high background weight: with less of it, items with few ratings come first.
    """
    item_neighbours = nearest_by_likelihood(term_counts(ratings).T.tocsr(), settings)
    return LinearItemScorer(ratings, item_neighbours.T.tocsr(), by_rating=True)
