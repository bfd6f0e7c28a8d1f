"""RM1: a relevance model that mixes the neighbours, weighted by their likelihood."""

from __future__ import annotations

from functools import partial

import numpy as np

from qrels import Ratings
from recommenders.kernels.language_models import (
    BackgroundWeight,
    LanguageModels,
    SmoothedSettings,
    log_odds_of_neighbours,
    smoothed_models,
    term_counts,
)
from recommenders.kernels.neighbours import NearestUsers, NeighbourSumScorer, nearest_by_cosine
from recommenders.shared.scorers import pattern, row_maxima, row_of_entry, with_data
from recommenders.shared.system import Range, searched, system
from runs.shared.arrays import Floats, Sparse


class RM1Settings(SmoothedSettings):
    """Settings of RM1."""

    neighbours: NearestUsers = searched(100, Range(25, 400, log=True))
    background_weight: BackgroundWeight = searched(0.8, Range(0.01, 0.99))


@system(
    "rm1",
    family="relevance models",
    requires_nonnegative=True,
    source="Parapar, Bellogín, Castells & Barreiro (2013), Relevance-based language modelling "
    "for recommender systems, IP&M 49(4)",
)
def rm1(ratings: Ratings, settings: RM1Settings, *, seed: int) -> NeighbourSumScorer:
    r"""Mix the language models of the neighbours, weighted by the user's likelihood under each.

    .. math:: s_{ui} = \sum_{v \in V_u} w_{uv} \, p_v(i), \quad
              w_{uv} \propto \prod_{j \in I_u} p_v(j)

    with :math:`V_u` the k users of the highest cosine and :math:`p_v` the ratings of v as a
    language model, smoothed (:func:`recommenders.kernels.language_models.smoothed_models`). All
    items with ratings in training are scored.

    The formula is known from the paper. Its neighbours came from clusters; cosines are those
    of later work by its authors. Smoothing and k are inferred: of so many factors one
    neighbour tends to outweigh the others, the less so the more weight the background has.
    """
    matrix = term_counts(ratings)
    models = smoothed_models(matrix, background_weight=settings.background_weight)
    neighbours = nearest_by_cosine(matrix, count=settings.neighbours)
    # Every item rated above 0 counts once in the likelihood.
    log_odds = log_odds_of_neighbours(pattern(matrix), models, neighbours)
    weights = _softmax_of_rows(with_data(neighbours, log_odds))
    return NeighbourSumScorer(
        ratings,
        neighbour_weights=weights,
        values=models.foreground,
        scores_of_sums=partial(_add_background, models=models),
    )


def _softmax_of_rows(logarithms: Sparse) -> Sparse:
    """Replace every stored entry by its exponential, divided by the sum of those of its row.

    The result is a new matrix of the same shape and entries, whose rows sum to 1; an empty row
    stays empty. The highest entry of a row is subtracted first, so that nothing overflows.
    """
    rows = row_of_entry(logarithms)
    exponentials = np.exp(logarithms.data - row_maxima(logarithms)[rows])
    sums = np.bincount(rows, exponentials, minlength=logarithms.shape[0])
    return with_data(logarithms, exponentials / sums[rows])


def _add_background(
    sums: Sparse, neighbour_weights: Sparse, histories: Sparse, *, models: LanguageModels
) -> Floats:
    """Add the background of the neighbours' models to the sums of their foregrounds.

    Sums, (n_block, n_items), and background are weighted by the neighbours' weights, (n_block,
    n_users). NaN for a user without neighbours, and for an item without training ratings.
    """
    background_weights = neighbour_weights @ models.background_shares
    background = background_weights[:, np.newaxis] * models.collection
    return sums.toarray() + np.where(background > 0, background, np.nan)
