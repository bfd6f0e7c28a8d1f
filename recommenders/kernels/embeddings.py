"""Embeddings of items from interactions: pruning, ALS factors, BM25 weights, and their cosines."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from qrels.interactions.interactions import Interactions
from qrels.ratings.ratings import Ratings, drop_rare, renumber
from recommenders.shared.scorers import row_of_entry
from recommenders.shared.system import AtLeastOne, Positive
from runs import InputError
from runs.shared.arrays import Floats, Ints, Singles, Sparse
from runs.shared.errors import needed_by
from runs.shared.parallel import delayed, run_in_threads, single_threaded
from runs.shared.settings import Section


class EmbeddingSettings(Section):
    """How interactions become similarities; what Kasalický (2021) does not give is ours.

    ``factors``: length of a vector; the thesis has 32 to 1024; ``regularization``: penalty on the
    squared vectors (the thesis's lambda); the thesis has 0.1, 1 and 10; ``alpha``: what a weight
    adds to the confidence in its pair, 1 + alpha w; ours; ``sweeps``: times that users and items
    are solved for; ours; ``bm25_rows``: whether users or items are the documents of `bm25`, or
    ``"none"`` for the values themselves; the thesis has BM25 and does not say which; ``k1``, ``b``:
    of BM25. The thesis has b = 0.75; k1 is implicit's default; ``min_items_per_user``,
    ``min_users_per_item``: what users and items are learned from; the thesis has 2 to 20;
    ``neighbours``: nearest items kept for every item; ours.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    factors: AtLeastOne = 128
    regularization: Positive = 1.0
    alpha: Positive = 1.0
    sweeps: AtLeastOne = 15
    bm25_rows: Literal["users", "items", "none"] = "users"
    k1: Positive = 100.0
    b: float = Field(0.75, ge=0, le=1)
    min_items_per_user: AtLeastOne = 2
    min_users_per_item: AtLeastOne = 2
    neighbours: AtLeastOne = 100

    def __str__(self) -> str:
        """Write all settings by name, ``als-knn(factors=64,...)``, numbers with up to 10 digits."""
        texts = []
        for name, value in self:
            text = value if isinstance(value, str) else f"{value:.10g}"
            texts.append(f"{name}={text}")
        return f"als-knn({','.join(texts)})"


def item_factors(
    confidences: Sparse, settings: EmbeddingSettings, *, seed: int, n_jobs: int = 1
) -> Singles:
    r"""Learn the vectors of items from who had them.

    .. math:: Q = \arg\min_Q \min_P \sum_{u,i} c_{ui} (z_{ui} - p_u \cdot q_i)^2
              + \lambda (\|P\|^2 + \|Q\|^2)

    with :math:`z_{ui} = 1` and :math:`c_{ui}` as stored where there is an entry, and
    :math:`z_{ui} = 0`, :math:`c_{ui} = 1` elsewhere. Confidences :math:`c`, such as
    :math:`1 + \alpha r`, are of shape (n_users, n_items) and above 0. In a sweep both sides are
    solved for by three steps of conjugate gradients. Vectors are float32 of shape (n_items,
    factors); they depend on the seed of those to begin with, not on threads (-1 for all cores).

    Hu, Koren & Volinsky (2008), equation 3; Takács, Pilászy & Tikk (2011) for the solver, which is
    that of the package implicit, on the CPU. BLAS, whose sums depend on its threads, has one.

    Raises InputError if implicit is not installed, or the numbers become infinite.
    """
    from scipy.sparse import csr_matrix

    model_class = import_implicit().AlternatingLeastSquares
    with single_threaded("blas"):
        model = model_class(
            factors=settings.factors,
            regularization=settings.regularization,
            iterations=settings.sweeps,
            num_threads=max(n_jobs, 0),  # implicit takes 0 for all cores.
            random_state=seed,
        )
        try:
            model.fit(csr_matrix(confidences, dtype=np.float32), show_progress=False)
        except import_module("implicit.recommender_base").ModelFitError:
            raise InputError(
                "least squares came to numbers that are not finite; take a larger `regularization` "
                "or a smaller `alpha`."
            ) from None
    return model.item_factors


def import_implicit() -> Any:
    """Import implicit's solver for the CPU; InputError names the package if it is missing."""
    with needed_by("als-knn on interactions", extra="online"):
        return import_module("implicit.cpu.als")


Rows: TypeAlias = Literal["users", "items"]
Idf: TypeAlias = Literal["clipped", "smooth"]


def bm25(ratings: Ratings, *, rows: Rows, k1: float, b: float, idf: Idf = "clipped") -> Floats:
    r"""Weigh ratings as BM25 weighs terms.

    .. math:: w_{dt} = \frac{(k_1 + 1)\, r_{dt}}{k_1 (1 - b + b \, l_d / \bar l) + r_{dt}}
              \, \mathrm{idf}_t

    with :math:`l_d` the sum of a document's ratings, of mean :math:`\bar l` over the documents
    that have any. Documents are users or items, as ``rows`` says; terms are the other. Where
    documents are users, long histories are held against their users and popular items weigh less;
    where they are items, the other way round; Kasalický (2021) does not say which. For :math:`k_1`
    implicit has 100 and Lucene 1.2; b, from 0 to 1, is 0.75 in Kasalický (2021). Ratings are not
    below 0, and neither are the weights, of shape (n_ratings,). With N documents, n of which hold
    the term, the idf is :math:`\max(\ln N - \ln(1 + n), 0)`, of implicit, which does not clip, or
    :math:`\ln(1 + (N - n + 1/2) / (n + 1/2))`, of Lucene.

    References
    ----------
    Robertson & Zaragoza (2009), The probabilistic relevance framework: BM25 and beyond.
    """
    if rows == "users":
        document = ratings.user
        term = ratings.item
    else:
        document = ratings.item
        term = ratings.user
    lengths = np.bincount(document, ratings.rating)
    n_documents = int(np.count_nonzero(np.bincount(document)))
    mean_length = lengths.sum() / n_documents or 1.0
    occurrences = np.bincount(term).astype(np.float64)
    if idf == "clipped":
        log_ratio = np.log(n_documents) - np.log1p(occurrences)
        rarity = np.maximum(log_ratio, 0.0)
    else:
        odds = (n_documents - occurrences + 0.5) / (occurrences + 0.5)
        rarity = np.log1p(odds)
    relative_lengths = lengths[document] / mean_length
    saturation = k1 * (1 - b + b * relative_lengths)
    term_weights = (k1 + 1) * ratings.rating / (saturation + ratings.rating)
    return term_weights * rarity[term]


BLOCK_BYTES = 32 * 2**20
"""Size of a block of cosines, in bytes."""


def cosine_neighbours(
    factors: NDArray[np.floating], *, count: int, n_jobs: int = 1, block_bytes: int = BLOCK_BYTES
) -> Sparse:
    """Compute the positive cosines of every item's nearest items, blocks of items at a time.

    Row i of the cosines, float64 of shape (n_items, n_items), symmetric where both are stored,
    holds the neighbours of item i, those that i votes for in `rank_hidden`: at most ``count``,
    without i itself; of equal cosines the lower item number is nearer. Vectors are of shape
    (n_items, n_factors); one of zeros has no neighbour. Blocks of ``block_bytes`` bytes are
    computed in ``n_jobs`` threads (-1 for as many as cores); the result does not depend on either,
    nor on BLAS.

    Notes
    -----
    Products of whole blocks are fast and their last bits depend on the block. So they are made
    in float32 and only choose candidates, with a margin of twice the largest error they may
    have; the candidates' cosines are then summed in float64 in the order of the factors.
    """
    from scipy.sparse import csr_array

    directions = unit_rows(np.asarray(factors, dtype=np.float64))
    float32_directions = directions.astype(np.float32)
    n_items = len(directions)
    block_rows = max(1, block_bytes // (4 * n_items))
    tasks = (
        delayed(_nearest_of)(
            slice(first, first + block_rows), directions, float32_directions, count
        )
        for first in range(0, n_items, block_rows)
    )
    with single_threaded("blas"):
        blocks = run_in_threads(tasks, n_jobs=n_jobs, in_this_process=True)
    neighbours = np.concatenate([block_neighbours for block_neighbours, _ in blocks])
    cosines = np.concatenate([block_cosines for _, block_cosines in blocks])
    row, place = np.nonzero(neighbours >= 0)
    places = (row, neighbours[row, place])
    return csr_array((cosines[row, place], places), shape=(n_items, n_items))


def unit_rows(vectors: Floats) -> Floats:
    """Divide every row of a matrix by its Euclidean length; a row of zeros stays."""
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return vectors / np.where(lengths > 0, lengths, 1)


def _nearest_of(
    rows: slice, directions: Floats, float32_directions: Singles, count: int
) -> tuple[Ints, Floats]:
    """Find the ``count`` nearest items, by positive cosine, of a slice of items.

    Directions are vectors of length 1, of shape (n_items, n_factors), in both precisions. Returns
    item numbers by falling cosine, -1 at the end, and cosines, both (rows of the slice, count).
    """
    from recommenders.kernels.neighbour_loops import nearest_of_rows

    rough_cosines = float32_directions[rows] @ float32_directions.T
    n_items = rough_cosines.shape[1]
    n_factors = directions.shape[1]
    # Twice the largest error in float32: one rounding of each factor, product and sum.
    margin = 2 * (n_factors + 4) * 2.0**-24
    # The cosine that ``count`` other items reach in each row, or 0 if fewer are positive.
    place = max(n_items - 1 - count, 0)
    reached = np.partition(rough_cosines, place, axis=1)[:, place]
    floors = (np.maximum(reached, 0) - margin).astype(np.float32)
    return nearest_of_rows(rough_cosines, floors, directions, rows.start, count)


def similarity(
    interactions: Interactions, settings: EmbeddingSettings, *, seed: int, n_jobs: int = 1
) -> Sparse:
    r"""Compute the similarities of every item to its neighbours, by the cosine of learned vectors.

    .. math:: S_{ij} = \frac{q_i \cdot q_j}{\|q_i\| \, \|q_j\|}, \quad
              c_{ui} = 1 + \alpha w_{ui}

    for the n nearest j of i with positive cosine, 0 for others. The vectors q are those of
    `item_factors` under confidences c, where w are the sums of the values of the events of u on
    i, weighed by `bm25`, after pruning. Row i of the matrix, float64 of shape (n_items, n_items),
    holds the neighbours that item i votes for in `rank_hidden`; rows
    and columns of items that were pruned or never seen are empty.

    The system ``als-knn`` is the same idea on ratings; this one takes events and uses implicit,
    in threads. See Kasalický (2021), sections 1.2.4 and 2.2.
    An interaction whose weight is 0, as of an item that everybody had under the clipped idf,
    still says that the user had the item, with the confidence 1 of pairs without an interaction.

    Raises InputError if pruning leaves no interaction, or as `item_factors` does.
    """
    ratings = prune(interactions.totals(), settings)
    vectors = item_factors(_confidences(ratings, settings), settings, seed=seed, n_jobs=n_jobs)
    pruned_cosines = cosine_neighbours(vectors, count=settings.neighbours, n_jobs=n_jobs)
    # The numbers of the items that are left, before they were renumbered.
    item_numbers = np.unique(ratings.item)
    n_items = len(interactions.items)
    rows = item_numbers[row_of_entry(pruned_cosines)]
    columns = item_numbers[pruned_cosines.indices]
    return type(pruned_cosines)((pruned_cosines.data, (rows, columns)), shape=(n_items, n_items))


def prune(ratings: Ratings, settings: EmbeddingSettings) -> Ratings:
    """Leave out the ratings of users with few items and of items with few users.

    The minima are *pruning-item* and *pruning-user* of Kasalický (2021), in this order. Ratings are
    counted before any is left out, so a user or item that is left may have fewer. Raises InputError
    if no rating is left.
    """
    user_min = settings.min_items_per_user
    item_min = settings.min_users_per_item
    pruned = drop_rare(ratings, user_min=user_min, item_min=item_min)
    if len(pruned) == 0:
        raise InputError(
            f"pruning leaves nothing to learn from: no rating is left of users with at least "
            f"{user_min} items and items with at least {item_min} users."
        )
    return pruned


def _confidences(ratings: Ratings, settings: EmbeddingSettings) -> Sparse:
    r"""Compute the confidence :math:`1 + \alpha w` of each rating: float32, (n_users, n_items).

    Only users and items with a rating have a row or column, in the order of their numbers. The
    weights w are BM25 weights, or the ratings if ``settings.bm25_rows`` is "none".
    """
    weights = ratings.rating
    if settings.bm25_rows != "none":
        weights = bm25(ratings, rows=settings.bm25_rows, k1=settings.k1, b=settings.b)
    confidences = replace(ratings, rating=1 + settings.alpha * weights)
    return renumber(confidences).matrix(np.float32)
