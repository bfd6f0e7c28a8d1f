"""Y of Krichene & Rendle: item neighbours without a limit, cubed similarities."""

from __future__ import annotations

from qrels import Ratings
from recommenders.kernels.krichene import (
    NeighbourSettings,
    Power,
    neighbour_scorer,
    similarities_memory_need,
)
from recommenders.shared.scorers import LinearItemScorer
from recommenders.shared.system import Range, searched, system


class KricheneYSettings(NeighbourSettings):
    """Settings of krichene-y: the paper's."""

    q: Power = searched(3.0, Range(0.5, 5.0))


@system(
    "krichene-y",
    family="neighbours",
    source="Krichene & Rendle (2020), On sampled metrics for item recommendation, KDD, "
    "equations 27 to 30",
    memory_need=similarities_memory_need,
)
def krichene_y(ratings: Ratings, settings: KricheneYSettings, *, seed: int) -> LinearItemScorer:
    r"""Recommend items that are similar to the user's items, by cubed similarities (q = 3).

    .. math:: s_{ij} = \left(\frac{n_{ij}}{\sqrt{c_i} \sqrt{c_j}}\right)^q, \quad
              s'_{ij} = s_{ij} [i \in N_k(j)] [j \in N_{k'}(i)], \quad
              s''_{ij} = \frac{s'_{ij}}{\|s'_i\|}, \quad
              y_{ui} = \sum_{j \in I_u} s''_{ij}

    with :math:`n_{ij}` users who rated both items and :math:`c_i` who rated i; neither k nor
    k' limits anything here. An item that shares no user with the user's items scores 0, as in
    the paper, and is ranked after all others.

    Notes
    -----
    From the paper: the equations, q = 3, no limits; its equation 30 also divides by
    :math:`\sum_j s''_{ij}` over all items, which cancels the norm of equation 29 and does not
    come out at the published exact metrics. Inferred, as it does come out there on MovieLens 1M:
    no denominator, the Euclidean norm, and :math:`s_{ii} = 1` within that norm.
    """
    return neighbour_scorer(ratings, settings)
