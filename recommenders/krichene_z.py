"""Z of Krichene & Rendle: the ten nearest neighbours of every item."""

from __future__ import annotations

from qrels import Ratings
from recommenders.kernels.krichene import (
    NeighbourSettings,
    neighbour_scorer,
    similarities_memory_need,
)
from recommenders.shared.scorers import LinearItemScorer
from recommenders.shared.system import Range, searched, system


class KricheneZSettings(NeighbourSettings):
    """Settings of krichene-z: the paper's."""

    k: int = searched(
        10,
        Range(5, 200, log=True),
        "Number k of neighbours: item j counts for item i if i is among the k nearest to j.",
        ge=1,
    )


@system(
    "krichene-z",
    family="neighbours",
    source="Krichene & Rendle (2020), On sampled metrics for item recommendation, KDD, "
    "equations 27 to 30",
    memory_need=similarities_memory_need,
)
def krichene_z(ratings: Ratings, settings: KricheneZSettings, *, seed: int) -> LinearItemScorer:
    r"""Recommend the ten items nearest to each of the user's items.

    .. math:: s_{ij} = \left(\frac{n_{ij}}{\sqrt{c_i} \sqrt{c_j}}\right)^q, \quad
              s'_{ij} = s_{ij} [i \in N_k(j)] [j \in N_{k'}(i)], \quad
              s''_{ij} = \frac{s'_{ij}}{\|s'_i\|}, \quad
              y_{ui} = \sum_{j \in I_u} s''_{ij}

    with :math:`n_{ij}` users who rated both items, :math:`c_i` who rated i, :math:`N_k(j)` the
    k items nearest to j, equally near ones by item number, and q = 1. Many items score 0, as
    in the paper, and are ranked after all others by item number, so whatever looks at whole
    rankings, such as the AUC, depends on that rule.

    Notes
    -----
    From the paper: the equations, q = 1, k unlimited, k' = 10; its equation 30 also divides by
    :math:`\sum_j s''_{ij}` over all items, which cancels the norm of equation 29 and does not
    come out at the published exact metrics. Inferred, as it does come out there on MovieLens 1M:
    k = 10 and k' unlimited, no item near itself, the Euclidean norm, no denominator.
    """
    return neighbour_scorer(ratings, settings)
