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
from recommenders.shared.scorers import TrainedOnRatings

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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

USERS_AT_ONCE = 32
# With some room for rounding.
LOG_OF_LARGEST = 0.99 * np.log(np.finfo(np.float32).max)


def user_priors(matrix: csr_array[Any], prior: UserPrior) -> NDArray[np.float64]:
    """Give the prior of every user, up to a factor; 0 only for those without ratings."""
    return np.ones(matrix.shape[0]) if prior == "uniform" else row_sums(matrix)


@dataclass(frozen=True, eq=False)
class RelevanceModelScorer(TrainedOnRatings):
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

    graph: csr_array[Any]
    models: LanguageModels
    user_priors: NDArray[np.float64]
    item_prior: ItemPrior

    def score_batch(self, user_numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        """Score every item for these training users; NaN for items without ratings."""
        scores = np.full((len(user_numbers), len(self.items)), np.nan, dtype=np.float32)
        # The models of all their neighbours are picked at once, for a few users at a time.
        for start in range(0, len(user_numbers), USERS_AT_ONCE):
            users = user_numbers[start : start + USERS_AT_ONCE]
            near = self.graph[users]
            models = self._ratios[near.indices]
            for row in np.flatnonzero(np.diff(near.indptr)):
                of_user = slice(near.indptr[row], near.indptr[row + 1])
                ratios, columns = self._ratio_table(models, near.indices, of_user)
                weights = self._priors[near.indices[of_user]]
                scores[start + row] = self._log_odds(int(users[row]), ratios, columns, weights)
        scores[:, self.models.collection == 0] = np.nan
        return scores

    def _ratio_table(
        self, models: csr_array[Any], neighbours: NDArray[np.integer], rows: slice
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Expand :math:`p_v(i) / p_C(i)`, with one column for all items that nobody near rated.

        Parameters
        ----------
        models
            What was seen, of shape (n_neighbours, n_items), over the collection.
        neighbours
            Their user numbers.
        rows
            Those to expand.

        Returns
        -------
        The ratios, of shape (rows, n_columns), and the column of each item.
        """
        ends = models.indptr[rows.start : rows.stop + 1]
        items = models.indices[ends[0] : ends[-1]]
        seen = np.zeros(len(self.items), dtype=np.bool_)
        seen[items] = True
        rated = np.flatnonzero(seen)
        columns = np.full(len(seen), len(rated), dtype=np.int32)
        columns[rated] = np.arange(len(rated), dtype=np.int32)
        ratios = np.empty((len(ends) - 1, len(rated) + 1), dtype=np.float32)
        ratios[:] = self._shares[neighbours[rows], np.newaxis]
        first_of_row = np.arange(0, ratios.size, ratios.shape[1])
        places = np.repeat(first_of_row, np.diff(ends)) + columns.take(items)
        ratios.ravel()[places] += models.data[ends[0] : ends[-1]]
        return ratios, columns

    def _log_odds(
        self,
        user: int,
        ratios: NDArray[np.float32],
        columns: NDArray[np.int32],
        weights: NDArray[np.float32],
    ) -> NDArray[np.float64]:
        """Score every item, the best of them 0."""
        own = columns[self._own[user]]
        of_own = ratios[:, own] * weights[:, np.newaxis]
        # Relative to an item that nobody near rated, a constant of the user: never below 1.
        of_own /= ratios[:, -1] @ of_own
        meetings = np.matmul(of_own.T, ratios, dtype=np.float32)
        scores = sums_of_logarithms(meetings, at_once=self._factors_at_once)[columns]
        # This undoes the division by the collection, and applies the prior.
        scores += (len(own) if self.item_prior == "uniform" else 1) * self._log_collection
        return scores - scores.max()

    @cached_property
    def _ratios(self) -> csr_array[Any]:
        return self.models.ratios().astype(np.float32)

    @cached_property
    def _factors_at_once(self) -> int:
        """How many factors float32 holds at the most, none being above that of one neighbour."""
        ratios = self.models.ratios()
        shares = self.models.background_shares[row_of_entry(ratios)]
        highest = 1 + max(1.0, (ratios.data / shares).max())
        return max(1, min(8, int(LOG_OF_LARGEST / np.log(highest))))

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
        with np.errstate(divide="ignore"):
            return np.log(self.models.collection)


def sums_of_logarithms(factors: NDArray[np.float32], *, at_once: int) -> NDArray[np.float64]:
    """Sum the logarithms of every column, multiplying some factors before a logarithm is taken.

    Parameters
    ----------
    factors
        Of shape (n_rows, n_columns), above 0.
    at_once
        Factors whose product float32 surely holds, at least 1.

    Examples
    --------
    >>> factors = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.125]], dtype=np.float32)
    >>> sums_of_logarithms(factors, at_once=2)
    array([0., 0.])
    """
    n_groups, n_columns = len(factors) // at_once, factors.shape[1]
    grouped, left = np.split(factors, [n_groups * at_once])
    products = grouped.reshape(n_groups, at_once, n_columns).prod(axis=1)
    sums: NDArray[np.float64] = np.log(products).sum(axis=0, dtype=np.float64)
    return sums + np.log(left.prod(axis=0))
