"""Language models of users and items: smoothing, likelihoods, relevance models, expansion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qrels import Ratings
from recommenders.kernels.neighbours import (
    NearestUsers,
    NeighbourSumScorer,
    dense_product,
    nearest,
    nearest_by_cosine,
)
from recommenders.shared.scorers import (
    TrainedOnRatings,
    filled,
    pattern,
    row_blocks,
    row_maxima,
    row_of_entry,
    row_sums,
    with_data,
)
from recommenders.shared.system import Range, Settings, searched
from runs.shared.arrays import Floats, Ints, Masks, Singles, Sparse

BackgroundWeight: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        lt=1,
        description="Weight of the collection model (Jelinek-Mercer smoothing; the paper's "
        "lambda): between 0 and 1.",
    ),
]


class SmoothedSettings(Settings):
    """What systems on smoothed models have in common; each has its own neighbours and weight."""

    neighbours: int
    background_weight: BackgroundWeight


@dataclass(frozen=True, eq=False)
class LanguageModels:
    r"""A smoothed distribution over the columns for every row of a matrix.

    .. math:: p_v(j) = s_{vj} + \beta_v \, p_C(j)

    What was seen, :math:`s`, is of shape (n_rows, n_columns), with entries where there are ratings;
    the shares :math:`\beta`, in (0, 1], are of shape (n_rows,), and the collection :math:`p_C`, 0
    for a column without ratings, of shape (n_columns,).
    """

    seen: Sparse
    background_shares: Floats
    collection: Floats

    def ratios(self) -> Sparse:
        """Divide what was seen by the collection: 0 or more, one for each entry."""
        return with_data(self.seen, self.seen.data / self.collection[self.seen.indices])

    @cached_property
    def gains_by_column(self) -> Sparse:
        r"""What a rating adds to the logarithm, with columns as rows, of shape (n_columns, n_rows).

        It is :math:`\log(p_v(j) / (\beta_v p_C(j)))`.
        """
        shares = self.background_shares[row_of_entry(self.seen)]
        return with_data(self.seen, np.log1p(self.ratios().data / shares)).T.tocsr()


def smoothed(matrix: Sparse, *, background_weight: float) -> LanguageModels:
    r"""Estimate the model of each row, smoothed by Jelinek and Mercer's method.

    .. math:: p_v(j) = (1 - \lambda) r_{vj} / d_v + \lambda p_C(j)

    with :math:`d_v` the sum of a row and :math:`\lambda` the background weight. Ratings are not
    below 0 and not all 0; a row without any is the collection.
    """
    sums = row_sums(matrix)
    divisors = np.where(sums > 0, sums, 1.0)[row_of_entry(matrix)]
    seen = (1 - background_weight) * matrix.data / divisors
    shares = np.where(sums > 0, background_weight, 1.0)
    return LanguageModels(with_data(matrix, seen), shares, matrix.sum(axis=0) / sums.sum())


def counts(ratings: Ratings) -> Sparse:
    """Read ratings as counts of words, of shape (n_users, n_items), those of 0 left out."""
    matrix = ratings.matrix()
    matrix.eliminate_zeros()
    return matrix


def nearest_by_likelihood(matrix: Sparse, settings: SmoothedSettings) -> Sparse:
    r"""Find the rows whose models give a row the highest likelihood, and weigh them.

    .. math:: \log p(u|v) = \sum_j r_{uj} \log p_v(j)

    Only rows with a column in common are neighbours, as in the inverted index of a search
    engine. With :math:`d_u` the sum of the ratings of u the weights are

    .. math:: \left(\frac{p(u|v)}{\max_w p(u|w)}\right)^{1/d_u}

    Ratings, of shape (n_rows, n_columns), are above 0; see `nearest` for the graph.
    """
    models = smoothed(matrix, background_weight=settings.background_weight)
    log_shares, sums = np.log(models.background_shares), row_sums(matrix)

    def likeness(rows: slice) -> Floats:
        values = dense_product(matrix[rows], models.gains_by_column)
        explained = values > 0
        np.divide(values, sums[rows, np.newaxis], out=values, where=explained)
        values += log_shares
        values[~explained] = -np.inf
        return values

    graph = nearest(likeness, n_rows=len(sums), count=settings.neighbours)
    return with_data(graph, np.exp(graph.data - row_maxima(graph)[row_of_entry(graph)]))


def log_odds_of_neighbours(matrix: Sparse, models: LanguageModels, graph: Sparse) -> Floats:
    r"""Give :math:`\log p(u|v) - \log p_C(u)` for every entry (u, v) of a graph.

    What is explained, of shape (n_rows, n_columns), are ratings, or 1 for each.
    """
    rows = row_of_entry(graph)
    odds = row_sums(matrix)[rows] * np.log(models.background_shares)[graph.indices]
    for block in row_blocks(matrix.shape[0], row_bytes=8 * graph.shape[1]):
        entries = slice(graph.indptr[block.start], graph.indptr[block.stop])
        gains = dense_product(matrix[block], models.gains_by_column)
        odds[entries] += gains[rows[entries] - block.start, graph.indices[entries]]
    return odds


# With some room for rounding.
LOG_OF_LARGEST = 0.99 * np.log(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class RelevanceModelScorer(TrainedOnRatings):
    r"""Conditional sampling, one user at a time.

    .. math:: (1 - |I_u|) \log p(i) + \sum_{j \in I_u} \log \sum_{v \in V_u} p(v) p_v(i) p_v(j)

    up to a constant of the user: the best item that the user has not rated scores 0. All models
    are divided by the collection, so that float64 holds products of many. A user without
    ratings, or without neighbours, scores NaN. Neighbours :math:`V` are those near, whatever their
    weights; priors of users and items are uniform.
    """

    near: Sparse
    models: LanguageModels

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these training users; NaN for items without ratings."""
        every_item = np.ones(len(self.items), dtype=np.bool_)
        return self.score_best(user_numbers, every_item, depth=0)

    def score_best(self, user_numbers: Ints, candidates: Masks, *, depth: int) -> Singles:
        """Score the items that may be among the best of the candidates; see `BestScorer`."""
        from recommenders.kernels.relevance_loop import Models, add_log_odds

        near, own = self.near[user_numbers], self.histories[user_numbers]
        # This undoes the division by the collection.
        scores = np.diff(own.indptr)[:, np.newaxis] * self._log_collection
        ratios, shares = self._ratios, self.models.background_shares.astype(np.float32)
        models = Models(ratios.indptr, ratios.indices, ratios.data, shares)
        rows = (near.indptr, near.indices, own.indptr, own.indices)
        add_log_odds(*rows, models, self._factors_at_once, candidates, depth, scores)
        scores -= _best_of_others(scores, own)[:, np.newaxis]
        scores[np.diff(near.indptr) == 0] = np.nan
        return scores.astype(np.float32)

    @cached_property
    def _ratios(self) -> Sparse:
        return self.models.ratios().astype(np.float32)

    @cached_property
    def _factors_at_once(self) -> int:
        """How many factors float64 holds at the most, none being above that of one neighbour."""
        shares = self.models.background_shares[row_of_entry(self._ratios)]
        highest = 1 + max(1.0, (self._ratios.data / shares).max())
        return max(1, int(LOG_OF_LARGEST / np.log(highest)))

    @cached_property
    def _log_collection(self) -> Floats:
        known = self.models.collection > 0
        return np.log(self.models.collection, out=np.full(known.shape, np.nan), where=known)


