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
    r"""Precision over the highest precision that the first ranks can have.

    .. math:: \mathrm{RelP}@n = r_n / \min(n, R)

    P over its best value, and Recall over its best value: 1 if the first ranks hold as many
    relevant items as they can. 0 if R = 0. Ranks considered: n; the depth of the lists by default.
    Values in [0, 1].

    Notes
    -----
    As in trec_eval (``m_rel_P.c``). Papers on recommenders often print it as Recall@n, as LensKit
    does (``Recall``), or as truncated precision.

    Examples
    --------
    One relevant item in two ranks, where two of three could be:

    >>> relative_precision(Judged(np.array([[np.nan, 1.0]]), np.ones((1, 3))))
    array([0.5])
    """
    cutoff = judged.depth if cutoff is None else cutoff
    return ratio(judged.hits(cutoff), np.minimum(judged.n_relevant, cutoff))
