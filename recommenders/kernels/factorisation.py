"""Matrix factorisation: alternating least squares, and pairwise learning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qrels import Ratings
from runs import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def require_amounts(ratings: Ratings, *, system: str) -> None:
    """Refuse ratings below 0, or all 0."""
    least = ratings.rating.min()
    if least < 0:
        raise InputError(
            f"system {system!r} cannot be trained: it reads ratings as amounts, which must be at "
            f"least 0, got {least}."
        )
    require_any(ratings, system=system)


def require_any(ratings: Ratings, *, system: str) -> None:
    """Refuse ratings that are all 0, likewise."""
    if not ratings.rating.any():
        raise InputError(f"system {system!r} cannot be trained: every training rating is 0.")


@dataclass(frozen=True, eq=False)
class ImplicitFoldIn:
    r"""Solves for the factors of users who rated some items, whatever the rating.

    .. math:: p_u = \arg\min_p \sum_i (1 + \alpha b_{ui}) (b_{ui} - p \cdot q_i)^2
              + \lambda \|p\|^2

    with :math:`b_{ui} = 1` where u rated i, else 0: the half sweep of training that solves the
    users. Item factors :math:`q` are of shape (n_items, n_factors), the weight is :math:`\alpha`,
    the regularization :math:`\lambda`, above 0. See `recommenders.shared.scorers.FoldIn`.
    """

    item_factors: NDArray[np.floating]
    weight: float
    regularization: float

    def __call__(self, histories: csr_array[Any]) -> tuple[NDArray[np.float64], float]:
        """Solve for each of these rows of ratings."""
        rows = np.split(histories.indices, histories.indptr[1:-1])
        return np.array([self._solve(self.item_factors[items]) for items in rows]), 0.0

    def _solve(self, rated: NDArray[np.floating]) -> NDArray[np.float64]:
        rated = rated.astype(np.float64)
        normal = self._background + self.weight * (rated.T @ rated)
        return np.linalg.solve(normal, (1 + self.weight) * rated.sum(axis=0))

    @cached_property
    def _background(self) -> NDArray[np.float64]:
        every = self.item_factors.astype(np.float64)
        return every.T @ every + self.regularization * np.eye(every.shape[1])


@dataclass(frozen=True, eq=False)
class RatingFoldIn:
    r"""Solves for the offsets and factors of users whose ratings are to be predicted.

    .. math:: b_u = \frac{\sum_i (r_{ui} - \mu - b_i)}{n_u + \beta}, \quad
              p_u = \arg\min_p \sum_i (r_{ui} - \mu - b_i - b_u - p \cdot q_i)^2
              + \lambda n_u \|p\|^2

    over the :math:`n_u` items that u rated. Item factors :math:`q` are of shape (n_items,
    n_factors), their offsets :math:`b_i` of shape (n_items,), the damping is :math:`\beta`, the
    regularization :math:`\lambda`, above 0. See `recommenders.shared.scorers.FoldIn`; offsets are
    :math:`\mu + b_u`.
    """

    item_factors: NDArray[np.floating]
    item_offsets: NDArray[np.floating]
    mean: float
    damping: float
    regularization: float

    def __call__(
        self, histories: csr_array[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Solve for each of these rows of ratings."""
        above = histories.data - self.mean - self.item_offsets[histories.indices]
        starts = histories.indptr[1:-1]
        parts = zip(np.split(histories.indices, starts), np.split(above, starts), strict=True)
        solved = [self._solve(items, rest) for items, rest in parts]
        factors, offsets = zip(*solved, strict=True)
        return np.array(factors), np.array(offsets) + self.mean

    def _solve(
        self, items: NDArray[np.integer[Any]], above: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        rated, n_rated = self.item_factors[items].astype(np.float64), max(len(items), 1)
        offset = above.sum() / (n_rated + self.damping)
        penalty = self.regularization * n_rated * np.eye(rated.shape[1])
        return np.linalg.solve(rated.T @ rated + penalty, rated.T @ (above - offset)), offset


MOST_RIVALS = 128
MOST_USERS = 1000
MOST_STEPS = 50
SMALLEST_STEP = 1e-6
LEAST_PENALTY = 1e-3


@dataclass(frozen=True, eq=False)
class PairwiseFoldIn:
    r"""Finds factors that put the rated items of a user above the others.

    .. math:: p_u = \arg\max_p \frac{1}{|I_u| |J_u|} \sum_{i \in I_u,\, j \in J_u}
              \log \sigma(p \cdot q_i - p \cdot q_j) - \frac{\lambda}{2} \|p\|^2

    with :math:`J_u` the rivals that u has not rated: 128 items drawn once, or all where there are
    no more. The maximum is one, and found by Newton's method. Item factors :math:`q` are of shape
    (n_items, n_factors), rivals are numbers of items. See `recommenders.shared.scorers.FoldIn`.
    """

    item_factors: NDArray[np.floating]
    rivals: NDArray[np.intp]
    penalty: float

    @classmethod
    def fit(
        cls,
        user_factors: NDArray[np.floating],
        item_factors: NDArray[np.floating],
        histories: csr_array[Any],
        *,
        seed: int,
    ) -> PairwiseFoldIn:
        r"""Draw rivals, and choose the penalty with which users are nearest to their maximum.

        With :math:`g_u` the gradient of the mean at the factors of training,

        .. math:: \lambda = \arg\min_\lambda \sum_u \|g_u - \lambda p_u\|^2
                  = \frac{\sum_u g_u \cdot p_u}{\sum_u \|p_u\|^2}

        over up to 1,000 users with ratings, histories being of shape (n_users, n_items); at least
        0.001.
        """
        n_items = len(item_factors)
        rng = np.random.default_rng(seed)
        rivals = np.sort(rng.choice(n_items, size=min(MOST_RIVALS, n_items), replace=False))
        unpenalised = cls(item_factors, rivals, 0.0)
        users = np.flatnonzero(np.diff(histories.indptr))
        users = users[:: -(-len(users) // MOST_USERS)]
        along, squared = 0.0, 0.0
        for user, items in zip(users, _items_of_rows(histories[users]), strict=True):
            factors = user_factors[user].astype(np.float64)
            along += float(unpenalised._pairs(items).gradient(factors) @ factors)
            squared += float(factors @ factors)
        return cls(item_factors, rivals, max(along / max(squared, 1e-12), LEAST_PENALTY))

    def __call__(self, histories: csr_array[Any]) -> tuple[NDArray[np.float64], float]:
        """Find factors for each of these rows of ratings."""
        found = [self._pairs(items).maximum() for items in _items_of_rows(histories)]
        return np.array(found), 0.0

    def _pairs(self, items: NDArray[np.integer[Any]]) -> _Pairs:
        others = self.rivals[~np.isin(self.rivals, items)]
        rated, unrated = (self.item_factors[k].astype(np.float64) for k in (items, others))
        return _Pairs(rated, unrated, self.penalty)


def _items_of_rows(histories: csr_array[Any]) -> list[NDArray[np.integer[Any]]]:
    return np.split(histories.indices, histories.indptr[1:-1])


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The criterion of one user; factors of rated and unrated items are (n, n_factors) each."""

    rated: NDArray[np.float64]
    unrated: NDArray[np.float64]
    penalty: float

    @property
    def n_pairs(self) -> int:
        """Give the number of pairs, 1 if there are none."""
        return max(1, len(self.rated) * len(self.unrated))

    def maximum(self) -> NDArray[np.float64]:
        """Find the maximum by Newton's method, halving steps that lead downwards."""
        factors = np.zeros(self.rated.shape[1])
        missed = self._missed(factors)
        value = self._value(factors, missed)
        for _ in range(MOST_STEPS):
            step = np.linalg.solve(self._curvature(missed), self._slope(factors, missed))
            while np.abs(step).max() > SMALLEST_STEP:
                missed = self._missed(factors + step)
                if (reached := self._value(factors + step, missed)) >= value:
                    break
                step /= 2
            else:
                return factors + step
            factors, value = factors + step, reached
        return factors

    def gradient(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the gradient at these factors."""
        return self._slope(factors, self._missed(factors))

    def _missed(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the chance that a rated item is behind an unrated one, for every pair."""
        from scipy.special import expit

        return expit((self.unrated @ factors) - (self.rated @ factors)[:, np.newaxis])

    def _value(self, factors: NDArray[np.float64], missed: NDArray[np.float64]) -> float:
        with np.errstate(divide="ignore"):
            gains = np.log1p(-missed).sum() / self.n_pairs
        return float(gains - self.penalty / 2 * factors @ factors)

    def _slope(
        self, factors: NDArray[np.float64], missed: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        pull = missed.sum(axis=1) @ self.rated - missed.sum(axis=0) @ self.unrated
        return pull / self.n_pairs - self.penalty * factors

    def _curvature(self, missed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the Hessian, negative."""
        doubt = missed * (1 - missed)
        crossed = self.rated.T @ (doubt @ self.unrated)
        squares = (self.rated.T * doubt.sum(axis=1)) @ self.rated
        squares += (self.unrated.T * doubt.sum(axis=0)) @ self.unrated
        whole = (squares - crossed - crossed.T) / self.n_pairs
        return whole + self.penalty * np.eye(len(whole))
