"""Neighbourhoods of users and items: similarities, the nearest ones, and sums over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from qrels import Ratings
from qrels.interactions.interactions import Interactions
from recommenders.shared.scorers import (
    TrainedOnRatings,
    pattern,
    require_shape,
    row_blocks,
    row_of_entry,
    to_dense,
    weighted_means,
    with_data,
)
from recommenders.shared.system import AtLeastOne, Gigabytes, NotNegative, Range, Settings, searched
from runs import top_items
from runs.shared.arrays import Floats, Ints, Longs, Singles, Sparse
from runs.shared.settings import Section


class BaselineSettings(Settings):
    """Settings that systems on baselines have in common."""

    item_damping: NotNegative = searched(
        25.0,
        Range(1.0, 100.0, log=True),
        "Damping of item baselines, as a number of mean ratings: 0 or more.",
    )
    user_damping: NotNegative = searched(
        10.0,
        Range(1.0, 100.0, log=True),
        "Damping of user baselines, as a number of expected ratings: 0 or more.",
    )
    denominator: bool = Field(
        False,
        description="Whether to divide the sum by the sum of its weights: this predicts ratings, "
        "but ranks badly.",
    )
    among: Literal["all", "rated"] = Field(
        "all",
        description="Where the nearest are searched. all: among all, once for every user or item. "
        "rated: among the users who rated the item, or the items that the user rated, for each "
        "pair of user and item, as the paper defines it.",
    )
    max_gigabytes: Gigabytes = 4.0


@dataclass(frozen=True, eq=False)
class Baselines:
    r"""Predicts ratings without regard to taste.

    .. math::

        b_{ui} = \mu + b_u + b_i, \quad
        b_i = \frac{\sum_u (r_{ui} - \mu)}{n_i + \lambda_i}, \quad
        b_u = \frac{\sum_i (r_{ui} - \mu - b_i)}{n_u + \lambda_u}

    with :math:`n_i` and :math:`n_u` the numbers of ratings of item and user.

    ``item_baselines``: :math:`\mu + b_i`, of shape (n_items,); ``user_damping``:
    :math:`\lambda_u`, 0 or more.
    """

    item_baselines: Floats
    user_damping: float

    @classmethod
    def fit(cls, matrix: Sparse, settings: BaselineSettings) -> Baselines:
        r"""Learn the items' baselines from ratings of shape (n_users, n_items), at least one.

        The baseline of item i is :math:`\mu + \sum_u (r_{ui} - \mu) / (n_i + \lambda)`, with the
        mean :math:`\mu` of all ratings, the number :math:`n_i` of the item's, and the damping
        :math:`\lambda` of items in the settings.
        """
        mean = matrix.data.mean()
        n_items = matrix.shape[1]
        sums = np.bincount(matrix.indices, matrix.data - mean, minlength=n_items)
        item_counts = np.bincount(matrix.indices, minlength=n_items)
        # At least 1, for items without ratings where there is no damping.
        divisors = np.maximum(item_counts + settings.item_damping, 1)
        return cls(mean + sums / divisors, settings.user_damping)

    def user_offsets(self, histories: Sparse) -> Floats:
        """Compute the damped mean by which each row of ratings exceeds the item baselines.

        Ratings are of shape (n_rows, n_items), the offsets :math:`b_u` of shape (n_rows,); an empty
        row has 0. The mean is damped as by ``self.user_damping`` further ratings without excess.
        """
        expected = self.item_baselines[histories.indices]
        excess = with_data(histories, histories.data - expected)
        counts = np.diff(histories.indptr)
        divisors = np.maximum(counts + self.user_damping, 1)
        return excess.sum(axis=1) / divisors

    def residuals(self, histories: Sparse) -> Sparse:
        """Subtract user offset and item baseline from each rating; both (n_rows, n_items)."""
        expected = self.user_offsets(histories)[row_of_entry(histories)]
        expected += self.item_baselines[histories.indices]
        return with_data(histories, histories.data - expected)


BYTES_PER_PAIR = 28
"""Peak memory of `cosines`, in bytes, for each pair of items that a user rated both.

