"""HT: hitting times of random walks from items to the user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qrels import Ratings
from recommenders.shared.scorers import BatchScorer, HistoryScorer, TrainedOnRatings, row_blocks
from recommenders.shared.system import Need, Positive, Settings, system
from runs import InputError
from runs.shared.arrays import Floats, Ints, Masks, Singles, Sparse

# The Laplacian, first sparse with 12 bytes an entry, then dense; it becomes its inverse.
DENSE_MATRICES = 3
# Part of the sum of degrees, of which hitting times are multiples: above the errors of rounding.
RESOLUTION = 1e-12


class HTSettings(Settings):
    """Settings of HT."""

    max_gigabytes: Positive = Field(
        4.0,
        description="Maximum memory for training, in GB: above 0. If 3 dense matrices of items x "
        "items in float64 need more, hitting times are truncated.",
    )
    steps: int = Field(
        15,
        ge=2,
        description="Number of steps of truncated hitting times (the paper's tau): at least 2. Not "
        "used for exact hitting times.",
    )


def ht_need(ratings: Ratings, settings: HTSettings) -> Need:
    """Count the dense matrices; there are none where they would not fit ``max_gigabytes``."""
    n_items = len(ratings.items)
    needed_bytes = DENSE_MATRICES * 8 * n_items**2
    fits = needed_bytes <= settings.max_gigabytes * 1e9
    return Need(fits * needed_bytes, f"{DENSE_MATRICES} dense matrices of {n_items} x {n_items}")


@system(
    "ht",
    family="random walk",
    amounts=True,
    source="Yin, Cui, Li, Yao & Chen (2012), Challenging the long tail recommendation, PVLDB 5(9)",
    need=ht_need,
)
def ht(ratings: Ratings, settings: HTSettings, *, seed: int) -> BatchScorer:
    r"""Rank items by the expected number of steps of a random walk from the item to the user.

    The walk goes to and fro between users and items, along ratings :math:`r_{ui}`, the higher
    the likelier. With :math:`d` the sums of ratings, scores are :math:`-h`, where

    .. math:: h_i = 1 + \sum_v \frac{r_{vi}}{d_i} h_v, \quad
              h_v = 1 + \sum_j \frac{r_{vj}}{d_v} h_j, \quad h_u = 0

    Exactly, from :math:`S = D_I - R^\top D_U^{-1} R` and the sum of degrees :math:`2 \sum R`,

    .. math:: -h = \frac{2 \sum R}{d_u} r_u S^+ - 2 \, d_I S^+ + \mathrm{const}_u

    with sums over the connected component of u, and the best item at 0. Above ``max_gigabytes``
    walks end after :math:`\tau` steps, and the score is :math:`\tau - h`, by the recursion on
    blocks of users. An item from which no walk leads to the user cannot be scored. The walk
    favours the long tail, and does poorly where popular items are relevant.

    Notes
    -----
    The recursion and its truncation are the paper's; the paper restricts it to a part of the
    graph around the user, which is not done here. The closed form is ours: users other than
    :math:`u` are eliminated, and what u adds has rank 1.
    """
    if ht_need(ratings, settings).n_bytes == 0:
        return TruncatedHittingTimes(ratings, settings.steps)
    resolution = RESOLUTION * 2 * float(ratings.rating.sum())
    return HittingTimes(ratings, *_hitting_times(ratings.matrix()), resolution)


@dataclass(frozen=True, eq=False)
class HittingTimes(HistoryScorer):
    """Scores by exact hitting times: by how much the best item of a user is nearer, negative.

    Weights, of shape (n_items, n_items), are what a share of the user's ratings on item j says for
    item i; offsets and numbers of connected components are of shape (n_items,). Times are rounded
    to the resolution, so that errors of rounding do not settle ties.
    """

    weights: Floats
    item_offsets: Floats
    components: Ints
    resolution: float

    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        shares = row_shares(histories)
        scores = shares @ self.weights + self.item_offsets
        scores[~reached(histories, self.components)] = np.nan
        # Times are large and close to each other: from 0 down, float32 tells them apart.
        scores -= np.fmax.reduce(scores, axis=1, keepdims=True)
        return np.round(scores / self.resolution) * self.resolution


@dataclass(frozen=True, eq=False)
class TruncatedHittingTimes(TrainedOnRatings):
    r"""Scores by walks that are cut off.

    The steps that meeting the user early saves, :math:`g^t = t - h^t`, follow the recursion
    without its 1: each is the mean over where the walk goes, and :math:`g_u^t = t`. Nothing is
    subtracted, so small differences between times are not lost.
    Walks are of so many ``steps``.
    """

    steps: int

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these training users."""
        from_users, from_items, components = self._graph
        row = np.arange(len(user_numbers))
        saved = np.zeros((len(self.items), len(row)))
        for step in range(self.steps % 2 + 1, self.steps, 2):
            saved_of_users = from_users @ saved
            saved_of_users[user_numbers, row] = step
            saved = from_items @ saved_of_users
        scores = saved.T.astype(np.float32)
        scores[~reached(self.histories[user_numbers], components)] = np.nan
        return scores

    @cached_property
    def _graph(self) -> tuple[Sparse, Sparse, Ints]:
        """Give chances of steps from users and from items, and components of items."""
        matrix = self.histories
        chances = row_shares(matrix), row_shares(matrix.T.tocsr())
        return *chances, connected_components(matrix)[1]


