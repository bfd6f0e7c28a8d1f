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
    pattern,
    row_blocks,
    row_maxima,
    row_of_entry,
    row_sums,
    to_dense,
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
    """Settings that systems on smoothed models have in common, with defaults of their own."""

    neighbours: int
    background_weight: BackgroundWeight


@dataclass(frozen=True, eq=False)
class LanguageModels:
    r"""A smoothed distribution over the columns for every row of a matrix.

    .. math:: p_v(j) = f_{vj} + \beta_v \, p_C(j)

    ``foreground`` is :math:`f`, of shape (n_rows, n_columns), with entries where there are ratings.
    ``background_shares`` is :math:`\beta`, in (0, 1], of shape (n_rows,). ``collection`` is
    :math:`p_C`, of shape (n_columns,), 0 for a column without ratings.
    """

    foreground: Sparse
    background_shares: Floats
    collection: Floats

    def ratios(self) -> Sparse:
        """Divide the foreground by the collection, of shape (n_rows, n_columns); 0 or more."""
        foreground = self.foreground
        return with_data(foreground, foreground.data / self.collection[foreground.indices])

    @cached_property
    def gains_by_column(self) -> Sparse:
        r"""What a rating adds to the log-probability, :math:`\log(p_v(j) / (\beta_v p_C(j)))`.

        The matrix is transposed, of shape (n_columns, n_rows): row j holds the gains of column j.
        """
        shares = self.background_shares[row_of_entry(self.foreground)]
        gains = np.log1p(self.ratios().data / shares)
        return with_data(self.foreground, gains).T.tocsr()


def smoothed_models(matrix: Sparse, *, background_weight: float) -> LanguageModels:
    r"""Estimate the language model of each row, smoothed by Jelinek and Mercer's method.

    .. math:: p_v(j) = (1 - \lambda) r_{vj} / d_v + \lambda p_C(j)

    with :math:`d_v` the sum of a row and :math:`\lambda` the background weight. Ratings, of shape
    (n_rows, n_columns), are at least 0 and not all 0. The model of a row without any is the
    collection.
    """
    sums = row_sums(matrix)
    divisors = np.where(sums > 0, sums, 1.0)[row_of_entry(matrix)]
    foreground = (1 - background_weight) * matrix.data / divisors
    background_shares = np.where(sums > 0, background_weight, 1.0)
    collection = matrix.sum(axis=0) / sums.sum()
    return LanguageModels(with_data(matrix, foreground), background_shares, collection)


def term_counts(ratings: Ratings) -> Sparse:
    """Return the ratings as counts of terms (items) in documents (users), without those of 0.

    The matrix is of shape (n_users, n_items).
    """
    matrix = ratings.matrix()
    matrix.eliminate_zeros()
    return matrix


def nearest_by_likelihood(matrix: Sparse, settings: SmoothedSettings) -> Sparse:
    r"""Find the rows whose models give a row the highest likelihood, and weigh them.

    .. math:: \log p(u|v) = \sum_j r_{uj} \log p_v(j)

    Only rows with a column in common are neighbours, as in the inverted index of a search
    engine. With :math:`d_u` the sum of the ratings of u the weights are

    .. math:: \left(\frac{p(u|v)}{\max_w p(u|w)}\right)^{1/d_u}

    Ratings, of shape (n_rows, n_columns), are above 0. Row u of the result, (n_rows, n_rows), holds
    the weights of at most ``settings.neighbours`` neighbours, without u itself; see `nearest`.
    """
    models = smoothed_models(matrix, background_weight=settings.background_weight)
    log_shares = np.log(models.background_shares)  # (n_rows,)
    sums = row_sums(matrix)

    def mean_log_odds(rows: slice) -> Floats:
        r"""Compute :math:`\log p(u|v) / d_u` up to a constant of u: (rows of the slice, n_rows).

        Minus infinity where no column is common to both. ``models.gains_by_column``, (n_columns,
        n_rows), holds :math:`\log(p_v(j) / (\beta_v p_C(j)))`, above 0, with the background share
        :math:`\beta_v` of row v.
        """
        values = dense_product(matrix[rows], models.gains_by_column)
        has_common_column = values > 0
        np.divide(values, sums[rows, np.newaxis], out=values, where=has_common_column)
        values += log_shares
        values[~has_common_column] = -np.inf
        return values

    log_weights = nearest(mean_log_odds, n_rows=len(sums), count=settings.neighbours)
    highest = row_maxima(log_weights)[row_of_entry(log_weights)]
    return with_data(log_weights, np.exp(log_weights.data - highest))


