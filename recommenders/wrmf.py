"""WRMF: weighted regularised matrix factorisation of implicit feedback."""

from __future__ import annotations

from pydantic import Field

from qrels import Ratings
from recommenders.shared.scorers import FactorScorer, pattern
from recommenders.shared.system import (
    AtLeastOne,
    Factors,
    Positive,
    Range,
    Settings,
    searched,
    system,
)


class WRMFSettings(Settings):
    """Settings of WRMF."""

    factors: Factors = searched(
        64, Range(8, 128, log=True), "Number of factors (the paper's f): 1 to 2000."
    )
    weight: Positive = searched(
        2.0,
        Range(0.5, 50.0, log=True),
        "Additional weight of a rated item (the paper's alpha): above 0. Small values "
        "suit data as dense as MovieLens; the paper uses 40.",
    )
    regularization: Positive = searched(
        30.0,
        Range(0.5, 500.0, log=True),
        "Penalty on the squared factors (the paper's lambda): above 0.",
    )
    epochs: AtLeastOne = Field(
        15, description="Sweeps of alternating least squares: at least 1; 10 to 20 suffice."
    )


@system(
    "wrmf",
    family="factors",
    source="Hu, Koren & Volinsky (2008), Collaborative filtering for implicit feedback datasets, "
    "ICDM",
)
def wrmf(ratings: Ratings, settings: WRMFSettings, *, seed: int) -> FactorScorer:
    r"""Factorise the binary rating matrix, with a higher weight on rated pairs.

    .. math:: \min \sum_{u,i} (1 + \alpha b_{ui}) (b_{ui} - p_u \cdot q_i)^2
              + \lambda (\|P\|^2 + \|Q\|^2)

    with :math:`b_{ui} = 1` where u rated i, else 0; scores are :math:`p_u \cdot q_i`.
    """
    from recommenders.kernels.least_squares import least_squares

    user_factors, item_factors = least_squares(
        pattern(ratings.matrix()) * settings.weight,
        factors=settings.factors,
        regularization=settings.regularization,
        sweeps=settings.epochs,
        seed=seed,
    )
    return FactorScorer(ratings, user_factors, item_factors)
