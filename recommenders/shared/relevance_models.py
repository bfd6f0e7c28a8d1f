"""Relevance models: the kernel of RM2, and the priors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recommenders.shared.language_models import LanguageModels
from recommenders.shared.neighbours import row_of_entry, row_sums

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from qrels import Ratings
    from runs import Numbering

UserPrior: TypeAlias = Annotated[
    Literal["uniform", "linear"],
    Field(
        description='Prior of a neighbour, p(v): "uniform", or "linear" in the sum of its ratings.'
    ),
]
ItemPrior: TypeAlias = Annotated[
    Literal["uniform", "linear"],
    Field(description='Prior of an item, p(i): "uniform", or "linear" in the sum of its ratings.'),
]


def user_priors(matrix: csr_array[Any], prior: UserPrior) -> NDArray[np.float64]:
    """Give the prior of every user, up to a factor; 0 only for those without ratings."""
    return np.ones(matrix.shape[0]) if prior == "uniform" else row_sums(matrix)


@dataclass(frozen=True, eq=False)
class RelevanceModelScorer:
    r"""Conditional sampling, for training users only, one user at a time.

    .. math:: (1 - |I_u|) \log p(i) + \sum_{j \in I_u} \log \sum_{v \in V_u} p(v) p_v(i) p_v(j)

    up to a constant of the user: the highest score of a user is 0. All models are divided by
    the collection, so that float32 holds the products; the sums of logarithms are in float64.

    Parameters
    ----------
    ratings
        Training ratings; a user without any, or without neighbours, scores NaN.
    graph
        :math:`V`, of shape (n_users, n_users): an entry for every neighbour.
    models
        :math:`p_v`.
    user_priors
        :math:`p(v)`, up to a factor, of shape (n_users,).
    item_prior
        :math:`p(i)`.
    """

    ratings: Ratings
    graph: csr_array[Any]
    models: LanguageModels
    user_priors: NDArray[np.float64]
    item_prior: ItemPrior

    @property
    def users(self) -> Numbering:
        """Users it was trained on."""
        return self.ratings.users

    @property
    def items(self) -> Numbering:
        """Items it was trained on."""
        return self.ratings.items

    def score_batch(self, user_numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        """Score every item for these training users; NaN for items without ratings."""
        scores = np.full((len(user_numbers), len(self.items)), np.nan, dtype=np.float32)
        for row, user in enumerate(user_numbers):
            neighbours = self.graph.indices[self.graph.indptr[user] : self.graph.indptr[user + 1]]
            if len(neighbours) > 0:
                scores[row] = self._log_odds(int(user), neighbours)
        return scores

    def _log_odds(self, user: int, neighbours: NDArray[np.integer]) -> NDArray[np.float64]:
        ratios, columns = self._compact(neighbours)
        of_own = ratios[:, columns[self._own[user]]] * self._priors[neighbours, np.newaxis]
        scores = np.log(of_own.T @ ratios).sum(axis=0, dtype=np.float64)[columns]
        scores += self._item_offsets(len(self._own[user]))
        return scores - np.nanmax(scores)

    def _compact(
        self, neighbours: NDArray[np.integer]
    ) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Give :math:`p_v(i) / p_C(i)`, all items that no neighbour has rated in one column.

        Returns
        -------
        The ratios, of shape (neighbours, columns), and the column of each item.
        """
        near = self._ratios[neighbours]
        rated = np.zeros(len(self.items), dtype=np.bool_)
        rated[near.indices] = True
        n_rated = int(np.count_nonzero(rated))
        columns = np.where(rated, np.cumsum(rated) - 1, n_rated)
        ratios = np.tile(self._shares[neighbours, np.newaxis], (1, n_rated + 1))
        ratios[row_of_entry(near), columns[near.indices]] += near.data
        return ratios, columns

    def _item_offsets(self, n_own: int) -> NDArray[np.float64]:
        """Undo the division by the collection and apply the prior; NaN where nobody rated."""
        return (n_own if self.item_prior == "uniform" else 1) * self._log_collection

    @cached_property
    def _ratios(self) -> csr_array[Any]:
        return self.models.ratios().astype(np.float32)

    @cached_property
    def _shares(self) -> NDArray[np.float32]:
        return self.models.background_shares.astype(np.float32)

    @cached_property
    def _priors(self) -> NDArray[np.float32]:
        return (self.user_priors / self.user_priors.max()).astype(np.float32)

    @cached_property
    def _own(self) -> list[NDArray[np.int32]]:
        ends = np.cumsum(self.ratings.user_counts())
        return np.split(self.ratings.item, ends[:-1])

    @cached_property
    def _log_collection(self) -> NDArray[np.float64]:
        collection = self.models.collection
        return np.log(np.where(collection > 0, collection, np.nan))
