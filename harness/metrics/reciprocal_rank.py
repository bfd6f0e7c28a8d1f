"""RR: reciprocal rank."""

from math import lcm

from harness.metrics.shared.metric import metric
from qrels import Judged
from runs.shared.arrays import Floats

DEEPEST_LATTICE = 10
"""Deepest cut-off with a lattice: beyond, it is too fine to make scores tie."""


def _common_multiple(cutoff: int) -> int | None:
    """Compute the least common multiple of the ranks down to a cut-off; None beyond rank 10."""
    if cutoff > DEEPEST_LATTICE:
        return None
    return lcm(*range(1, cutoff + 1))


@metric(
    "RR",
    source="Kantor & Voorhees (2000), The TREC-5 Confusion Track",
    trec_eval="recip_rank with -M n",
    aliases=("MRR", "reciprocal rank"),
    lattice=_common_multiple,
    accumulates="max",
)
def reciprocal_rank(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Reciprocal of the rank of the first relevant item; 0 if there is none.

    .. math:: \mathrm{RR}@n = 1 / \min \{ k \le n : \mathrm{rel}(k) = 1 \}

    Values in [0, 1].

    Examples
    --------
    First relevant item at rank 2, then none:

    >>> import numpy as np
    >>> reciprocal_rank(Judged(np.array([[0.0, 1.0], [0.0, 0.0]]), np.ones((2, 1))))
    array([0.5, 0. ])
    """
    return judged.highest(_reciprocal_ranks, cutoff=cutoff)


def _reciprocal_ranks(judged: Judged) -> Floats:
    """Compute the reciprocal of the rank of each relevant item, (n_users, n_ranks); else 0."""
    return judged.relevant / judged.ranks
