"""CHI2: chi-squared distance of an item's probability among neighbours from that among all."""

from __future__ import annotations

from qrels import Ratings
from recommenders.kernels.language_models import ExpansionSettings, expansion_scorer
from recommenders.kernels.neighbours import NeighbourSumScorer
from recommenders.shared.system import system
from runs.shared.arrays import Floats


class CHI2Settings(ExpansionSettings):
    """Settings of CHI2."""


@system(
    "chi2",
    family="relevance feedback",
    requires_nonnegative=True,
    source="Valcarce, Parapar & Barreiro (2016), Efficient pseudo-relevance feedback methods for "
    "collaborative filtering recommendation, ECIR",
)
def chi2(ratings: Ratings, settings: CHI2Settings, *, seed: int) -> NeighbourSumScorer:
    r"""Score items by chi-squared: probability among neighbours against that among all users.

    .. math:: s_{ui} = \frac{(p_V(i) - p_C(i))^2}{p_C(i)}

    for the items that a neighbour has rated above 0; others cannot be scored. The
    neighbourhood V is that of RW, the probabilities are those of
    :func:`recommenders.kernels.language_models.expansion_scorer`. The square tells no excess
    from a lack, so an item that is rarer among neighbours than in all may score high.

    The formula is known from the paper; its length normalisation is inferred, as for KLD.
    """
    return expansion_scorer(ratings, _chi_squared, settings)


def _chi_squared(near: Floats, in_all: Floats) -> Floats:
    """Compute each item's term of chi-squared, from its probability among neighbours and in all."""
    return (near - in_all) ** 2 / in_all
