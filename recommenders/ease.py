"""EASE: a shallow linear autoencoder in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qrels import Ratings
from recommenders.shared.lenskit_bridge import train_component
from recommenders.shared.scorers import LinearItemScorer
from recommenders.shared.system import (
    Gigabytes,
    MemoryNeed,
    Positive,
    Range,
    Settings,
    searched,
    system,
)

if TYPE_CHECKING:
    from lenskit.knn import EASEScorer

DENSE_MATRICES = 3
"""Dense float32 matrices of items x items that LensKit holds at the peak of training.

These are the Gram matrix, its Cholesky factor and the inverse.
"""


class EASESettings(Settings):
    """Settings of EASE."""

    regularization: Positive = searched(
        300.0,
        Range(10.0, 5000.0, log=True),
        "Ridge penalty on the weights (the paper's lambda): above 0. 100 to 1000 work "
        "well on MovieLens.",
    )
    max_gigabytes: Gigabytes = 4.0


def _ease_component(settings: EASESettings) -> EASEScorer:
    """Configure LensKit's component."""
    from lenskit.knn import EASEScorer

    return EASEScorer(regularization=settings.regularization)


def ease_memory_need(ratings: Ratings, settings: EASESettings) -> MemoryNeed:
    """Estimate the bytes of training: dense float32 matrices of shape (n_items, n_items)."""
    n_items = len(ratings.items)
    purpose = f"{DENSE_MATRICES} dense matrices of {n_items} x {n_items} items"
    return MemoryNeed(DENSE_MATRICES * 4 * n_items**2, purpose)


@system(
    "ease",
    family="item-linear",
    source="Steck (2019), Embarrassingly shallow autoencoders for sparse data, WWW, equation 8",
    lenskit=_ease_component,
    memory_need=ease_memory_need,
)
def ease(ratings: Ratings, settings: EASESettings, *, seed: int) -> LinearItemScorer:
    r"""Predict whether a user rated an item from the user's other items, by ridge regression.

    .. math:: P = (B^\top B + \lambda I)^{-1}, \quad W_{ij} = -P_{ij} / P_{jj}, \quad W_{jj} = 0

    with :math:`B` the 0/1 matrix of who rated what; scores are :math:`b_u W`. Time grows with
    the cube of the number of items, memory with its square: 3 dense matrices in float32.
    """
    # By torch: SciPy's solver took 0.36 GB more for 9,724 items (LensKit 2025.8.1).
    solver = {"LK_EASE_SOLVER": "torch"}
    model = train_component(_ease_component(settings), ratings, seed=seed, environment=solver)
    return LinearItemScorer(ratings, np.ascontiguousarray(model.weights))
