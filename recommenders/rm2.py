"""RM2: a relevance model that multiplies the conditional probabilities of the user's items."""

from __future__ import annotations

from qrels import Ratings
from recommenders.kernels.language_models import (
    BackgroundWeight,
    RelevanceModelScorer,
    SmoothedSettings,
    smoothed_models,
    term_counts,
)
from recommenders.kernels.neighbours import NearestUsers, nearest_by_cosine
from recommenders.shared.system import Range, searched, system


class RM2Settings(SmoothedSettings):
    """Settings of RM2."""

    neighbours: NearestUsers = searched(50, Range(20, 200, log=True))
    background_weight: BackgroundWeight = searched(0.1, Range(0.01, 0.99))


@system(
    "rm2",
    family="relevance models",
    requires_nonnegative=True,
    source="Parapar, Bellogín, Castells & Barreiro (2013), Relevance-based language modelling "
    "for recommender systems, IP&M 49(4)",
)
def rm2(ratings: Ratings, settings: RM2Settings, *, seed: int) -> RelevanceModelScorer:
    r"""Multiply the probabilities of the user's items, each given the candidate item.

    .. math:: s_{ui} = p(i) \prod_{j \in I_u} \sum_{v \in V_u} \frac{p_v(i) p_v(j)}{p(i)}

    of which the score is the logarithm, less a constant of the user; with :math:`V_u` the k
    users of the highest cosine and :math:`p_v` the ratings of v as a language model, smoothed
    (:func:`recommenders.kernels.language_models.smoothed_models`). All items with ratings in
    training are scored.

    The formula is known from the paper, and with uniform priors and Jelinek-Mercer smoothing
    from a program by one of the authors of the later work. The neighbours came from clusters
    there; cosines, and k, are inferred.
    """
    matrix = term_counts(ratings)
    models = smoothed_models(matrix, background_weight=settings.background_weight)
    neighbours = nearest_by_cosine(matrix, count=settings.neighbours)
    return RelevanceModelScorer(ratings, neighbours, models)
