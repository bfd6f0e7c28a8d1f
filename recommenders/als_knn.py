"""ALS-kNN: item neighbours by the cosine of the item factors of a matrix factorisation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recommenders.shared.neighbours import nearest
from recommenders.shared.scorers import LinearItemScorer
from recommenders.shared.search_space import Choice, Range
from recommenders.shared.similarity import only_positive
from recommenders.shared.system import Settings, searched, system
from runs import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from qrels import Ratings


class ALSKNNSettings(Settings):
    """Settings of als-knn."""

    factors: int = searched(
        64,
        Range(16, 128, log=True),
        ge=1,
        le=2000,
        description="Number of factors: 1 to 2000; the thesis has 32 to 1024.",
    )
    regularization: float = searched(
        1.0,
        Range(0.1, 10.0, log=True),
        gt=0,
        description="Penalty on the squared factors (the thesis's lambda): above 0; the thesis "
        "has 0.1 to 10.",
    )
    weight: float = searched(
        3.0,
        Range(0.1, 20.0, log=True),
        gt=0,
        description="What a rating adds to the confidence in its pair (the thesis's alpha): "
        "above 0.",
    )
    epochs: int = Field(
        10, ge=1, description="Sweeps of alternating least squares: at least 1; 10 to 20 do."
    )
    neighbours: int = searched(
        100,
        Range(10, 200, log=True),
        ge=1,
        description="Nearest items kept for every item (the thesis's K): at least 1.",
    )
    weighting: Literal["rating", "bm25"] = searched(
        "rating",
        Choice(("rating", "bm25")),
        description="What enters the confidence: ratings, or their BM25 weights.",
    )
    bm25_k1: float = Field(
        1.2, gt=0, description="How far a BM25 weight grows with the rating (k1): above 0."
    )
    bm25_b: float = Field(
        0.75,
        ge=0,
        lt=1,
        description="How much BM25 takes from popular items (b): 0 to below 1; the thesis has "
        "0.75.",
    )
    min_user_ratings: int = Field(
        1, ge=1, description="Users with fewer training ratings are not learned from: at least 1."
    )
    min_item_ratings: int = Field(
        1, ge=1, description="Items with fewer training ratings get no neighbours: at least 1."
    )


@system(
    "als-knn",
    family="neighbours",
    source="Kasalický (2021), thesis, Czech Technical University in Prague, sections 1.2.4 and 2.2",
    settings=ALSKNNSettings,
)
def als_knn(ratings: Ratings, settings: ALSKNNSettings, *, seed: int) -> LinearItemScorer:
    r"""Recommend the nearest neighbours of the user's items, near in learned factors.

    .. math:: y_{ui} = \sum_{j \in I_u,\, i \in N_K(j)}
              \frac{q_i \cdot q_j}{\|q_i\| \, \|q_j\|}, \quad
              Q = \arg\min_Q \min_P \sum_{u,i} (1 + \alpha r_{ui}) (b_{ui} - p_u \cdot q_i)^2
              + \lambda (\|P\|^2 + \|Q\|^2)

    with :math:`b_{ui} = 1` where u rated i, else 0, and :math:`N_K(j)` the K items of highest
    positive cosine with j. An item that is nobody's neighbour there cannot be scored.

    Raises
    ------
    InputError
        If pruning leaves nothing to learn from, or a rating is negative.

    Notes
    -----
    From the thesis: the factorisation, the cosine, K nearest, BM25 with b = 0.75, pruning, and
    the ranges of the settings. Ours: that only positive cosines count, k1, and that BM25 takes
    items for documents and users for terms; see `bm25`.
    """
    learned = pruned(ratings, settings)
    if settings.weighting == "bm25":
        learned = replace(learned, rating=bm25(learned, k1=settings.bm25_k1, b=settings.bm25_b))
    directions = unit_rows(item_factors(learned, settings, seed=seed))
    directions[learned.item_counts() == 0] = 0
    return LinearItemScorer(ratings, cosine_neighbours(directions, kept=settings.neighbours))


def pruned(ratings: Ratings, settings: ALSKNNSettings) -> Ratings:
    """Leave out the ratings of rare items and users, each counted before anything is left out.

    Raises
    ------
    InputError
        If nothing is left, or a rating is negative.
    """
    often = ratings.item_counts() >= settings.min_item_ratings
    active = ratings.user_counts() >= settings.min_user_ratings
    kept = ratings.select(often[ratings.item] & active[ratings.user])
    if len(kept) == 0:
        raise InputError(
            "system 'als-knn' cannot be trained: no training rating is left of items with at "
            f"least {settings.min_item_ratings} and users with at least "
            f"{settings.min_user_ratings} ratings."
        )
    if kept.rating.min() < 0:
        raise InputError(
            "system 'als-knn' cannot be trained: ratings must not be negative, got "
            f"{kept.rating.min():g}."
        )
    return kept


def bm25(ratings: Ratings, *, k1: float, b: float) -> NDArray[np.float64]:
    r"""Weigh ratings as BM25 weighs terms: items are documents, users are terms.

    .. math:: w_{ui} = \frac{(k_1 + 1)\, r_{ui}}{k_1 (1 - b + b \, l_i / \bar l) + r_{ui}}
              \log\left(1 + \frac{n - n_u + 1/2}{n_u + 1/2}\right)

    with :math:`l_i` the sum of an item's ratings, of mean :math:`\bar l` over the n items that
    are rated, and :math:`n_u` the number of items that u rated.

    Returns
    -------
    Positive weights of shape (n_ratings,), 0 for a rating of 0.

    Examples
    --------
    Users u and v rated a with 1; v also rated b with 3:

    >>> from qrels import Ratings
    >>> from runs import Numbering
    >>> user, item = np.array([0, 1, 1]), np.array([0, 0, 1])
    >>> rating = np.array([1.0, 1.0, 3.0])
    >>> ratings = Ratings(Numbering.of("uv"), Numbering.of("ab"), user, item, rating)
    >>> bm25(ratings, k1=1.0, b=0.0).round(3)
    array([0.693, 0.182, 0.273])
    """
    lengths = np.bincount(ratings.item, ratings.rating, minlength=len(ratings.items))
    n_items = np.count_nonzero(ratings.item_counts())
    spread = ratings.user_counts()[ratings.user]
    rarity = np.log1p((n_items - spread + 0.5) / (spread + 0.5))
    mean_length = lengths.sum() / n_items or 1.0
    relative = lengths[ratings.item] / mean_length
    saturated = (k1 + 1) * ratings.rating / (k1 * (1 - b + b * relative) + ratings.rating)
    return saturated * rarity


def item_factors(ratings: Ratings, settings: ALSKNNSettings, *, seed: int) -> NDArray[np.float64]:
    """Learn factors by LensKit's implicit ALS, of shape (n_items, n_factors)."""
    from lenskit.als import ImplicitMFScorer

    from recommenders.shared.lenskit_bridge import trained

    model = ImplicitMFScorer(
        embedding_size=settings.factors,
        weight=settings.weight,
        use_ratings=True,
        regularization=settings.regularization,
        epochs=settings.epochs,
    )
    return trained(model, ratings, seed=seed).item_embeddings.astype(np.float64)


def unit_rows(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide every row by its length; a row of zeros stays.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return vectors / np.where(lengths > 0, lengths, 1)


def cosine_neighbours(directions: NDArray[np.float64], *, kept: int) -> csr_array[Any]:
    """Keep the positive cosines of the nearest items, blocks of items at a time."""
    return nearest(
        lambda rows: only_positive(directions[rows] @ directions.T),
        n_rows=len(directions),
        count=kept,
    )