def log_odds_of_neighbours(matrix: Sparse, models: LanguageModels, graph: Sparse) -> Floats:
    r"""Compute :math:`\log p(u|v) - \log p_C(u)` for every entry (u, v) of a graph.

    Parameters
    ----------
    matrix
        Weights :math:`r_{uj}` of what the models explain, such as ratings, or 1 for each: of shape
        (n_rows, n_columns).
    models
        Language models of the same rows.
    graph
        Neighbours: row u has an entry for each neighbour v, of shape (n_rows, n_rows).

    Returns
    -------
    One value for each entry of the graph, of shape (nnz,).

    Notes
    -----
    It is the sum over j of :math:`r_{uj}` times :math:`\log \beta_v`, the log of the background
    share of v, plus the gain :math:`\log(p_v(j) / (\beta_v p_C(j)))`, 0 where v has no rating.
    """
    rows = row_of_entry(graph)
    log_shares = np.log(models.background_shares)
    log_odds = row_sums(matrix)[rows] * log_shares[graph.indices]
    for block in row_blocks(matrix.shape[0], row_bytes=8 * graph.shape[1]):
        first, end = graph.indptr[[block.start, block.stop]]
        block_rows = rows[first:end] - block.start
        columns = graph.indices[first:end]
        gains = dense_product(matrix[block], models.gains_by_column)
        log_odds[first:end] += gains[block_rows, columns]
    return log_odds


LOG_OF_LARGEST = 0.99 * np.log(np.finfo(np.float64).max)
"""Logarithm of the largest float64, less 1 % for rounding."""


@dataclass(frozen=True, eq=False)
class RelevanceModelScorer(TrainedOnRatings):
    r"""Conditional sampling, one user at a time.

    .. math:: (1 - |I_u|) \log p(i) + \sum_{j \in I_u} \log \sum_{v \in V_u} p(v) p_v(i) p_v(j)

    up to a constant of the user: the best item that the user has not rated scores 0. All models
    are divided by the collection, so that float64 holds products of many. A user without
    ratings, or without neighbours, scores NaN. Priors of users and items are uniform.

    ``neighbours``, of shape (n_users, n_users), has in row u an entry for each neighbour
    :math:`v \in V_u`, whatever its value.
    """

    neighbours: Sparse
    models: LanguageModels

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these training users; NaN for items without ratings."""
        all_items = np.ones(len(self.items), dtype=np.bool_)
        return self.score_best(user_numbers, all_items, depth=0)

    def score_best(self, user_numbers: Ints, candidates: Masks, *, depth: int) -> Singles:
        """Score the items that may be among the best ``depth`` candidates; see `BestScorer`.

        Candidates are a mask over the items, (n_items,). Scores are float32 of shape (n_rows,
        n_items), 0 for the best item that the user has not rated, and minus infinity for items that
        are surely not among the best. With a depth of 0 all items are scored, but NaN without
        ratings. Users without neighbours have NaN.

        ``self._ratios``, (n_users, n_items), are the models of users divided by the probabilities
        of items in the collection, whose logarithms are ``self._log_collection``, (n_items,);
        ``self._factors_at_once`` is the number of factors whose product surely is a float64.
        """
        from recommenders.kernels.relevance_loop import Models, add_log_odds

        neighbours = self.neighbours[user_numbers]
        histories = self.histories[user_numbers]
        history_sizes = np.diff(histories.indptr)
        # This undoes the division by the collection.
        scores = history_sizes[:, np.newaxis] * self._log_collection
        ratios = self._ratios
        models = Models(
            starts=ratios.indptr,
            items=ratios.indices,
            values=ratios.data,
            shares=self.models.background_shares.astype(np.float32),
        )
        add_log_odds(
            neighbours.indptr,
            neighbours.indices,
            histories.indptr,
            histories.indices,
            models,
            self._factors_at_once,
            candidates,
            depth,
            scores,
        )
        scores -= _highest_unrated(scores, histories)[:, np.newaxis]
        scores[np.diff(neighbours.indptr) == 0] = np.nan
        return scores.astype(np.float32)

    @cached_property
    def _ratios(self) -> Sparse:
        """Foreground of the models divided by the collection: float32, (n_users, n_items)."""
        return self.models.ratios().astype(np.float32)

    @cached_property
    def _factors_at_once(self) -> int:
        """Number of factors whose product surely is a float64.

        No factor, a mean over neighbours, is above the highest value of one neighbour.
        """
        shares = self.models.background_shares[row_of_entry(self._ratios)]
        highest = 1 + max(1.0, (self._ratios.data / shares).max())
        return max(1, int(LOG_OF_LARGEST / np.log(highest)))

    @cached_property
    def _log_collection(self) -> Floats:
        """Log-probabilities of the collection, (n_items,); NaN for items without ratings."""
        collection = self.models.collection
        undefined = np.full(collection.shape, np.nan)
        return np.log(collection, out=undefined, where=collection > 0)


def _highest_unrated(scores: Floats, histories: Sparse) -> Floats:
    """Find the highest score of each row among the items without a rating in the same row.

    Both are of shape (n_rows, n_items), the result of shape (n_rows,): 0 if no such item has a
    finite score.
    """
    unrated_scores = np.where(np.isnan(scores), -np.inf, scores)
    unrated_scores[row_of_entry(histories), histories.indices] = -np.inf
    highest = unrated_scores.max(axis=1)
    return np.where(np.isfinite(highest), highest, 0.0)


Weighting: TypeAlias = Callable[[Floats, Floats], Floats]
"""Computes weights of items from their probabilities among the neighbours and in the collection.

