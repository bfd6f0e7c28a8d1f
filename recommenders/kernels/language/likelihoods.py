"""Query likelihood: how well the language model of one row explains the ratings of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recommenders.kernels.language.language_models import LanguageModels, SmoothedSettings, smoothed
from recommenders.kernels.neighbourhoods.neighbours import Likeness, nearest
from recommenders.kernels.neighbourhoods.products import dense_product
from recommenders.shared.blocks import row_blocks
from recommenders.shared.sparse import row_maxima, row_of_entry, row_sums, with_data

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Weights: TypeAlias = Literal["likelihood", "gain", "uniform"]


class LikelihoodSettings(SmoothedSettings):
    """What systems whose neighbours explain a row best have in common."""

    weights: Weights = Field(
        "likelihood",
        description='What a neighbour weighs: "likelihood", the geometric mean over the ratings '
        'relative to the nearest; "gain", the mean logarithm over what a neighbour that has '
        'rated none of them would give; "uniform", 1.',
    )


def nearest_by_likelihood(matrix: csr_array[Any], settings: LikelihoodSettings) -> csr_array[Any]:
    r"""Find the rows whose models give a row the highest likelihood, and weigh them.

    .. math:: \log p(u|v) = \sum_j r_{uj} \log p_v(j)

    Only rows with a column in common are neighbours, as in the inverted index of a search
    engine. With :math:`d_u` the sum of the ratings of u and :math:`\beta_v p_C` the background
    of a model, the weights are

    .. math::

        \left(\frac{p(u|v)}{\max_w p(u|w)}\right)^{1/d_u}, \quad
        \frac{1}{d_u} \sum_j r_{uj} \log \frac{p_v(j)}{\beta_v p_C(j)}, \quad 1

    of which the second is what search engines score under Jelinek-Mercer smoothing. Ratings, of
    shape (n_rows, n_columns), are above 0; row u of the graph, of shape (n_rows, n_rows), holds the
    weights of its neighbours.
    """
    models = smoothed(matrix, settings)
    gains, sums = gains_in_all(matrix, models), row_sums(matrix)
    shares = np.log(models.background_shares)

    def mean_log_odds(rows: slice) -> NDArray[np.float64]:
        values = gains(rows)
        alike = values > 0
        np.divide(values, sums[rows, np.newaxis], out=values, where=alike)
        values += shares
        values[~alike] = -np.inf
        return values

    graph = nearest(mean_log_odds, n_rows=matrix.shape[0], count=settings.neighbours)
    if settings.weights == "uniform":
        return with_data(graph, np.ones(graph.nnz))
    if settings.weights == "gain":
        return with_data(graph, graph.data - shares[graph.indices])
    return with_data(graph, np.exp(graph.data - row_maxima(graph)[row_of_entry(graph)]))


def log_odds_of_neighbours(
    matrix: csr_array[Any], models: LanguageModels, graph: csr_array[Any]
) -> NDArray[np.float64]:
    r"""Give :math:`\log p(u|v) - \log p_C(u)` for every entry (u, v) of a graph.

    What is explained, of shape (n_rows, n_columns), are ratings, or 1 for each.
    """
    gains, rows = gains_in_all(matrix, models), row_of_entry(graph)
    odds = row_sums(matrix)[rows] * np.log(models.background_shares)[graph.indices]
    for block in row_blocks(matrix.shape[0], row_bytes=8 * matrix.shape[0]):
        entries = slice(graph.indptr[block.start], graph.indptr[block.stop])
        odds[entries] += gains(block)[rows[entries] - block.start, graph.indices[entries]]
    return odds


def gains_in_all(matrix: csr_array[Any], models: LanguageModels) -> Likeness:
    """Sum, for any two rows, what the second model gains over its background on the first."""
    by_column = models.gains().T.tocsr()
    return lambda rows: dense_product(matrix[rows], by_column)
