"""HT: hitting times of random walks from items to the user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qrels import Ratings
from recommenders.shared.scorers import (
    BatchScorer,
    HistoryBasedScorer,
    TrainedOnRatings,
    row_blocks,
)
from recommenders.shared.system import MemoryNeed, Positive, Settings, system
from runs import InputError
from runs.shared.arrays import Floats, Ints, Masks, Singles, Sparse

DENSE_MATRICES = 3
"""Memory of training, in dense float64 matrices of items x items.

The Laplacian is first sparse, with 12 bytes an entry, then dense; it becomes its inverse.
"""

RESOLUTION = 1e-12
"""Step to which hitting times are rounded, as a share of the sum of degrees.

It is above the errors of rounding.
"""


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


def ht_memory_need(ratings: Ratings, settings: HTSettings) -> MemoryNeed:
    """Estimate the bytes of training: three dense float64 matrices of shape (n_items, n_items).

    0 bytes if they would be more than the setting ``max_gigabytes``, as hitting times are truncated
    then.
    """
    n_items = len(ratings.items)
    dense_bytes = DENSE_MATRICES * 8 * n_items**2
    fits = dense_bytes <= settings.max_gigabytes * 1e9
    purpose = f"{DENSE_MATRICES} dense matrices of {n_items} x {n_items}"
    return MemoryNeed(dense_bytes if fits else 0, purpose)


@system(
    "ht",
    family="random walk",
    requires_nonnegative=True,
    source="Yin, Cui, Li, Yao & Chen (2012), Challenging the long tail recommendation, PVLDB 5(9)",
    memory_need=ht_memory_need,
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
    blocks of users. Exact scores are rounded to multiples of :math:`2 \sum R` times 1e-12, which is
    above the errors of rounding. An item from which no walk leads to the user cannot be scored.
    The walk favours the long tail, and does poorly where popular items are relevant.

    Notes
    -----
    The recursion and its truncation are the paper's; the paper restricts it to a part of the
    graph around the user, which is not done here. The closed form is ours: users other than
    :math:`u` are eliminated, and what u adds has rank 1.
    """
    if ht_memory_need(ratings, settings).n_bytes == 0:
        return TruncatedHittingTimes(ratings, settings.steps)
    weights, item_offsets, components = _hitting_times(ratings.matrix())
    resolution = RESOLUTION * 2 * float(ratings.rating.sum())
    return HittingTimes(ratings, weights, item_offsets, components, resolution)


@dataclass(frozen=True, eq=False)
class HittingTimes(HistoryBasedScorer):
    """Scores by exact hitting times: minus the steps by which an item is farther than the best.

    Row j of ``weights``, of shape (n_items, n_items), is added to the scores in proportion to the
    share of item j in the sum of the user's ratings. ``item_offsets`` and ``components``, the
    numbers of the items' connected components, are of shape (n_items,). Times are rounded to
    multiples of ``resolution``, in steps, so that errors of rounding do not settle ties.
    """

    weights: Floats
    item_offsets: Floats
    components: Ints
    resolution: float

    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        """Score every item for rows of ratings by hitting times, both of shape (n_rows, n_items).

        A score is minus the expected number of steps of a random walk from the item to the user,
        less that of the best item of the row, which scores 0, rounded to ``self.resolution`` steps.
        It is the mean of ``self.weights``, (n_items, n_items), over the rated items, weighted by
        their ratings, plus ``self.item_offsets``, (n_items,). NaN for items that are not connected
        with the items rated above 0: ``self.components`` has the number of each item's component.
        """
        shares = row_shares(histories)
        scores = shares @ self.weights + self.item_offsets
        scores[~connected_items(histories, self.components)] = np.nan
        # Times are large and close to each other: from 0 down, float32 tells them apart.
        scores -= np.fmax.reduce(scores, axis=1, keepdims=True)
        return np.round(scores / self.resolution) * self.resolution


