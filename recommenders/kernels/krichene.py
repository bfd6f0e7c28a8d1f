"""Y and Z of Krichene & Rendle, section 9: what their two files share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from qrels import Ratings
from recommenders.kernels.neighbours import BYTES_PER_PAIR, cosines, nearest_of, pairs_at_most
from recommenders.shared.scorers import LinearItemScorer, with_data
from recommenders.shared.system import Gigabytes, Need, Settings

# From this share of non-zero weights on, a dense matrix is multiplied faster.
DENSE_FROM = 0.1

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


def similarities_need(ratings: Ratings, settings: NeighbourSettings) -> Need:
    """Count the pairs of items that may be similar."""
    pairs = pairs_at_most(ratings)
    return Need(BYTES_PER_PAIR * pairs, f"similarities of up to {pairs:,} pairs of items")


def neighbour_scorer(ratings: Ratings, settings: NeighbourSettings) -> LinearItemScorer:
    r"""Score by sums of similarities, divided by the Euclidean norm of every item's."""
    similarities = cosines(ratings)
    similarities.data **= settings.q
    kept = nearest_of(similarities, neighbours=settings.k) if settings.k else similarities
    squares = np.bincount(kept.indices, weights=kept.data**2, minlength=kept.shape[1])
    weights = with_data(kept, kept.data / np.sqrt(squares)[kept.indices])
    dense = weights.nnz > DENSE_FROM * weights.shape[0] ** 2
    fast = weights.astype(np.float32).toarray() if dense else weights
    return LinearItemScorer(ratings, fast, unlinked=0.0)
