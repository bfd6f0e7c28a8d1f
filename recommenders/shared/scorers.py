"""Scorers: what training leaves of a system, which scores all items for many users at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from qrels import Ratings
from runs import InputError, Numbering
from runs.shared.arrays import Floats, Ints, Masks, Numbers, Singles, Sparse

BLOCK_BYTES = 64 * 2**20
"""Largest size of a dense block of scores, in bytes."""

BLOCK_ROWS = 512
"""Largest number of rows of a dense block of scores."""


def require_shape(name: str, array: NDArray[Any] | Sparse, shape: tuple[int, ...]) -> None:
    """Refuse an array of any other shape with InputError, which calls it by the name."""
    if array.shape != shape:
        raise InputError(f"{name} must be of shape {shape}, got {array.shape}.")


def row_blocks(n_rows: int, *, row_bytes: int, block_bytes: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut the rows 0 to n_rows - 1 into consecutive slices, for work block by block.

    A row takes ``row_bytes`` bytes. A slice has at most 512 rows and `block_bytes` bytes, but at
    least one row. Yields nothing if there are no rows.
    """
    size = min(BLOCK_ROWS, max(1, block_bytes // max(row_bytes, 1)))
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def pattern(matrix: Sparse) -> Sparse:
    """Return a sparse matrix with 1.0 for each stored entry of ``matrix``."""
    return with_data(matrix, np.ones(matrix.nnz))


def with_data(matrix: Sparse, data: NDArray[np.number]) -> Sparse:
    """Return a csr matrix with the stored positions of ``matrix`` and other values, (nnz,)."""
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def weighted_means(sums: Sparse, weights: Sparse) -> Sparse:
    """Divide weighted sums by the sums of their weights, entry by entry.

    Both are of one shape; all stored weights are above 0. An entry stored in only one of the two is
    not in the result.
    """
    inverse_weights = with_data(weights, 1 / weights.data)
    return sums.multiply(inverse_weights).tocsr()


def row_of_entry(matrix: Sparse) -> Numbers:
    """Return the row number of every stored entry of a csr matrix, of shape (nnz,)."""
    n_rows = matrix.shape[0]
    row_lengths = np.diff(matrix.indptr)
    return np.repeat(np.arange(n_rows), row_lengths)


def row_sums(matrix: Sparse) -> Floats:
    """Sum every row of a sparse matrix: float64 of shape (n_rows,)."""
    return np.asarray(matrix.sum(axis=1), dtype=np.float64)


def row_maxima(matrix: Sparse) -> Floats:
    """Return the highest stored entry of every row, (n_rows,); -inf for a row without entries."""
    maxima = np.full(matrix.shape[0], -np.inf)
    np.maximum.at(maxima, row_of_entry(matrix), matrix.data)
    return maxima


def allowed_items(train: Ratings, candidates: Masks | None) -> Masks:
    """Mark the items that may be recommended to some user, of shape (n_items,).

    These are the items with training ratings; with a mask ``candidates``, (n_items,), those of them
    that it marks. Raises InputError if the mask is of another shape.
    """
    has_ratings = train.item_counts() > 0
    if candidates is None:
        return has_ratings
    require_shape("the mask of candidates", candidates, has_ratings.shape)
    return has_ratings & candidates


def exclude_items(scores: NDArray[np.floating], allowed: Masks, rated: Sparse) -> None:
    """Set the scores of items that must not be recommended to NaN, in place.

    Parameters
    ----------
    scores
        Scores of all items for a block of users, of shape (n_users, n_items).
    allowed
        Mask over the items, of shape (n_items,): the others are excluded for every user.
    rated
        Ratings of the same users, of shape (n_users, n_items): an item with an entry is excluded
        for its user.
    """
    scores[:, ~allowed] = np.nan
    scores[row_of_entry(rated), rated.indices] = np.nan


class BatchScorer(Protocol):
    """Scores all items for blocks of training users."""

    @property
    def users(self) -> Numbering:
        """Users of the training ratings, by number."""

    @property
    def items(self) -> Numbering:
        """Items of the training ratings: column j of the scores belongs to item number j."""

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these users: float32 of shape (n_rows, n_items), NaN for none."""


@runtime_checkable
class BestScorer(BatchScorer, Protocol):
    """Can rule out items that are not among a user's best, faster than it scores all items."""

    def score_best(self, user_numbers: Ints, candidates: Masks, *, depth: int) -> Singles:
        """Score the items that may be among the best ``depth`` candidates of these users.

        Candidates are marked in a mask of shape (n_items,); what a user has rated is none. Scores
        are as of ``score_batch``, up to a constant of the user. They are minus infinity for items
        that are surely not among the best.
        """


@runtime_checkable
class HistoriesScorer(BatchScorer, Protocol):
    """Scores all items for anybody's ratings, not for training users alone."""

    def score_histories(self, histories: Sparse) -> Singles:
        """Score every item for these rows of ratings, both of shape (n_rows, n_items)."""


@dataclass(frozen=True, eq=False)
class TrainedOnRatings:
    """Base of scorers that keep their training ratings, and score the users and items of these."""

    ratings: Ratings

    @property
    def users(self) -> Numbering:
        """Users of the training ratings, by number."""
        return self.ratings.users

    @property
    def items(self) -> Numbering:
        """Items of the training ratings: column j of the scores belongs to item number j."""
        return self.ratings.items

    @cached_property
    def histories(self) -> Sparse:
        """Training ratings as a matrix of shape (n_users, n_items)."""
        return self.ratings.matrix()

    @cached_property
    def has_ratings(self) -> Masks:
        """Mask of the users with training ratings, of shape (n_users,)."""
        return self.ratings.user_counts() > 0


@dataclass(frozen=True, eq=False)
class HistoryBasedScorer(TrainedOnRatings, ABC):
    """Base of scorers for which a user is a history of ratings: a training user or anybody else."""

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these training users: float32 of shape (n_rows, n_items)."""
        return self.score_histories(self.histories[user_numbers])

    def score_histories(self, histories: Sparse) -> Singles:
        """Score every item for rows of ratings, one row a user: float32 of shape (n_rows, n_items).

        The scores are those of the subclass (`_products`); a row without ratings gets NaN.
        """
        scores = self._products(histories).astype(np.float32, copy=False)
        scores[np.diff(histories.indptr) == 0] = np.nan
        return scores

    @abstractmethod
    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        """Score every item for rows of ratings, both (n_rows, n_items); rows may be empty."""


@dataclass(frozen=True, eq=False)
class LinearItemScorer(HistoryBasedScorer):
    r"""Item-linear systems: :math:`f(r_u) W + b`, with one weight for every pair of items.

    Dense weights are multiplied row by row of the history, without BLAS: as fast for
    histories this short, and the same to the last bit for every block.

    Row j of the weights :math:`W`, of shape (n_items, n_items), holds what having rated item j
    adds to the scores of all items. :math:`f` replaces each rating by 1, unless ``by_rating``.
    The item offsets :math:`b`, of shape (n_items,), are NaN for items that cannot be scored. Where
    weights are sparse and there are no offsets, an item that no weight links to the history scores
    ``unlinked_score``. InputError if weights or offsets are of other shapes.
    """

    weights: Sparse | NDArray[np.floating]
    by_rating: bool = False
    unlinked_score: float = np.nan
    item_offsets: Floats | None = None

    def __post_init__(self) -> None:
        """Raise InputError for weights or offsets of items that are not of as many items."""
        n_items = len(self.items)
        require_shape("weights of items", self.weights, (n_items, n_items))
        if self.item_offsets is not None:
            require_shape("offsets of items", self.item_offsets, (n_items,))

    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        """Score every item for rows of ratings, both of shape (n_rows, n_items).

        The ratings, or 1 for each unless ``self.by_rating``, are multiplied by ``self.weights``,
        (n_items, n_items), and ``self.item_offsets``, (n_items,), are added if there are any.
        Without offsets and with sparse weights, an item without any weight from the history scores
        ``self.unlinked_score``.
        """
        if not self.by_rating:
            histories = with_data(histories, np.ones(histories.nnz, np.float32))
        product: Any = histories @ self.weights
        is_dense = isinstance(product, np.ndarray)
        if self.item_offsets is None:
            return product if is_dense else to_dense(product, self.unlinked_score)
        scores = product if is_dense else product.toarray()
        return scores + self.item_offsets


@dataclass(frozen=True, eq=False)
class ProjectionScorer(HistoryBasedScorer):
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
    (n_users,) and (n_items,), or 0. InputError if they are of other shapes.
    """

    user_factors: NDArray[np.floating]
    item_factors: NDArray[np.floating]
    user_offsets: NDArray[np.floating] | float = 0.0
    item_offsets: NDArray[np.floating] | float = 0.0

    def __post_init__(self) -> None:
        """Raise InputError for factors or offsets that are not of as many users and items."""
        n_users = len(self.users)
        n_items = len(self.items)
        n_factors = self.user_factors.shape[-1]
        require_shape("factors of users", self.user_factors, (n_users, n_factors))
        require_shape("factors of items", self.item_factors, (n_items, n_factors))
        if isinstance(self.user_offsets, np.ndarray):
            require_shape("offsets of users", self.user_offsets, (n_users,))
        if isinstance(self.item_offsets, np.ndarray):
            require_shape("offsets of items", self.item_offsets, (n_items,))

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these training users: float32 of shape (n_rows, n_items).

        A score is the product of user and item factors plus both offsets; NaN for a user without
        training ratings. User factors are of shape (n_users, n_factors), user offsets one number or
        of shape (n_users,).
        """
        user_offsets = np.broadcast_to(self.user_offsets, len(self.users))[user_numbers]
        scores = self._products(self.user_factors[user_numbers], user_offsets)
        scores[~self.has_ratings[user_numbers]] = np.nan
        return scores.astype(np.float32)

    def _products(
        self, user_factors: NDArray[np.floating], user_offsets: NDArray[np.floating]
    ) -> Floats:
        """Score every item for users of given factors: float64 of shape (n_rows, n_items).

        User factors are of shape (n_rows, n_factors), user offsets of shape (n_rows,). The factors
        of the items are ``self.item_factors``, (n_items, n_factors); their offsets are
        ``self.item_offsets``, (n_items,) or one number.
        """
        item_factors = self.item_factors.T.astype(np.float64)
        scores = user_factors.astype(np.float64) @ item_factors
        scores += user_offsets[:, np.newaxis]
        scores += self.item_offsets
        return scores


def dense_if_faster(weights: Sparse) -> Sparse | NDArray[np.floating]:
    """Convert a sparse matrix to a dense one if at least a third of its entries are stored.

    Products are faster then, and the memory at most doubles. A sparser matrix is returned as it is.
    """
    n_rows, n_columns = weights.shape
    is_faster_dense = 3 * weights.nnz >= n_rows * n_columns
    return weights.toarray() if is_faster_dense else weights


def to_dense(matrix: Sparse, fill_value: float = np.nan) -> NDArray[np.floating]:
    """Expand a sparse matrix to a dense one, with ``fill_value`` where no entry is stored."""
    dense = np.full(matrix.shape, fill_value, dtype=matrix.dtype)
    dense[row_of_entry(matrix), matrix.indices] = matrix.data
    return dense
