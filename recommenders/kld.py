"""KLD: Kullback-Leibler divergence of the neighbours' ratings from those of all users."""

from __future__ import annotations

import numpy as np

from qrels import Ratings
from recommenders.kernels.language_models import ExpansionSettings, expansion_scorer
from recommenders.kernels.neighbours import NeighbourSumScorer
from recommenders.shared.system import system
from runs.shared.arrays import Floats


class KLDSettings(ExpansionSettings):
    """Settings of KLD."""


@system(
    "kld",
    family="relevance feedback",
    requires_nonnegative=True,
    source="Valcarce, Parapar & Barreiro (2016), Efficient pseudo-relevance feedback methods for "
    "collaborative filtering recommendation, ECIR",
)
def kld(ratings: Ratings, settings: KLDSettings, *, seed: int) -> NeighbourSumScorer:
    r"""Score items by their term in the Kullback-Leibler divergence of neighbours from all users.

    .. math:: s_{ui} = p_V(i) \log \frac{p_V(i)}{p_C(i)}

    for the items that a neighbour has rated above 0; others cannot be scored. The
    neighbourhood V is that of RW, the probabilities are those of
    :func:`recommenders.kernels.language_models.expansion_scorer`.

    The formula is known from the paper. That its length normalisation divides by the number
    of users is inferred: the reported quality is not met without, since the
    quotient then grows by the number of users per neighbour, and popularity counts again.
    """
    return expansion_scorer(ratings, divergence, settings)


def divergence(near: Floats, in_all: Floats) -> Floats:
    """Compute each item's term of the divergence, from its probability among neighbours and in all.

    Both are above 0.
    """
    return near * np.log(near / in_all)
