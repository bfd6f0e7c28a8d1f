"""bpref: binary preference."""

import numpy as np

from harness.metrics.shared.metric import metric, ratio
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "bpref",
    source="Buckley & Voorhees (2004), Retrieval evaluation with incomplete information",
    trec_eval="bpref with -M n",
)
def bpref(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""How rarely judged non-relevant items are ranked above relevant ones.

    .. math::
        \mathrm{bpref}@n = \frac{1}{R} \sum_{k \le n} \mathrm{rel}(k)
        \left(1 - \frac{\min(n_k, R)}{\min(N, R)}\right)

    :math:`n_k` counts the judged non-relevant items above rank k; the fraction is 0 where
    :math:`n_k = 0`, so also for a user with N = 0. Unjudged items are ignored. 0 if R = 0. R and N
    always count all judgements. Values in [0, 1].

    Notes
    -----
    With qrels that hold relevant items only, bpref@n is Recall@n. The bound min(N, R) is that
    of trec_eval (``m_bpref.c``) and differs from the R of the 2004 paper.

    Examples
    --------
    A judged non-relevant item at rank 1, relevant ones at ranks 2 and 3, R = 2, N = 2: each
    relevant item earns 1 - 1/2.

    >>> bpref(Judged(np.array([[0.0, 1.0, 1.0]]), np.array([[0.0, 0.0, 1.0, 1.0]])))
    array([0.5])
    """
    return ratio(judged.total(_preferences, cutoff=cutoff), judged.n_relevant)


def _preferences(judged: Judged) -> Floats:
    """Compute the share of judged non-relevant items that each relevant item is ranked above.

    It is 1 - min(n, R) / min(N, R), with n judged non-relevant items above the relevant one, and R
    relevant and N judged non-relevant items of the user; 1 if N is 0. Of shape (n_users, n_ranks);
    0 where the item is not relevant.
    """
    n_relevant = judged.n_relevant[:, None].astype(np.float64)
    bound = np.maximum(np.minimum(judged.n_nonrelevant[:, None], n_relevant), 1.0)
    share_above = np.minimum(judged.nonrelevant_so_far, n_relevant) / bound
    return judged.relevant * (1.0 - share_above)
