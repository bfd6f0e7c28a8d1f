"""Rprec: R-precision."""

import numpy as np

from harness.metrics.shared.metric import metric, ratio
from harness.metrics.shared.weights import Positive
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "Rprec",
    source="Buckley & Voorhees (2000), Evaluating evaluation measure stability",
    trec_eval="Rprec with -M n",
    aliases=("R-precision",),
)
def r_precision(judged: Judged, *, cutoff: int | None = None, multiple: Positive = 1.0) -> Floats:
    r"""Precision at rank R, the number of the user's relevant items; 0 if there is none.

    .. math::
        \mathrm{Rprec}(x)@n = r_{\min(n, m)} / m, \qquad m = \lfloor x R + 0.9 \rfloor

    Where R > n, Rprec@n is Recall@n. Values in [0, 1].

    Parameters
    ----------
    multiple
        Multiple x of R at which precision is measured.

    Notes
    -----
    The count is divided by R even if the list is shorter, as in trec_eval (``m_Rprec.c``). With a
    multiple this is trec_eval's ``Rprec_mult``.

    Examples
    --------
    R = 2: of the relevant items at ranks 1 and 3, the first is among the first two ranks.

    >>> r_precision(Judged(np.array([[1.0, np.nan, 1.0]]), np.ones((1, 2))))
    array([0.5])
    """
    last_ranks = np.floor(multiple * judged.n_relevant + 0.9)
    deepest = judged.depth if cutoff is None else cutoff
    cutoffs = np.minimum(last_ranks, deepest).astype(np.intp)
    return ratio(judged.hits(cutoffs), last_ranks)