@dataclass(frozen=True, eq=False)
class TruncatedHittingTimes(TrainedOnRatings):
    r"""Scores by hitting times of walks that end after a number of steps.

    The steps that meeting the user early saves, :math:`g^t = t - h^t`, follow the recursion
    without its 1: each is the mean over where the walk goes, and :math:`g_u^t = t`. Nothing is
    subtracted, so small differences between times are not lost.
    """

    steps: int

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for training users by the mean number of steps that a walk saves.

        A walk of ``self.steps`` steps from the item ends early when it meets the user. The matrices
        ``self._from_users`` and ``self._from_items`` have the probabilities of a step, of shapes
        (n_users, n_items) and (n_items, n_users). Scores are float32 of shape (n_rows, n_items);
        NaN for items from which no walk leads to the user, as they are of another component of the
        graph of ratings, ``self.histories``, (n_users, n_items).
        """
        column = np.arange(len(user_numbers))
        saved_from_items = np.zeros((len(self.items), len(user_numbers)))
        # By the number of steps that are left at a user, two at a time: a walk that starts at an
        # item is at a user at every second step only.
        for step in range(self.steps % 2 + 1, self.steps, 2):
            saved_from_users = self._from_users @ saved_from_items
            saved_from_users[user_numbers, column] = step
            saved_from_items = self._from_items @ saved_from_users
        scores = saved_from_items.T.astype(np.float32)
        histories = self.histories[user_numbers]
        scores[~connected_items(histories, self._components)] = np.nan
        return scores

    @cached_property
    def _from_users(self) -> Sparse:
        """Probabilities of a step from each user to each item, of shape (n_users, n_items)."""
        return row_shares(self.histories)

    @cached_property
    def _from_items(self) -> Sparse:
        """Probabilities of a step from each item to each user, of shape (n_items, n_users)."""
        return row_shares(self.histories.T.tocsr())

    @cached_property
    def _components(self) -> Ints:
        """Numbers of the connected components of the items, of shape (n_items,)."""
        _, item_components = connected_components(self.histories)
        return item_components


def _hitting_times(matrix: Sparse) -> tuple[Floats, Floats, Ints]:
    """Solve for the weights, item offsets and item components of `HittingTimes`.

    Minus the hitting times of a user are the weights, summed over the shares of the user's ratings,
    plus the item offsets, up to a constant of the user.

    The ratings are of shape (n_users, n_items); the results of shapes (n_items, n_items),
    (n_items,) and (n_items,). Components are numbers of the connected components of the graph of
    ratings. Raises InputError if the ratings differ too much in size to be solved for.
    """
    _, components = connected_components(matrix)
    degrees = matrix.sum(axis=0)
    weights = inverse_laplacian(matrix, components)
    offsets = -2 * (weights @ degrees)
    component_degrees = np.bincount(components, weights=degrees)
    weights *= 2 * component_degrees[components, np.newaxis]
    return weights, offsets, components


def inverse_laplacian(matrix: Sparse, components: Ints) -> Floats:
    r"""Invert :math:`D_I - R^\top D_U^{-1} R`, made regular by a constant on each component.

    The constant shifts the inverse by a constant, which hitting times cancel.

    Parameters
    ----------
    matrix
        Ratings :math:`R` of shape (n_users, n_items); :math:`D_U` and :math:`D_I` are the diagonal
        matrices of its row and column sums.
    components
        Numbers of the items' connected components, of shape (n_items,).

    Returns
    -------
    The inverse, float64 of shape (n_items, n_items).

    Raises
    ------
    InputError
        If the matrix is not positive definite in float64, as the ratings differ too much in size.
    """
    laplacian = (matrix.T @ row_shares(matrix)).toarray(order="F")
    np.negative(laplacian, out=laplacian)
    degrees = matrix.sum(axis=0)
    np.einsum("ii->i", laplacian)[:] += degrees
    sizes = np.maximum(np.bincount(components), 1)
    # The eigenvalue of the constant vector becomes the mean degree: the condition stays.
    means = np.bincount(components, weights=degrees) / sizes
    constants = np.where(means > 0, means, 1.0) / sizes
    for rows in row_blocks(len(components), row_bytes=8 * len(components)):
        same_component = components[rows, np.newaxis] == components
        laplacian[rows] += np.where(same_component, constants[components], 0.0)
    return _inverse(laplacian)


def _inverse(matrix: Floats) -> Floats:
    """Invert a symmetric positive definite matrix, which is overwritten, in its own memory.

    The matrix must be in Fortran order. Raises InputError if it is not positive definite.
    """
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, info = dpotrf(matrix, lower=True, overwrite_a=True)
    if info != 0:
        raise InputError("system 'ht' cannot be trained: the ratings differ too much in size.")
    inverse, _ = dpotri(factor, lower=True, overwrite_c=True)
    # LAPACK computes the lower triangle alone.
    for rows in row_blocks(len(inverse), row_bytes=8 * len(inverse)):
        inverse[rows, rows.stop :] = inverse[rows.stop :, rows].T
        block = inverse[rows, rows]
        block[:] = np.tril(block) + np.tril(block, -1).T
    return inverse.T  # The same, row after row in memory.


def connected_components(matrix: Sparse) -> tuple[Ints, Ints]:
    """Number the connected components of the graph of the ratings that are not 0.

    Users and items are its nodes. Returns the component of every user, (n_users,), and of every
    item, (n_items,); an item without ratings is a component of its own.
    """
    from scipy.sparse import csgraph, csr_array

    n_users, n_items = matrix.shape
    n_nodes = n_users + n_items
    users, items = matrix.nonzero()
    ones = np.ones(len(users))
    edges = csr_array((ones, (users, n_users + items)), shape=(n_nodes, n_nodes))
    _, labels = csgraph.connected_components(edges, directed=False)
    return labels[:n_users], labels[n_users:]


def connected_items(histories: Sparse, components: Ints) -> Masks:
    """Mark the items that are connected with an item that the row rates above 0.

    Histories and the result are of shape (n_rows, n_items); ``components`` holds the numbers of the
    items' connected components, of shape (n_items,).
    """
    from scipy.sparse import csr_array

    n_items = len(components)
    n_components = int(components.max()) + 1
    ones = np.ones(n_items)
    row_starts = np.arange(n_items + 1)  # One entry a row.
    membership = csr_array((ones, components, row_starts), shape=(n_items, n_components))
    rating_sums = (histories @ membership).toarray()
    return rating_sums[:, components] > 0


def row_shares(matrix: Sparse) -> Sparse:
    """Divide every row of a sparse matrix, whose values are at least 0, by its sum.

    Returns a new matrix, float64 of the same shape; a row of zeros stays.
    """
    sums = matrix.sum(axis=1)
    divisors = np.where(sums > 0, sums, 1.0)
    shares = matrix.astype(np.float64)
    shares.data /= np.repeat(divisors, np.diff(matrix.indptr))
    return shares
