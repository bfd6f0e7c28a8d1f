"""Query likelihood: how well the language model of one row explains the ratings of another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recommenders.kernels.language.language_models import LanguageModels, SmoothedSettings, smoothed
from recommenders.kernels.neighbourhoods.neighbours import strongest
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


@dataclass(frozen=True, eq=False)
class LikelihoodNeighbours:
    r"""Finds the rows whose models give a row the highest likelihood, and weighs them.

    .. math:: \log p(u|v) = \sum_j r_{uj} \log p_v(j)

    Only rows with a column in common are neighbours, as in the inverted index of a search
    engine. With :math:`d_u` the sum of the ratings of u and :math:`\beta_v p_C` the background
    of a model, the weights are

    .. math::

        \left(\frac{p(u|v)}{\max_w p(u|w)}\right)^{1/d_u}, \quad
        \frac{1}{d_u} \sum_j r_{uj} \log \frac{p_v(j)}{\beta_v p_C(j)}, \quad 1

    of which the second is what search engines score under Jelinek-Mercer smoothing. Ratings, of
    shape (n_rows, n_columns), are above 0; see `Neighbours` for the graph.
    """

    matrix: csr_array[Any]
    settings: LikelihoodSettings

    def __call__(
        self, histories: csr_array[Any], owners: NDArray[np.integer[Any]]
    ) -> csr_array[Any]:
        """Weigh the neighbours of these rows; see `Neighbours`."""
        odds = self._mean_log_odds(histories)
        graph = strongest(odds, count=self.settings.neighbours, owners=owners)
        if self.settings.weights == "uniform":
            return with_data(graph, np.ones(graph.nnz))
        if self.settings.weights == "gain":
            return with_data(graph, graph.data - self._log_shares[graph.indices])
        return with_data(graph, np.exp(graph.data - row_maxima(graph)[row_of_entry(graph)]))

    def _mean_log_odds(self, histories: csr_array[Any]) -> NDArray[np.float64]:
        values = dense_product(histories, self._models.gains_by_column)
        explained = values > 0
        np.divide(values, row_sums(histories)[:, np.newaxis], out=values, where=explained)
        values += self._log_shares
        values[~explained] = -np.inf
        return values

    @cached_property
    def _models(self) -> LanguageModels:
        return smoothed(self.matrix, self.settings)

    @cached_property
    def _log_shares(self) -> NDArray[np.float64]:
        return np.log(self._models.background_shares)


def log_odds_of_neighbours(
    matrix: csr_array[Any], models: LanguageModels, graph: csr_array[Any]
) -> NDArray[np.float64]:
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
