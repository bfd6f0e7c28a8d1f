"""RelP: relative precision."""

import numpy as np

from harness.metrics.shared.metric import metric, ratio
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "RelP",
    source="Liang, Krishnan, Hoffman & Jebara (2018), Variational autoencoders for collaborative "
    "filtering, section 4.2",
    trec_eval="relative_P.n",
)
def relative_precision(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Precision, divided by the highest precision that is possible for the user.

    .. math:: \mathrm{RelP}@n = r_n / \min(n, R)

    This is P, and also Recall, divided by its highest possible value. 0 if R = 0. Without a cut-off
    n is the depth of the lists. Values in [0, 1].

    Notes
    -----
    The values equal those of trec_eval (``m_rel_P.c``). Papers on recommenders, and LensKit
    (``Recall``), often call it Recall@n or truncated precision.

    Examples
    --------
    One relevant item in two ranks, where two of three could be:

    >>> relative_precision(Judged(np.array([[np.nan, 1.0]]), np.ones((1, 3))))
    array([0.5])
    """
    cutoff = judged.depth if cutoff is None else cutoff
    return ratio(judged.hits(cutoff), np.minimum(judged.n_relevant, cutoff))