All are of one shape, and above 0.
"""


class ExpansionSettings(Settings):
    """Settings that systems have in common that weigh items by the two probabilities."""

    neighbours: NearestUsers = searched(200, Range(25, 1000, log=True))


def expansion_scorer(
    ratings: Ratings, weighting: Weighting, settings: ExpansionSettings
) -> NeighbourSumScorer:
    r"""Weigh items by their probability among the neighbours against that in the collection.

    .. math:: p_V(i) = \frac{N_{ui}}{|V_u| \sum_j N_{uj}}, \quad
              p_C(i) = \frac{\sum_u r_{ui}}{|U| \sum_{u,j} r_{uj}}, \quad
              N_{ui} = \sum_{v \in V_u} r_{vi}

    which are normalised by the length of the neighbourhood, and by the number of users. An item
    that no neighbour has rated gets NaN. ``weighting`` computes the weight from the two; it is a
    function of a module, so that it can be pickled.
    """
    matrix = term_counts(ratings)
    neighbours = pattern(nearest_by_cosine(matrix, count=settings.neighbours))
    n_users = np.count_nonzero(ratings.user_counts())
    collection = matrix.sum(axis=0) / matrix.sum() / n_users
    return NeighbourSumScorer(
        ratings,
        neighbour_weights=neighbours,
        values=matrix,
        scores_of_sums=partial(_weights, weighting=weighting, collection=collection),
    )


def _weights(
    sums: Sparse,
    neighbours: Sparse,
    histories: Sparse,
    *,
    weighting: Weighting,
    collection: Floats,
) -> NDArray[np.floating]:
    """Weigh items by their probabilities among the neighbours of a block of users, and in all.

    Sums of ratings over neighbours are of shape (n_block, n_items), with entries for items that a
    neighbour has rated; the weights are NaN for other items. Row u of ``neighbours``, (n_block,
    n_users), has an entry for each neighbour. ``collection`` holds the probabilities of the items
    in the collection, (n_items,); ``weighting`` computes the weights from both probabilities.
    """
    n_neighbours = np.diff(neighbours.indptr)
    totals = (row_sums(sums) * n_neighbours)[row_of_entry(sums)]
    weights = weighting(sums.data / totals, collection[sums.indices])
    return to_dense(with_data(sums, weights))
