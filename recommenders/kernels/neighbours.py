"""Neighbourhoods of users and items: similarities, the nearest ones, and sums over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from qrels import Ratings
from qrels.interactions.interactions import Interactions
from recommenders.shared.scorers import (
    TrainedOnRatings,
    averages,
    filled,
    pattern,
    row_blocks,
    row_of_entry,
    with_data,
)
from recommenders.shared.system import AtLeastOne, NotNegative, Range, Settings, searched
from runs import top_items
from runs.shared.arrays import Floats, Integers, Ints, Longs, Singles, Sparse
from runs.shared.settings import Section


class BaselineSettings(Settings):
    """What systems on baselines have in common."""

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


@dataclass(frozen=True, eq=False)
class Baselines:
    r"""Predicts ratings without regard to taste.

    .. math::

        b_{ui} = \mu + b_u + b_i, \quad
        b_i = \frac{\sum_u (r_{ui} - \mu)}{n_i + \lambda_i}, \quad
        b_u = \frac{\sum_i (r_{ui} - \mu - b_i)}{n_u + \lambda_u}

    with :math:`n_i` and :math:`n_u` the numbers of ratings of item and user.

    Held are :math:`\mu + b_i`, of shape (n_items,), and :math:`\lambda_u`, above 0 or 0.
    """

    of_items: Floats
    user_damping: float

    @classmethod
    def fit(cls, matrix: Sparse, settings: BaselineSettings) -> Baselines:
        """Learn the items' baselines from ratings of shape (n_users, n_items)."""
        mean = matrix.data.mean()
        n_items = matrix.shape[1]
        offsets = np.bincount(matrix.indices, matrix.data - mean, minlength=n_items)
        counts = np.bincount(matrix.indices, minlength=n_items)
        divisors = np.maximum(counts + settings.item_damping, 1)
        return cls(mean + offsets / divisors, settings.user_damping)

    def of_users(self, histories: Sparse) -> Floats:
        """Give :math:`b_u` of the owners of these rows of ratings."""
        offsets = with_data(histories, histories.data - self.of_items[histories.indices])
        counts = np.diff(histories.indptr)
        return offsets.sum(axis=1) / np.maximum(counts + self.user_damping, 1)

    def residuals(self, histories: Sparse) -> Sparse:
        """Take the baselines off the ratings."""
        expected = self.of_users(histories)[row_of_entry(histories)]
        expected += self.of_items[histories.indices]
        return with_data(histories, histories.data - expected)


# A number and a place for each pair, and two numbers more while cosines are worked out.
BYTES_PER_PAIR = 28


def pairs_at_most(ratings: Ratings) -> int:
    """Bound the pairs of items that some user has both rated, each with itself included."""
    return min(len(ratings.items) ** 2, int((ratings.user_counts() ** 2).sum()))


def cosines(ratings: Ratings) -> Sparse:
    r"""Compare items by the users who rated them.

    .. math:: s_{ij} = n_{ij} / \sqrt{c_i c_j}

    with :math:`n_{ij}` users who rated both and :math:`c_i` who rated i. Takes 28 bytes for
    each pair that somebody rated: float64 of shape (n_items, n_items), symmetric to the last bit,
    the diagonal exactly 1; nothing is stored for items that share no user.
    """
    rated = pattern(ratings.matrix())
    shared = rated.T.tocsr() @ rated
    counts = ratings.item_counts()
    shared.data /= np.sqrt(counts[row_of_entry(shared)] * counts[shared.indices])
    return shared


def nearest_of(similarities: Sparse, *, neighbours: int) -> Sparse:
    """Keep the highest similarities, all above 0, of every row of a sparse matrix.

    Equal similarities are settled by item number, lower first; they are compared as float32.
    """
    return nearest(
        lambda rows: filled(similarities[rows], -np.inf).astype(np.float64, copy=False),
        n_rows=similarities.shape[0],
        count=neighbours,
    )


def dense_product(left: Sparse, right: Sparse) -> Floats:
    """Multiply two sparse matrices, some rows by all columns.

    Every sum runs in the order of the entries of the left row, as in scipy's product, and has
    the same last bit. Scipy's keeps lists of what is not zero, which takes several times as
    long where most is not.
    """
    from recommenders.kernels.neighbour_loops import add_products

    product = np.zeros((left.shape[0], right.shape[1]))
    add_products(*_entries(left), *_entries(right), product)
    return product


def _entries(matrix: Sparse) -> tuple[Integers, Integers, Floats]:
    """Give what compiled loops take: where rows end, the columns of entries, and the values."""
    return matrix.indptr, matrix.indices, matrix.data.astype(np.float64, copy=False)


