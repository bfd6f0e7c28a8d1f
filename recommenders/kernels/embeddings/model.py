"""Item-kNN on the vectors of least squares: from interactions to similarities."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from qrels.ratings.k_core import renumbered
from qrels.ratings.ratings import Ratings
from recommenders.kernels.embeddings.als import item_factors
from recommenders.kernels.embeddings.bm25 import bm25
from recommenders.kernels.embeddings.cosine_neighbours import cosine_neighbours
from recommenders.kernels.embeddings.pruning import prune
from recommenders.kernels.embeddings.settings import EmbeddingSettings

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def similarity(
    interactions: Interactions, settings: EmbeddingSettings, *, seed: int, n_jobs: int = 1
) -> csr_array[Any]:
    r"""Find the neighbours of every item by the cosine of learned vectors.

    .. math:: S_{ij} = \frac{q_i \cdot q_j}{\|q_i\| \, \|q_j\|}, \quad
              c_{ui} = 1 + \alpha w_{ui}

    for the n nearest j of i with positive cosine, 0 for others. The vectors q are those of
    `item_factors` under confidences c, where w are the sums of the values of the events of u on
    i, weighed by `bm25`, after pruning. Row i of the matrix, float64 of shape (n_items, n_items),
    holds the neighbours that item i votes for in `rank_hidden`; rows
    and columns of items that were pruned or never seen are empty.

    Raises
    ------
    InputError
        If pruning leaves nothing, implicit is missing, or vectors do not stay finite.

    References
    ----------
    Kasalický (2021), sections 1.2.4 and 2.2.

    Notes
    -----
    The system ``als-knn`` is the same idea for offline studies, on ratings and by LensKit's
    solver, which every system there shares. This one takes events and uses implicit, several
    times faster, as a search or an experiment trains dozens of models on millions of events.
    Pruning, BM25 and neighbours are shared.

    An interaction whose weight is 0, as of an item that everybody had under the clipped idf,
    still says that the user had the item, with the confidence 1 of what is not known.
    """
    kept = prune(
        interactions.totals(),
        min_items_per_user=settings.min_items_per_user,
        min_users_per_item=settings.min_users_per_item,
        mode=settings.prune,
    )
    trained = np.unique(kept.item)
    vectors = item_factors(
        _confidences(kept, settings),
        factors=settings.factors,
        regularization=settings.regularization,
        sweeps=settings.sweeps,
        seed=seed,
        n_jobs=n_jobs,
    )
    graph = cosine_neighbours(vectors, count=settings.neighbours, n_jobs=n_jobs)
    return _over_all(graph, trained, len(interactions.items))


def _confidences(ratings: Ratings, settings: EmbeddingSettings) -> csr_array[Any]:
    """Give confidences over the users and items that have a rating, renumbered."""
    weights = ratings.rating
    if settings.bm25_rows != "none":
        weights = bm25(ratings, rows=settings.bm25_rows, k1=settings.k1, b=settings.b)
    confidences = replace(ratings, rating=1 + settings.alpha * weights)
    return renumbered(confidences).matrix(np.float32)


def _over_all(graph: csr_array[Any], numbers: NDArray[np.int32], n_items: int) -> csr_array[Any]:
    """Place the rows and columns of a graph at rising numbers among all items."""
    lengths = np.zeros(n_items, dtype=np.int64)
    lengths[numbers] = np.diff(graph.indptr)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return type(graph)((graph.data, numbers[graph.indices], starts), shape=(n_items, n_items))
