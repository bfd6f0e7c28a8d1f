"""infAP_trec: inferred average precision, as trec_eval prints it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.metrics.infap import SMOOTHING
from harness.metrics.shared.metric import metric, ratio
from qrels import Judged, running


@metric(
    "infAP_trec",
    source="Yilmaz & Aslam (2006), Estimating average precision with incomplete and imperfect "
    "judgments",
    trec_eval="infAP with -M n",
)
def inferred_average_precision_trec(
    judged: Judged, *, cutoff: int | None = None
) -> NDArray[np.float64]:
    r"""Trec_eval's infAP: AP estimated for ranks in the pool only (infAP: for all ranks).

    .. math::
        \mathrm{infAP}@n = \frac{1}{R} \sum_{k \le n} \mathrm{rel}(k) \left(\frac{1}{k}
        + \frac{k - 1}{k} \cdot \frac{r_{k-1} + n_{k-1} + u_{k-1}}{k - 1} \cdot
        \frac{r_{k-1} + \varepsilon}{r_{k-1} + n_{k-1} + 2 \varepsilon}\right),
        \qquad \varepsilon = 10^{-5}

    :math:`r_{k-1}`, :math:`n_{k-1}` and :math:`u_{k-1}` count the relevant, the judged
    non-relevant and the pool-unjudged items above rank k. Pool-unjudged items are those in the
    qrels with a negative grade; items that the qrels lack lie outside the pool. 0 if R = 0.

    Parameters
    ----------
    judged
        Judged ranked lists.
    cutoff
        Ranks considered, n; all of them by default.

    Returns
    -------
    Values in [0, 1], of shape (n_users,).

    Notes
    -----
    As in trec_eval (``m_infap.c``), and so in pytrec_eval and ir_measures. With qrels that hold
    no negative grade it is AP, but for the smoothing; the metric ``infAP`` is the form of
    Valcarce et al. (2018), which takes every retrieved item to be in the pool.

    Examples
    --------
    A relevant item at rank 2, below a pool-unjudged one: 1/2 + 1/2 * 1/1 * 1/2. Below an item
    that the qrels lack: 1/2.

    >>> lists = np.array([[-1.0, 1.0], [np.nan, 1.0]])
    >>> inferred_average_precision_trec(Judged(lists, np.ones((2, 1))))
    array([0.75, 0.5 ])
    """
    return ratio(judged.total(_expected_precisions, cutoff=cutoff), judged.n_relevant)


def _expected_precisions(judged: Judged) -> NDArray[np.float64]:
    """Precision to expect at the rank of every relevant item, 0 at the other ranks."""
    relevant_above = judged.relevant_so_far - judged.relevant
    judged_above = relevant_above + judged.nonrelevant_so_far
    pool_above = judged_above + running(judged.grades < 0)
    estimates = (relevant_above + SMOOTHING) / (judged_above + 2 * SMOOTHING)
    return judged.relevant * ((1 + pool_above * estimates) / judged.ranks)