PAIRS_AT_ONCE: Final = 10_000_000
"""Pairs of items of a block: they take 8 bytes each."""


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
        return f"item-cosines({','.join(f'{key}={own:g}' for key, own in self)})"

    def __call__(self, history: Interactions) -> Sparse:
        """Learn from distinct pairs of user and item, for one block of items after the other."""
        from scipy.sparse import csr_array, vstack

        first = history.is_first
        shape = (len(history.users), len(history.items))
        ones = np.ones(np.count_nonzero(first), dtype=np.int32)
        by_user = csr_array((ones, (history.user[first], history.item[first])), shape=shape)
        by_item = by_user.T.tocsr()
        counts = np.diff(by_item.indptr).astype(np.int64)
        # An item shares users with at most as many items as its users have.
        sizes = np.append(0, np.cumsum(np.diff(by_user.indptr)[by_item.indices], dtype=np.int64))
        bounds = np.minimum(np.diff(sizes[by_item.indptr]), len(counts))
        rows = [
            self._nearest(by_item[begin:end] @ by_user, begin, counts)
            for begin, end in _blocks(bounds, most=PAIRS_AT_ONCE)
        ]
        return vstack(rows, format="csr") if rows else csr_array((0, 0))

    def _nearest(self, common: Sparse, first: int, counts: Longs) -> Sparse:
        """Find the neighbours of a block of items, from the users they share with each item."""
        from scipy.sparse import csr_array

        from recommenders.kernels.neighbour_loops import nearest_cosines

        entries, lengths = _entries(common), np.sqrt(counts)
        nearest = nearest_cosines(*entries, lengths, first, self.shrinkage, self.neighbours)
        return csr_array(nearest, shape=common.shape)


def _blocks(bounds: Longs, *, most: int) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks whose bounds add up to no more than that, or of one row."""
    first, room = 0, most
    for row, bound in enumerate(bounds.tolist()):
        if bound > room and row > first:
            yield first, row
            first, room = row, most
        room -= bound
    if len(bounds):
        yield first, len(bounds)


# From the numbers of some rows to their likeness to all rows, -inf for no neighbour: float64 of
# shape (rows of the slice, n_rows), a new array.
Likeness: TypeAlias = Callable[[slice], Floats]

NearestUsers: TypeAlias = Annotated[
    int, Field(ge=1, description="Number of nearest users (the paper's k): at least 1.")
]


def nearest(likeness: Likeness, *, n_rows: int, count: int) -> Sparse:
    """Keep, of every row, the neighbours it is most like, ``count`` of them where so many exist.

    Equals, in float32, go by their number; no row is its own neighbour. Row u of the graph, of
    shape (n_rows, n_rows), holds the likeness to its neighbours.
    """
    from scipy.sparse import csr_array, vstack

    graphs = []
    for rows in row_blocks(n_rows, row_bytes=8 * n_rows):
        values = likeness(rows)
        values[np.arange(len(values)), np.arange(rows.start, rows.stop)] = -np.inf
        chosen = top_items(values, depth=min(count, n_rows))
        row, rank = np.nonzero(chosen >= 0)
        column = chosen[row, rank]
        graph = csr_array((values[row, column], (row, column)), shape=values.shape)
        graph.sort_indices()
        graphs.append(graph)
    return vstack(graphs, format="csr")


def nearest_by_cosine(matrix: Sparse, *, count: int, shrinkage: float = 0.0) -> Sparse:
    r"""Find the rows with the highest cosine, positive ones only.

    .. math:: s_{uv} = \frac{r_u \cdot r_v}{\|r_u\| \, \|r_v\|} \cdot \frac{n_{uv}}{n_{uv} + \beta}

    Ratings are of shape (n_rows, n_columns), and 0 where they are missing. The shrinkage
    :math:`\beta` is distrust in cosines that rest on few common columns, :math:`n_{uv}` of them; 0
    trusts all alike.
    """
    transposed = matrix.T.tocsr()
    lengths = np.sqrt(matrix.multiply(matrix).sum(axis=1))

    def likeness(rows: slice) -> Floats:
        products = dense_product(matrix[rows], transposed)
        positive = products > 0
        values = np.full(products.shape, -np.inf)
        np.divide(products, lengths[rows, np.newaxis] * lengths, out=values, where=positive)
        if shrinkage > 0:
            common = dense_product(pattern(matrix[rows]), pattern(transposed))
            np.multiply(values, common / (common + shrinkage), out=values, where=positive)
        return values

    return nearest(likeness, n_rows=len(lengths), count=count)


# From sums over neighbours, with entries where there is one, these neighbours, and the ratings of
# those whose neighbours they are, to scores, NaN where there is none.
Finish: TypeAlias = Callable[[Sparse, Sparse, Sparse], NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class NeighbourSumScorer(TrainedOnRatings):
    r"""User neighbourhoods: :math:`f_u(\sum_v g_{uv} x_{vi})`.

    Products are sparse, so a row is the same to the last bit in every block. A sum of exactly 0
    counts as none, as the product does not hold it. A user without ratings scores NaN.

    Neighbours are training users, near with their weights :math:`g`, of shape (n_users, n_users).
    The values :math:`x`, of shape (n_users, n_items), are what a neighbour says of an item.
    Without ``finish``, :math:`f`, which to be pickled must be a function of a module or a
    `functools.partial` of one, sums are the scores. If ``averaged``, they are divided by the
    weights of the neighbours that have an entry.
    """

    near: Sparse
    values: Sparse
    finish: Finish | None = None
    averaged: bool = False

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these training users."""
        near, histories = self.near[user_numbers], self.histories[user_numbers]
        sums = near @ self.values
        if self.averaged:
            sums = averages(sums, near @ pattern(self.values))
        finished = filled(sums) if self.finish is None else self.finish(sums, near, histories)
        scores = finished.astype(np.float32, copy=False)
        scores[np.diff(histories.indptr) == 0] = np.nan
        return scores
