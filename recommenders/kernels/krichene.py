"""Y and Z of Krichene & Rendle, section 9: what their two files share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from qrels import Ratings
from recommenders.kernels.neighbours import BYTES_PER_PAIR, cosines, nearest_of, pairs_at_most
from recommenders.shared.scorers import LinearItemScorer, with_data
from recommenders.shared.system import Gigabytes, MemoryNeed, Settings

DENSE_FROM = 0.1
"""Share of non-zero weights from which a dense matrix is multiplied faster than a sparse one."""

Power: TypeAlias = Annotated[
    float,
    Field(gt=0, le=20, description="Exponent of similarities (the paper's q): above 0, up to 20."),
]


class NeighbourSettings(Settings):
    """Settings of krichene-y and krichene-z."""

    q: Power = 1.0
    k: int = Field(
        0,
        ge=0,
        description="Number k of neighbours (the paper's k): item j counts for item i if i is "
        "among the k nearest to j; 0: no limit. Without a limit, an item is its own neighbour, "
        "too.",
    )
    max_gigabytes: Gigabytes = 4.0


def similarities_memory_need(ratings: Ratings, settings: NeighbourSettings) -> MemoryNeed:
    """Estimate the bytes of training, in proportion to the pairs of items that may be similar."""
    max_pairs = pairs_at_most(ratings)
    purpose = f"similarities of up to {max_pairs:,} pairs of items"
    return MemoryNeed(BYTES_PER_PAIR * max_pairs, purpose)


def neighbour_scorer(ratings: Ratings, settings: NeighbourSettings) -> LinearItemScorer:
    """Make a scorer that sums powers of cosines over the user's items.

    The cosine of two items, over the users who rated them, is raised to the power ``settings.q``.
    If ``settings.k`` is above 0, row j keeps the k items nearest to item j. Each column, the
    weights of an item to be scored, is divided by its Euclidean norm. An item without a weight from
    the user's items scores 0. Weights of which more than a tenth are stored become a dense matrix.
    """
    similarities = cosines(ratings)
    similarities.data **= settings.q
    if settings.k > 0:
        similarities = nearest_of(similarities, neighbours=settings.k)
    n_items = similarities.shape[1]
    squared_norms = np.bincount(
        similarities.indices, weights=similarities.data**2, minlength=n_items
    )
    norms = np.sqrt(squared_norms)
    weights = with_data(similarities, similarities.data / norms[similarities.indices])
    is_dense = weights.nnz > DENSE_FROM * n_items**2
    faster_weights = weights.astype(np.float32).toarray() if is_dense else weights
    return LinearItemScorer(ratings, faster_weights, unlinked_score=0.0)
