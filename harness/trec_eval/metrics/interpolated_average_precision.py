"""IAP: interpolated average precision at eleven recall points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.metrics.interpolated_precision import Rounding, precisions_from
from harness.metrics.shared.metric import metric
from qrels import Judged, running

RECALL_POINTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@metric(
    "IAP",
    source="Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, section 8.4",
    trec_eval="11pt_avg with -M n",
)
def interpolated_average_precision(
    judged: Judged, *, cutoff: int | None = None, rounding: Rounding = "up"
) -> NDArray[np.float64]:
    r"""Mean of the interpolated precisions at the recall points 0, 0.1, ..., 1.

    .. math:: \mathrm{IAP}@n = \frac{1}{11} \sum_{i=0}^{10} \mathrm{IPrec}(i / 10)@n

    Parameters
    ----------
    judged
        Judged ranked lists.
    cutoff
        Ranks considered, n; all of them by default.
    rounding
        How recall times R becomes a number of items, as in IPrec.

    Returns
    -------
    Values in [0, 1], of shape (n_users,); 0 for a user without relevant items.

    Notes
    -----
    As in trec_eval (``m_11pt_avg.c``), of which version 9 rounds "up" and version 10 to the
    "nearest". It was TREC's average precision before AP.

    Examples
    --------
    Relevant items at ranks 1 and 4, both that there are: precision 1 at the six points up to
    one half, 2/4 at the five above; (6 + 5/2) / 11.

    >>> judged = Judged(np.array([[1.0, np.nan, np.nan, 1.0]]), np.ones((1, 2)))
    >>> interpolated_average_precision(judged).round(4)
    array([0.7727])
    """
    highest = judged.once(_mean_of_highest, rounding=rounding)
    return judged.down_to(cutoff, highest)


def _mean_of_highest(judged: Judged, *, rounding: str) -> NDArray[np.float64]:
    """Mean over the recall points of the highest precisions down to every rank."""
    highest = (
        running(precisions_from(judged, recall=recall, rounding=rounding), by=np.maximum)
        for recall in RECALL_POINTS
    )
    total = next(highest)
    for further in highest:
        total += further
    return total / len(RECALL_POINTS)
