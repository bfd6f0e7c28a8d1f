"""SetF: F, the weighted harmonic mean of set precision and set recall."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from harness.metrics.shared.metric import metric, ratio
from harness.trec_eval.metrics.set_precision import set_precision
from harness.trec_eval.metrics.set_recall import set_recall
from qrels import Judged


@metric(
    "SetF",
    source="van Rijsbergen (1979), Information Retrieval, chapter 7",
    trec_eval="set_F.beta with -M n",
    aliases=("F", "F1"),
)
def set_f(
    judged: Judged, *, cutoff: int | None = None, beta: Annotated[float, Gt(0)] = 1.0
) -> NDArray[np.float64]:
    r"""F: weighted harmonic mean of the precision and the recall of the retrieved set.

    .. math::
        \mathrm{SetF}(\beta)@n = \frac{(\beta + 1) \, P R}{R + \beta P}, \qquad
        P = \mathrm{SetP}@n, \quad R = \mathrm{SetR}@n

    0 if no relevant item is retrieved.

    Parameters
    ----------
    judged
        Judged ranked lists.
    cutoff
        Ranks considered, n; all of them by default.
    beta
        Importance of recall relative to precision, not squared.

    Returns
    -------
    Values in [0, 1], of shape (n_users,).

    Notes
    -----
    ``beta`` is that of ir_measures and the parameter of trec_eval's ``set_F`` (``m_set_F.c``),
    which enters as it is. In van Rijsbergen's :math:`F_\beta`, and in scikit-learn's, it is
    squared: their F2 is SetF(beta=4). The precision is over the retrieved items, not over n.

    Examples
    --------
    One of two retrieved items is relevant, and one of four relevant items is retrieved: precision
    1/2, recall 1/4, 2 * 1/8 / (3/4).

    >>> set_f(Judged(np.array([[1.0, np.nan]]), np.ones((1, 4)))).round(4)
    array([0.3333])
    """
    precision = set_precision(judged, cutoff=cutoff)
    recall = set_recall(judged, cutoff=cutoff)
    return ratio((beta + 1) * precision * recall, recall + beta * precision)