A value and a column number are stored; computing takes two values more.
"""


def pairs_at_most(ratings: Ratings) -> int:
    """Compute an upper bound on the number of ordered pairs of items that a user rated both.

    Pairs of an item with itself count.
    """
    pairs_over_users = int((ratings.user_counts() ** 2).sum())
    return min(len(ratings.items) ** 2, pairs_over_users)


def cosines(ratings: Ratings) -> Sparse:
    r"""Compare items by the users who rated them.

    .. math:: s_{ij} = n_{ij} / \sqrt{c_i c_j}

    with :math:`n_{ij}` users who rated both and :math:`c_i` who rated i. Takes 28 bytes for
    each pair that somebody rated: float64 of shape (n_items, n_items), symmetric to the last bit,
    the diagonal exactly 1; nothing is stored for items that share no user.
    """
    rated = pattern(ratings.matrix())
    similarities = rated.T.tocsr() @ rated  # Numbers of common users, to begin with.
    item_counts = ratings.item_counts()
    count_products = item_counts[row_of_entry(similarities)]
    count_products *= item_counts[similarities.indices]
    similarities.data /= np.sqrt(count_products)
    return similarities


def nearest_of(similarities: Sparse, *, neighbours: int) -> Sparse:
    """Keep the highest similarities of every row of a sparse matrix of items, (n_items, n_items).

    The stored similarities are above 0. At most ``neighbours`` of a row are kept, without that of
    an item with itself. Equal similarities, compared as float32, go by item number, lower first.
    """

    def dense_similarities(rows: slice) -> Floats:
        """Expand a slice of rows: (rows of the slice, n_items), -inf where none is stored."""
        dense = to_dense(similarities[rows], -np.inf)
        return dense.astype(np.float64, copy=False)

    return nearest(dense_similarities, n_rows=similarities.shape[0], count=neighbours)


def dense_product(left: Sparse, right: Sparse) -> Floats:
    """Multiply two sparse matrices: float64 of shape (rows of left, columns of right).

    Every sum runs in the order of the entries of the left row, as in scipy's product, and has
    the same last bit. Scipy's keeps lists of the entries that are not zero, which takes several
    times as long where most are not.
    """
    from recommenders.kernels.neighbour_loops import add_products

    product = np.zeros((left.shape[0], right.shape[1]))
    add_products(
        left.indptr,
        left.indices,
        _float64_data(left),
        right.indptr,
        right.indices,
        _float64_data(right),
        product,
    )
    return product


def _float64_data(matrix: Sparse) -> Floats:
    """Return the stored values of a matrix as float64, of shape (nnz,)."""
    return matrix.data.astype(np.float64, copy=False)


PAIRS_AT_ONCE: Final = 10_000_000
"""Maximum number of pairs of items in a block: they take 8 bytes each."""


class ItemCosines(Section):
    r"""Cosines of items by the users who had both.

    .. math:: S_{ij} = \frac{n_{ij}}{\sqrt{c_i c_j}} \cdot \frac{n_{ij}}{n_{ij} + \beta}

    ``neighbours``: items that each votes for; ``shrinkage``: :math:`\beta`: how little cosines of
    few common users are trusted, at least 0.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    neighbours: AtLeastOne = 50
    shrinkage: NotNegative = 0.0

    def __str__(self) -> str:
        values = ",".join(f"{name}={value:g}" for name, value in self)
        return f"item-cosines({values})"

    def __call__(self, history: Interactions) -> Sparse:
        """Compute the cosines of the nearest neighbours of every item.

        Repeated interactions of a user with an item count once. Row i of the result, float64 of
        shape (n_items, n_items), holds at most ``self.neighbours`` items, without i itself. Blocks
        of items are computed one after the other, to bound the memory.
        """
        from scipy.sparse import csr_array, vstack

        is_first = history.is_first
        shape = (len(history.users), len(history.items))
        ones = np.ones(np.count_nonzero(is_first), dtype=np.int32)
        pairs = (history.user[is_first], history.item[is_first])
        by_user = csr_array((ones, pairs), shape=shape)
        by_item = by_user.T.tocsr()
        item_counts = np.diff(by_item.indptr).astype(np.int64)
        # An item shares users with at most as many items as its users have together.
        user_counts = np.diff(by_user.indptr)
        cumulative_counts = np.cumsum(user_counts[by_item.indices], dtype=np.int64)
        items_of_users = np.diff(np.append(0, cumulative_counts)[by_item.indptr])
        max_pairs = np.minimum(items_of_users, len(item_counts))
        blocks = []
        for first, end in _blocks(max_pairs, max_sum=PAIRS_AT_ONCE):
            common_users = by_item[first:end] @ by_user
            blocks.append(self._nearest(common_users, first, item_counts))
        return vstack(blocks, format="csr") if blocks else csr_array((0, 0))

    def _nearest(self, common_users: Sparse, first: int, item_counts: Longs) -> Sparse:
        """Compute the cosines of the neighbours of a block of items, of shape (n_block, n_items).

        Row r belongs to item ``first + r``. ``common_users``, (n_block, n_items), is the number of
        users who had both items; ``item_counts``, (n_items,), the number who had each. A cosine is
        halved where ``self.shrinkage`` users had both.
        """
        from scipy.sparse import csr_array

        from recommenders.kernels.neighbour_loops import nearest_cosines

        nearest = nearest_cosines(
            common_users.indptr,
            common_users.indices,
            _float64_data(common_users),
            np.sqrt(item_counts),
            first,
            self.shrinkage,
            self.neighbours,
        )
        return csr_array(nearest, shape=common_users.shape)


