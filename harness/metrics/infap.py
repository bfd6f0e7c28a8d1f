"""infAP: inferred average precision, as the RecSys'18 study prints it."""

from harness.metrics.shared.metric import metric, ratio
from qrels import Judged
from runs.shared.arrays import Floats

SMOOTHING = 1e-5
"""Added to the counts of relevant and of non-relevant items."""


@metric(
    "infAP",
    source="Yilmaz & Aslam (2006), Estimating average precision with incomplete and imperfect "
    "judgments; form of Valcarce et al. (2018)",
    note="infAP is that of the RecSys'18 study, which takes items without a judgement to be like "
    "the judged ones; trec_eval's, infAP_trec, takes those outside the pool as not relevant.",
)
def inferred_average_precision(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""AP with the precision above each rank estimated from the judged items; not infAP_trec.

    .. math::
        \mathrm{infAP}@n = \frac{1}{R} \sum_{k \le n} \mathrm{rel}(k) \left(\frac{1}{k}
        + \frac{k - 1}{k} \cdot
        \frac{r_{k-1} + \varepsilon}{r_{k-1} + n_{k-1} + 2 \varepsilon}\right),
        \qquad \varepsilon = 10^{-5}

    :math:`r_{k-1}` and :math:`n_{k-1}` count the relevant and the judged non-relevant items above
    rank k. 0 if R = 0. Values in [0, 1].

    Notes
    -----
    This is *not* trec_eval's ``infAP``, which is called ``infAP_trec`` here and also multiplies by
    the share of the ranks above that lie in the pool. trec_eval computes this form if the qrels
    hold every unrated item of the run with grade -1.

    Examples
    --------
    A relevant item at rank 2 below an unjudged one: 1/2 + 1/2 * 1/2.

    >>> import numpy as np
    >>> inferred_average_precision(Judged(np.array([[np.nan, 1.0]]), np.ones((1, 1))))
    array([0.75])
    """
    return ratio(judged.total(_expected_precisions, cutoff=cutoff), judged.n_relevant)


def _expected_precisions(judged: Judged) -> Floats:
    r"""Estimate the precision at the rank of each relevant item, (n_users, n_ranks); else 0.

    .. math:: \frac{1}{k} \left(1 + (k - 1) \frac{r + \epsilon}{r + n + 2 \epsilon}\right)

    at rank k, with r relevant and n judged non-relevant items above it, and epsilon 1e-5.
    """
    smoothed_above = judged.relevant_so_far - judged.relevant + SMOOTHING
    precisions_above = smoothed_above / (smoothed_above + judged.nonrelevant_so_far + SMOOTHING)
    expected_relevant = 1 + (judged.ranks - 1) * precisions_above
    return judged.relevant * (expected_relevant / judged.ranks)
