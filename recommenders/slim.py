"""SLIM: a sparse linear model that predicts every item from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from qrels import Ratings
from recommenders.shared.lenskit_bridge import train_component
from recommenders.shared.scorers import LinearItemScorer
from recommenders.shared.system import AtLeastOne, Positive, Range, Settings, searched, system

if TYPE_CHECKING:
    from lenskit.knn import SLIMScorer  # type: ignore[attr-defined]


class SLIMSettings(Settings):
    """Settings of SLIM."""

    l1_regularization: Positive = searched(
        2.0,
        Range(0.1, 10.0, log=True),
        "Penalty on the weights (the paper's lambda): above 0. Larger values give sparser weights.",
    )
    l2_regularization: Positive = searched(
        200.0,
        Range(10.0, 1000.0, log=True),
        "Penalty on the squared weights (the paper's beta): above 0. 50 to 400 work "
        "well on MovieLens.",
    )
    neighbours: int = searched(
        200,
        Range(50, 400, log=True),
        "Number of most similar items, by cosine, that predict an item (the paper's "
        "fsSLIM); 0: all items, which takes at least ten times as long.",
        ge=0,
    )
    iterations: AtLeastOne = Field(
        20, description="Maximum sweeps of coordinate descent per item: at least 1."
    )


def slim_component(settings: SLIMSettings) -> SLIMScorer:
    """Configure LensKit's component."""
    from lenskit.knn import SLIMScorer  # type: ignore[attr-defined]

    return SLIMScorer(
        l1_reg=settings.l1_regularization,
        l2_reg=settings.l2_regularization,
        max_nbrs=settings.neighbours if settings.neighbours > 0 else None,
        max_iters=settings.iterations,
    )


@system(
    "slim",
    family="item-linear",
    source="Ning & Karypis (2011), SLIM: sparse linear methods for top-N recommender systems, "
    "ICDM, equation 3",
    lenskit=slim_component,
)
def slim(ratings: Ratings, settings: SLIMSettings, *, seed: int) -> LinearItemScorer:
    r"""Predict whether a user rated an item from the user's other items, by an elastic net.

    .. math:: \min_W \tfrac12 \|B - B W\|^2 + \tfrac{\beta}{2} \|W\|^2 + \lambda \|W\|_1, \quad
              W \ge 0, \quad W_{jj} = 0

    with :math:`B` the 0/1 matrix of who rated what; scores are :math:`b_u W`, 0 for an item that
    no weight links to the user's. By default only the most similar items may have weights: the
    paper's fsSLIM.
    """
    model = train_component(slim_component(settings), ratings, seed=seed)
    no_offsets = np.zeros(len(ratings.items))
    return LinearItemScorer(ratings, model.weights.astype(np.float64), item_offsets=no_offsets)
