"""SetR: recall of the retrieved set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.metrics.recall import recall
from harness.metrics.shared.metric import metric
from qrels import Judged


@metric(
    "SetR",
    source="Cleverdon & Mills (1963), The testing of index language devices",
    trec_eval="set_recall with -M n",
)
def set_recall(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    r"""Share of the user's relevant items that are retrieved: Recall, under trec_eval's name.

    .. math:: \mathrm{SetR}@n = r_n / R

    Parameters
    ----------
    judged
        Judged ranked lists.
    cutoff
        Ranks considered, n; all of them by default.

    Returns
    -------
    Values in [0, 1], of shape (n_users,); 0 if R = 0.

    Notes
    -----
    trec_eval has two measures, ``recall`` with a cut-off and ``set_recall`` without
    (``m_set_recall.c``); here SetR@n is Recall@n.

    Examples
    --------
    One of four relevant items found:

    >>> set_recall(Judged(np.array([[1.0, np.nan]]), np.ones((1, 4))))
    array([0.25])
    """
    return recall(judged, cutoff=cutoff)