def _best_of_others(scores: Floats, own: Sparse) -> Floats:
    """Give the highest score of each row among the items that its user has not rated, or 0."""
    others = np.where(np.isnan(scores), -np.inf, scores)
    others[row_of_entry(own), own.indices] = -np.inf
    best = others.max(axis=1)
    return np.where(np.isfinite(best), best, 0.0)


# From the probability of items among the neighbours, and in all, to their weights.
Weighting: TypeAlias = Callable[[Floats, Floats], Floats]


class ExpansionSettings(Settings):
    """What systems that weigh by two probabilities can be told."""

    neighbours: NearestUsers = searched(200, Range(25, 1000, log=True))


def expansion_scorer(
    ratings: Ratings, weighting: Weighting, settings: ExpansionSettings
) -> NeighbourSumScorer:
    r"""Weigh items by their probability among the neighbours against that in the collection.

    .. math:: p_V(i) = \frac{N_{ui}}{|V_u| \sum_j N_{uj}}, \quad
              p_C(i) = \frac{\sum_u r_{ui}}{|U| \sum_{u,j} r_{uj}}, \quad
              N_{ui} = \sum_{v \in V_u} r_{vi}

    which are normalised by the length of the neighbourhood, and by the number of users. An item
    that no neighbour has rated gets NaN. The weight as a function of the two is one of a module, to
    be pickled.
    """
    matrix = counts(ratings)
    near = pattern(nearest_by_cosine(matrix, count=settings.neighbours))
    collection = matrix.sum(axis=0) / matrix.sum() / np.count_nonzero(ratings.user_counts())
    weights = partial(_weights, weighting=weighting, collection=collection)
    return NeighbourSumScorer(ratings, near, matrix, weights)


def _weights(
    sums: Sparse, near: Sparse, histories: Sparse, *, weighting: Weighting, collection: Floats
) -> NDArray[np.floating]:
    """Weigh the items of some users, given their sums over neighbours."""
    totals = (row_sums(sums) * np.diff(near.indptr))[row_of_entry(sums)]
    return filled(with_data(sums, weighting(sums.data / totals, collection[sums.indices])))
