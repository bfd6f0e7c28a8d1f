"""ALS-kNN: item neighbours by the cosine of the item factors of a matrix factorisation."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field

from qrels import Ratings
from recommenders.kernels.embeddings import bm25, cosine_neighbours
from recommenders.shared.scorers import LinearItemScorer
from recommenders.shared.system import (
    AtLeastOne,
    Choice,
    Factors,
    Positive,
    Range,
    Settings,
    searched,
    system,
)


class ALSKNNSettings(Settings):
    """Settings of als-knn."""

    factors: Factors = searched(
        64, Range(16, 128, log=True), "Number of factors: 1 to 2000; the thesis uses 32 to 1024."
    )
    regularization: Positive = searched(
        1.0,
        Range(0.1, 10.0, log=True),
        "Penalty on the squared factors (the thesis's lambda): above 0; the thesis uses 0.1 to 10.",
    )
    weight: Positive = searched(
        3.0,
        Range(0.1, 20.0, log=True),
        "Weight of a rating in the confidence of its user-item pair (the thesis's alpha): above 0.",
    )
    epochs: AtLeastOne = Field(
        10, description="Sweeps of alternating least squares: at least 1; 10 to 20 suffice."
    )
    neighbours: AtLeastOne = searched(
        100,
        Range(10, 200, log=True),
        "Number of neighbours of each item (the thesis's K): at least 1.",
    )
    weighting: Literal["rating", "bm25"] = searched(
        "rating",
        Choice(("rating", "bm25")),
        "Values in the confidence: ratings, or their BM25 weights (k1 = 1.2).",
    )
    b: float = searched(
        0.75,
        Range(0.0, 1.0),
        "Normalisation of BM25 by the number of ratings of an item: 0 (none) to 1; the thesis uses "
        "0.75.",
        ge=0,
        le=1,
    )


@system(
    "als-knn",
    family="neighbours",
    requires_nonnegative=True,
    source="Kasalický (2021), thesis, Czech Technical University in Prague, sections 1.2.4 and 2.2",
)
def als_knn(ratings: Ratings, settings: ALSKNNSettings, *, seed: int) -> LinearItemScorer:
    r"""Recommend the nearest neighbours of the user's items, by cosine of learned item factors.

    .. math:: y_{ui} = \sum_{j \in I_u,\, i \in N_K(j)}
              \frac{q_i \cdot q_j}{\|q_i\| \, \|q_j\|}, \quad
              Q = \arg\min_Q \min_P \sum_{u,i} (1 + \alpha r_{ui}) (b_{ui} - p_u \cdot q_i)^2
              + \lambda (\|P\|^2 + \|Q\|^2)

    with :math:`b_{ui} = 1` where u rated i, else 0, and :math:`N_K(j)` the K items of highest
    positive cosine with j; :math:`\alpha` is the setting ``weight``, and :math:`r` are the ratings,
    or their BM25 weights if the setting ``weighting`` is "bm25". An item that is nobody's neighbour
    there cannot be scored.

    Notes
    -----
    From the thesis: the factorisation, the cosine, K nearest, BM25 with b = 0.75, and the ranges of
    the settings. Ours: that only positive cosines count, k1, and that BM25 takes items for
    documents and users for terms; see `bm25`. Models that learn from events with types and times
    are in `recommenders.kernels.embeddings`, which also holds what the two share.
    """
    from recommenders.kernels.least_squares import least_squares

    weighted = ratings
    if settings.weighting == "bm25":
        bm25_weights = bm25(ratings, rows="items", k1=1.2, b=settings.b, idf="smooth")
        weighted = replace(ratings, rating=bm25_weights)
    _, item_factors = least_squares(
        weighted.matrix() * settings.weight,
        factors=settings.factors,
        regularization=settings.regularization,
        sweeps=settings.epochs,
        seed=seed,
    )
    return LinearItemScorer(ratings, cosine_neighbours(item_factors, count=settings.neighbours))