def _blocks(row_sizes: Longs, *, max_sum: int) -> Iterator[tuple[int, int]]:
    """Cut rows into consecutive blocks whose sizes add up to at most ``max_sum``.

    Yields the first row of each block, and the one after its last. A larger row is a block alone.
    """
    first = 0
    available = max_sum
    for row, size in enumerate(row_sizes.tolist()):
        if size > available and row > first:
            yield first, row
            first = row
            available = max_sum
        available -= size
    if len(row_sizes):
        yield first, len(row_sizes)


Similarities: TypeAlias = Callable[[slice], Floats]
"""Compares the rows of a slice with all rows.

Returns a new array, float64 of shape (rows of the slice, n_rows), -inf for no neighbour.
"""

NearestUsers: TypeAlias = Annotated[
    int, Field(ge=1, description="Number of nearest users (the paper's k): at least 1.")
]


def nearest(similarities: Similarities, *, n_rows: int, count: int) -> Sparse:
    """Find the ``count`` nearest neighbours of every row, or as many as there are.

    Equal similarities, compared as float32, go by row number, lower first; no row is its own
    neighbour. Row u of the result, float64 of shape (n_rows, n_rows), holds the similarities of its
    neighbours. ``similarities`` compares the rows of a slice with all rows: (rows of the slice,
    n_rows), -inf for those that cannot be neighbours.
    """
    from scipy.sparse import csr_array, vstack

    blocks = []
    for rows in row_blocks(n_rows, row_bytes=8 * n_rows):
        values = similarities(rows)
        block_rows = np.arange(len(values))
        values[block_rows, block_rows + rows.start] = -np.inf
        neighbours = top_items(values, depth=min(count, n_rows))
        row, rank = np.nonzero(neighbours >= 0)
        column = neighbours[row, rank]
        block = csr_array((values[row, column], (row, column)), shape=values.shape)
        block.sort_indices()
        blocks.append(block)
    return vstack(blocks, format="csr")


def nearest_by_cosine(matrix: Sparse, *, count: int, shrinkage: float = 0.0) -> Sparse:
    r"""Find the rows with the highest cosine, positive ones only.

    .. math:: s_{uv} = \frac{r_u \cdot r_v}{\|r_u\| \, \|r_v\|} \cdot \frac{n_{uv}}{n_{uv} + \beta}

    Ratings are of shape (n_rows, n_columns), and 0 where they are missing. The shrinkage
    :math:`\beta` lowers cosines that rest on few common columns, :math:`n_{uv}` of them. Row u of
    the result, (n_rows, n_rows), holds the similarities of at most ``count`` neighbours, without u
    itself; see `nearest`.
    """
    transposed = matrix.T.tocsr()
    lengths = np.sqrt(matrix.multiply(matrix).sum(axis=1))

    def similarities(rows: slice) -> Floats:
        """Compare a slice of rows with all rows: (rows of the slice, n_rows), -inf unless > 0."""
        products = dense_product(matrix[rows], transposed)
        positive = products > 0
        values = np.full(products.shape, -np.inf)
        length_products = lengths[rows, np.newaxis] * lengths
        np.divide(products, length_products, out=values, where=positive)
        if shrinkage > 0:
            common = dense_product(pattern(matrix[rows]), pattern(transposed))
            np.multiply(values, common / (common + shrinkage), out=values, where=positive)
        return values

    return nearest(similarities, n_rows=len(lengths), count=count)


