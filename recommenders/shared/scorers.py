"""Scorers: what is left of a system after training, for many users at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from qrels import Ratings
from runs import Numbering
from runs.shared.arrays import Floats, Ints, Masks, Numbers, Singles, Sparse

BLOCK_BYTES = 64 * 2**20
BLOCK_ROWS = 512


def row_blocks(n_rows: int, *, row_bytes: int, block_bytes: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut rows of so many bytes into blocks that keep within the budget, of at most 512 rows."""
    size = min(BLOCK_ROWS, max(1, block_bytes // max(row_bytes, 1)))
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def pattern(matrix: Sparse) -> Sparse:
    """Put 1.0 in place of every entry."""
    return with_data(matrix, np.ones(matrix.nnz))


def with_data(matrix: Sparse, data: NDArray[np.number]) -> Sparse:
    """Give a matrix with the entries of this one where they are, and other values."""
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def averages(sums: Sparse, weights: Sparse) -> Sparse:
    """Divide sums by the weights that went into them, all above 0."""
    return sums.multiply(with_data(weights, 1 / weights.data)).tocsr()


def row_of_entry(matrix: Sparse) -> Numbers:
    """Tell the row of every entry, of shape (nnz,)."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def row_sums(matrix: Sparse) -> Floats:
    """Sum every row, of shape (n_rows,)."""
    return np.asarray(matrix.sum(axis=1), dtype=np.float64)


def row_maxima(matrix: Sparse) -> Floats:
    """Give the highest entry of every row, minus infinity where there is none."""
    maxima = np.full(matrix.shape[0], -np.inf)
    np.maximum.at(maxima, row_of_entry(matrix), matrix.data)
    return maxima


def allowed_items(train: Ratings, candidates: Masks | None) -> Masks:
    """Mark the items with training ratings, or those of them that are candidates."""
    trained = train.item_counts() > 0
    return trained if candidates is None else trained & candidates


def hide(scores: NDArray[np.floating], allowed: Masks, known: Sparse) -> None:
    """Set the scores to NaN of items that are not allowed, or that the user rated."""
    scores[:, ~allowed] = np.nan
    scores[row_of_entry(known), known.indices] = np.nan


class BatchScorer(Protocol):
    """Scores all items for blocks of training users."""

    @property
    def users(self) -> Numbering:
        """Users it was trained on."""

    @property
    def items(self) -> Numbering:
        """Items it was trained on: column j of the scores is item number j."""

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these users."""


@runtime_checkable
class BestScorer(BatchScorer, Protocol):
    """Can tell, for less than it takes to score them, which items are not among the best."""

    def score_best(self, user_numbers: Ints, candidates: Masks, *, depth: int) -> Singles:
        """Score what may be among the best for these users.

        Wanted are the best ``depth`` of the candidates, a mask of shape (n_items,), besides those
        that the user has rated. Scores are as of ``score_batch``, up to a constant of the user, or
        minus infinity for items that are not among the best.
        """


@runtime_checkable
class HistoriesScorer(BatchScorer, Protocol):
    """Scores all items for anybody's ratings, not for training users alone."""

    def score_histories(self, histories: Sparse) -> Singles:
        """Score every item for these rows of ratings, (n_rows, n_items)."""


@dataclass(frozen=True, eq=False)
class TrainedOnRatings:
    """What was trained on ratings scores their users and items."""

    ratings: Ratings

    @property
    def users(self) -> Numbering:
        """Users it was trained on."""
        return self.ratings.users

    @property
    def items(self) -> Numbering:
        """Items it was trained on."""
        return self.ratings.items

    @cached_property
    def histories(self) -> Sparse:
        """Training ratings as a matrix of shape (n_users, n_items)."""
        return self.ratings.matrix()

    @cached_property
    def has_ratings(self) -> Masks:
        """Mark the users with training ratings, of shape (n_users,)."""
        return self.ratings.user_counts() > 0


@dataclass(frozen=True, eq=False)
class HistoryScorer(TrainedOnRatings, ABC):
    """Scores whoever has a history of ratings: the training users and anybody else."""

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these training users."""
        return self.score_histories(self.histories[user_numbers])

    def score_histories(self, histories: Sparse) -> Singles:
        """Score every item for these rows of ratings; NaN for an empty row."""
        scores = self._products(histories).astype(np.float32, copy=False)
        scores[np.diff(histories.indptr) == 0] = np.nan
        return scores

    @abstractmethod
    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        """Score, empty rows or not."""


@dataclass(frozen=True, eq=False)
class LinearItemScorer(HistoryScorer):
    r"""Item-linear systems: :math:`f(r_u) W + b`, with one weight for every pair of items.

    Dense weights are multiplied row by row of the history, without BLAS: as fast for
    histories this short, and the same to the last bit for every block.

    Row j of :math:`W`, of shape (n_items, n_items), holds what having rated j says for others.
    Unless scores are by rating, :math:`f` puts 1 in place of each. Offsets :math:`b`, of shape
    (n_items,), are NaN for items that cannot be scored. Where weights are sparse and without
    offsets, an item that none links to the history scores ``unlinked``: NaN, or a score.
    """

    weights: Sparse | NDArray[np.floating]
    by_rating: bool = False
    unlinked: float = np.nan
    item_offsets: Floats | None = None

    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        if not self.by_rating:
            histories = with_data(histories, np.ones(histories.nnz, np.float32))
        product: Any = histories @ self.weights
        if self.item_offsets is None:
            return product if isinstance(product, np.ndarray) else filled(product, self.unlinked)
        scores = product if isinstance(product, np.ndarray) else product.toarray()
        return scores + self.item_offsets


@dataclass(frozen=True, eq=False)
class ProjectionScorer(HistoryScorer):
    r"""Projection of the ratings on a subspace: :math:`r_u Q Q^\top`.

    The basis :math:`Q`, float64 of shape (n_items, n_factors), has orthonormal columns.
    """

    basis: Floats

    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        return (histories @ self.basis) @ self.basis.T


@dataclass(frozen=True, eq=False)
class FactorScorer(TrainedOnRatings):
    r"""Factor models: :math:`p_u \cdot q_i + b_u + b_i`, for training users only.

    A user without training ratings scores NaN.

    ``user_factors``, ``item_factors``: :math:`p` and :math:`q`, of shapes (n_users, n_factors) and
    (n_items, n_factors); ``user_offsets``, ``item_offsets``: :math:`b_u` and :math:`b_i`, of shapes
    (n_users,) and (n_items,), or 0.
    """

    user_factors: NDArray[np.floating]
    item_factors: NDArray[np.floating]
    user_offsets: NDArray[np.floating] | float = 0.0
    item_offsets: NDArray[np.floating] | float = 0.0

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these training users."""
        offsets = np.broadcast_to(self.user_offsets, len(self.users))[user_numbers]
        scores = self._products(self.user_factors[user_numbers], offsets)
        scores[~self.has_ratings[user_numbers]] = np.nan
        return scores.astype(np.float32)

    def _products(self, of_users: NDArray[np.floating], offsets: NDArray[np.floating]) -> Floats:
        """Score every item for users of these factors and offsets."""
        scores = of_users.astype(np.float64) @ self.item_factors.T.astype(np.float64)
        scores += offsets[:, np.newaxis]
        scores += self.item_offsets
        return scores


def dense_if_crowded(weights: Sparse) -> Sparse | NDArray[np.floating]:
    """Hold weights densely where that is faster, and at most doubles the memory."""
    n_rows, n_columns = weights.shape
    return weights.toarray() if 3 * weights.nnz >= n_rows * n_columns else weights


def filled(matrix: Sparse, nothing: float = np.nan) -> NDArray[np.floating]:
    """Expand a sparse matrix, with a number where it holds nothing."""
    dense = np.full(matrix.shape, nothing, dtype=matrix.dtype)
    dense[row_of_entry(matrix), matrix.indices] = matrix.data
    return dense
