"""Factors of users by least squares, given those of the items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class ImplicitFoldIn:
    r"""Solves for the factors of users who rated some items, whatever the rating.

    .. math:: p_u = \arg\min_p \sum_i (1 + \alpha b_{ui}) (b_{ui} - p \cdot q_i)^2
              + \lambda \|p\|^2

    with :math:`b_{ui} = 1` where u rated i, else 0: the half sweep of training that solves the
    users. Item factors :math:`q` are of shape (n_items, n_factors), the weight is :math:`\alpha`,
    the regularization :math:`\lambda`, above 0. See `recommenders.shared.scorers.FoldIn`.

    Examples
    --------
    One factor, and the first of two items, (1 + 1) / (2 + 4 + 1 + 1):

    >>> from scipy.sparse import csr_array
    >>> fold_in = ImplicitFoldIn(np.array([[1.0], [2.0]]), weight=1.0, regularization=2.0)
    >>> fold_in(csr_array([[5.0, 0.0]]))
    (array([[0.25]]), 0.0)
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