def _hitting_times(matrix: Sparse) -> tuple[Floats, Floats, Ints]:
    """Solve for the weights, offsets and components of :class:`HittingTimes`."""
    components = connected_components(matrix)[1]
    degrees = matrix.sum(axis=0)
    weights = inverse_laplacian(matrix, components)
    offsets = -2 * (weights @ degrees)
    weights *= 2 * np.bincount(components, weights=degrees)[components, np.newaxis]
    return weights, offsets, components


def inverse_laplacian(matrix: Sparse, components: Ints) -> Floats:
    r"""Invert :math:`D_I - R^\top D_U^{-1} R`, made regular by a constant on each component.

    The constant shifts the inverse by a constant, which hitting times cancel.
    """
    laplacian = (matrix.T @ row_shares(matrix)).toarray(order="F")
    np.negative(laplacian, out=laplacian)
    degrees = matrix.sum(axis=0)
    np.einsum("ii->i", laplacian)[:] += degrees
    sizes = np.maximum(np.bincount(components), 1)
    # The eigenvalue of the constant vector becomes the mean degree: the condition stays.
    means = np.bincount(components, weights=degrees) / sizes
    lifts = np.where(means > 0, means, 1.0) / sizes
    for rows in row_blocks(len(components), row_bytes=8 * len(components)):
        same = components[rows, np.newaxis] == components
        laplacian[rows] += np.where(same, lifts[components], 0.0)
    return _inverse(laplacian)


def _inverse(matrix: Floats) -> Floats:
    """Invert a positive definite matrix in its own memory."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, failed = dpotrf(matrix, lower=True, overwrite_a=True)
    if failed:
        raise InputError("system 'ht' cannot be trained: the ratings differ too much in size.")
    inverse, _ = dpotri(factor, lower=True, overwrite_c=True)
    for rows in row_blocks(len(inverse), row_bytes=8 * len(inverse)):
        inverse[rows, rows.stop :] = inverse[rows.stop :, rows].T
        block = inverse[rows, rows]
        block[:] = np.tril(block) + np.tril(block, -1).T
    return inverse.T  # The same, row after row in memory.


def connected_components(matrix: Sparse) -> tuple[Ints, Ints]:
    """Number the connected components of the graph of ratings above 0, for users and items."""
    from scipy.sparse import csgraph, csr_array

    n_users, n_items = matrix.shape
    users, items = matrix.nonzero()
    ones = np.ones(len(users))
    edges = csr_array((ones, (users, n_users + items)), shape=(n_users + n_items,) * 2)
    labels = csgraph.connected_components(edges, directed=False)[1]
    return labels[:n_users], labels[n_users:]


def reached(histories: Sparse, components: Ints) -> Masks:
    """Tell which items are in a connected component with one that is rated above 0, of each row."""
    from scipy.sparse import csr_array

    n_items = len(components)
    entries = (np.ones(n_items), components, np.arange(n_items + 1))
    membership = csr_array(entries, shape=(n_items, int(components.max()) + 1))
    return (histories @ membership).toarray()[:, components] > 0


def row_shares(matrix: Sparse) -> Sparse:
    """Divide every row by its sum; a row of zeros stays."""
    sums = matrix.sum(axis=1)
    shares = matrix.astype(np.float64)
    shares.data /= np.repeat(np.where(sums > 0, sums, 1.0), np.diff(matrix.indptr))
    return shares
