"""SVD: biased matrix factorisation of the ratings, a predictor of ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from qrels import Ratings
from recommenders.shared.lenskit_bridge import train_component
from recommenders.shared.scorers import FactorScorer
from recommenders.shared.system import (
    AtLeastOne,
    Factors,
    NotNegative,
    Positive,
    Range,
    Settings,
    searched,
    system,
)

if TYPE_CHECKING:
    from lenskit.als import BiasedMFScorer


class SVDSettings(Settings):
    """Settings of SVD."""

    factors: Factors = searched(50, Range(5, 200, log=True), "Number of factors: 1 to 2000.")
    regularization: Positive = searched(
        0.1, Range(0.01, 1.0, log=True), "Penalty on the squared factors, per rating: above 0."
    )
    damping: NotNegative = searched(
        5.0,
        Range(0.5, 50.0, log=True),
        "Damping of biases, as a number of mean ratings: 0 or more.",
    )
    epochs: AtLeastOne = Field(10, description="Sweeps of alternating least squares: at least 1.")


def _svd_component(settings: SVDSettings) -> BiasedMFScorer:
    """Configure LensKit's component, keeping the users' factors of training."""
    from lenskit.als import BiasedMFScorer

    return BiasedMFScorer(
        embedding_size=settings.factors,
        regularization=settings.regularization,
        damping=settings.damping,
        epochs=settings.epochs,
        user_embeddings="prefer",
    )


@system(
    "svd",
    family="factors",
    source="Takács, Pilászy, Németh & Tikk (2009), Scalable collaborative filtering approaches "
    "for large recommender systems, JMLR 10",
    lenskit=_svd_component,
)
def svd(ratings: Ratings, settings: SVDSettings, *, seed: int) -> FactorScorer:
    r"""Predict ratings from biases and factors, learned from the known ratings only.

    .. math:: \hat r_{ui} = \mu + b_u + b_i + p_u \cdot q_i

    A good predictor of ratings is a poor recommender of items: nothing is learned from what
    users chose to rate. Expect it near the bottom of the ordering.
    """
    model = train_component(_svd_component(settings), ratings, seed=seed)
    biases = model.bias
    assert model.user_embeddings is not None
    assert biases.user_biases is not None
    assert biases.item_biases is not None
    return FactorScorer(
        ratings,
        user_factors=model.user_embeddings,
        item_factors=model.item_embeddings,
        user_offsets=biases.user_biases + np.float64(biases.global_bias),
        item_offsets=biases.item_biases,
    )
