"""Relevance models: the kernel of RM2, and the priors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recommenders.kernels.language.language_models import LanguageModels
from recommenders.kernels.neighbourhoods.neighbours import Neighbours, all_neighbours
from recommenders.shared.scorers import TrainedOnRatings
from recommenders.shared.sparse import row_of_entry, row_sums

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

# With some room for rounding.
LOG_OF_LARGEST = 0.99 * np.log(np.finfo(np.float64).max)


def user_priors(matrix: csr_array[Any], prior: UserPrior) -> NDArray[np.float64]:
    """Give the prior of every user, up to a factor; 0 only for those without ratings."""
    return np.ones(matrix.shape[0]) if prior == "uniform" else row_sums(matrix)


@dataclass(frozen=True, eq=False)
class RelevanceModelScorer(TrainedOnRatings):
    r"""Conditional sampling, one user at a time.

    .. math:: (1 - |I_u|) \log p(i) + \sum_{j \in I_u} \log \sum_{v \in V_u} p(v) p_v(i) p_v(j)

    up to a constant of the user: the best item that the user has not rated scores 0. All models
    are divided by the collection, so that float64 holds products of many. A user without
    ratings, or without neighbours, scores NaN. Neighbours :math:`V` are training users, whatever
    their weights; user priors :math:`p(v)` are of shape (n_users,), up to a factor.
    """

    neighbours: Neighbours
    models: LanguageModels
    user_priors: NDArray[np.float64]
    item_prior: ItemPrior

    def score_batch(self, user_numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        """Score every item for these training users; NaN for items without ratings."""
        return self.score_best(user_numbers, self.models.collection > 0, depth=0)

    def score_best(
        self, user_numbers: NDArray[np.int32], candidates: NDArray[np.bool_], *, depth: int
    ) -> NDArray[np.float32]:
        """Score the items that may be among the best of the candidates; see `BestScorer`."""
        near, own = self._graph[user_numbers], self.histories[user_numbers]
        return self._scores(near, own, candidates, depth=depth)

    def _scores(
        self,
        near: csr_array[Any],
        own: csr_array[Any],
        candidates: NDArray[np.bool_],
        *,
        depth: int,
    ) -> NDArray[np.float32]:
        from recommenders.kernels.language.relevance_loop import add_log_odds

        ratios, n_rows = self._ratios, near.shape[0]
        # This undoes the division by the collection, and applies the prior.
        n_own = np.diff(own.indptr) if self.item_prior == "uniform" else np.ones(n_rows)
        scores = n_own[:, np.newaxis] * self._log_collection
        add_log_odds(
            near.indptr,
            near.indices,
            own.indptr,
            own.indices,
            ratios.indptr,
            ratios.indices,
            ratios.data,
            self.models.background_shares.astype(np.float32),
            (self.user_priors / self.user_priors.max()).astype(np.float32),
            self._factors_at_once,
            candidates,
            depth,
            scores,
        )
        scores -= _best_of_others(scores, own)[:, np.newaxis]
        scores[np.diff(near.indptr) == 0] = np.nan
        return scores.astype(np.float32)

    @cached_property
    def _graph(self) -> csr_array[Any]:
        return all_neighbours(self.neighbours)

    @cached_property
    def _ratios(self) -> csr_array[Any]:
        return self.models.ratios().astype(np.float32)

    @cached_property
    def _factors_at_once(self) -> int:
        """How many factors float64 holds at the most, none being above that of one neighbour."""
        shares = self.models.background_shares[row_of_entry(self._ratios)]
        highest = 1 + max(1.0, (self._ratios.data / shares).max())
        return max(1, int(LOG_OF_LARGEST / np.log(highest)))

    @cached_property
    def _log_collection(self) -> NDArray[np.float64]:
        known = self.models.collection > 0
        return np.log(self.models.collection, out=np.full(known.shape, np.nan), where=known)


def _best_of_others(scores: NDArray[np.float64], own: csr_array[Any]) -> NDArray[np.float64]:
    """Give the highest score of each row among the items that its user has not rated, or 0.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> _best_of_others(np.array([[3.0, 1.0, np.nan], [2.0, np.nan, np.nan]]),
    ...                 csr_array([[5.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    array([1., 0.])
    """
    others = np.where(np.isnan(scores), -np.inf, scores)
    others[row_of_entry(own), own.indices] = -np.inf
    best = others.max(axis=1)
    return np.where(np.isfinite(best), best, 0.0)