def nearest_rated_sums(weights: Sparse, values: Sparse, *, count: int) -> tuple[Sparse, Sparse]:
    """Sum values over the nearest neighbours that have one, pair by pair.

    Parameters
    ----------
    weights
        Weights of the neighbours of each row, above 0, of shape (n_rows, n_neighbours).
    values
        What each neighbour contributes to each column, of shape (n_neighbours, n_columns).
    count
        Maximum number of neighbours of a pair of row and column: those of the highest weights whose
        value is stored. Equal weights, compared as float32, go by number, lower first.

    Returns
    -------
    Sums of the weighted values and of the weights, both of shape (n_rows, n_columns). Both have an
    entry for each pair with a neighbour, also where the sum is 0.
    """
    from scipy.sparse import csr_array

    from recommenders.kernels.neighbour_loops import add_nearest_rated

    shape = (weights.shape[0], values.shape[1])
    sums = np.zeros(shape)
    total_weights = np.zeros(shape)
    add_nearest_rated(
        weights.indptr,
        weights.indices,
        _float64_data(weights),
        values.indptr,
        values.indices,
        _float64_data(values),
        count,
        sums,
        total_weights,
    )
    pairs = np.nonzero(total_weights)
    return (
        csr_array((sums[pairs], pairs), shape=shape),
        csr_array((total_weights[pairs], pairs), shape=shape),
    )


ScoresOfSums: TypeAlias = Callable[[Sparse, Sparse, Sparse], NDArray[np.floating]]
"""Turns the sums over neighbours of a block of users into scores.

The arguments are the sums, (n_block, n_items), with entries for items that a neighbour has; the
weights of the neighbours, (n_block, n_users); and the users' own ratings, (n_block, n_items). The
scores are dense, (n_block, n_items), NaN for items that cannot be scored.
"""


@dataclass(frozen=True, eq=False)
class NeighbourSumScorer(TrainedOnRatings):
    r"""User neighbourhoods: :math:`f_u(\sum_v g_{uv} x_{vi})`.

    Products are sparse, so a row is the same to the last bit in every block. A sum of exactly 0
    counts as none, as the product does not hold it. A user without ratings scores NaN.

    The weights of neighbours, :math:`g`, are of shape (n_users, n_users): row u holds the
    neighbours of user u, who are training users. The values :math:`x`, of shape (n_users,
    n_items), are what neighbours contribute to the sum of each item. ``scores_of_sums`` is
    :math:`f`: to be pickled it must be a function of a module or a `functools.partial` of one.
    Without it the sums are the scores. If ``averaged``, the sums are first divided by the sums of
    the weights of the neighbours that have an entry. With ``max_count``, only so many neighbours of
    the highest weights are summed for each item, of those that have an entry. InputError if a
    matrix is of another shape.
    """

    neighbour_weights: Sparse
    values: Sparse
    scores_of_sums: ScoresOfSums | None = None
    averaged: bool = False
    max_count: int | None = None

    def __post_init__(self) -> None:
        """Raise InputError for matrices that are not of as many users and items."""
        n_users = len(self.users)
        require_shape("weights of neighbours", self.neighbour_weights, (n_users, n_users))
        require_shape("values of neighbours", self.values, (n_users, len(self.items)))

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for training users: float32 of shape (n_rows, n_items).

        A score is the sum of the neighbours' ``self.values``, (n_users, n_items), weighted by
        ``self.neighbour_weights``, (n_users, n_users); if ``self.averaged``, it is divided by the
        weights of the neighbours that have an entry. With ``self.max_count``, only the nearest of
        these are summed. ``self.scores_of_sums``, if there is one, converts the sums. NaN for a
        user without ratings, and for items that no neighbour has unless the conversion scores them.
        """
        weights = self.neighbour_weights[user_numbers]
        histories = self.histories[user_numbers]
        sums = self._sums(weights)
        if self.scores_of_sums is None:
            dense = to_dense(sums)
        else:
            dense = self.scores_of_sums(sums, weights, histories)
        scores = dense.astype(np.float32, copy=False)
        scores[np.diff(histories.indptr) == 0] = np.nan
        return scores

    def _sums(self, weights: Sparse) -> Sparse:
        """Sum or average the values of the neighbours of a block of users: (n_block, n_items).

        ``weights`` are those of the neighbours, (n_block, n_users).
        """
        if self.max_count is not None:
            sums, total_weights = nearest_rated_sums(weights, self.values, count=self.max_count)
            return weighted_means(sums, total_weights) if self.averaged else sums
        sums = weights @ self.values
        return weighted_means(sums, weights @ pattern(self.values)) if self.averaged else sums
