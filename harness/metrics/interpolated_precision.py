"""IPrec: interpolated precision at a recall point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.metrics.shared.metric import Option, metric
from harness.metrics.shared.names import Value
from qrels import Judged


def _is_share(value: Value) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


RECALL = Option("recall", 0.5, "recall point, from 0 to 1; 0.5 by default", _is_share)
ROUNDING = Option(
    "rounding",
    "up",
    "how recall times R becomes a number of items: up (the default, trec_eval 9) or nearest "
    "(trec_eval 10)",
    lambda value: value in ("up", "nearest"),
)


@metric(
    "IPrec",
    source="Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, section 8.4",
    trec_eval="iprec_at_recall.recall with -M n",
    options=(RECALL, ROUNDING),
)
def interpolated_precision(
    judged: Judged, *, cutoff: int | None = None, recall: float = 0.5, rounding: str = "up"
) -> NDArray[np.float64]:
    r"""Highest precision at any rank where the recall has reached a point; 0 if there is none.

    .. math::
        \mathrm{IPrec}(\rho)@n = \max \{ r_k / k : k \le n, \; r_k \ge m \}, \qquad
        m = \lfloor \rho R + 0.9 \rfloor

    Parameters
    ----------
    judged
        Judged ranked lists.
    cutoff
        Ranks considered, n; all of them by default.
    recall
        The recall point :math:`\rho`. At 0 every rank counts.
    rounding
        "up": m as above, the next whole number where points are tenths; "nearest":
        :math:`m = \lfloor \rho R + 0.5 \rfloor`.

    Returns
    -------
    Values in [0, 1], of shape (n_users,).

    Notes
    -----
    "up" is trec_eval 9 (``m_iprec_at_recall.c``), pytrec_eval and ir_measures (``IPrec@0.3``);
    "nearest" is trec_eval 10, where less recall than the point will do: at 0.3, two relevant
    items of seven.

    Examples
    --------
    Relevant items at ranks 2 and 3. The first of them would do, but precision is highest where
    the second is found: 2/3.

    >>> judged = Judged(np.array([[np.nan, 1.0, 1.0, np.nan]]), np.ones((1, 2)))
    >>> interpolated_precision(judged, recall=0.5).round(4)
    array([0.6667])

    Of five relevant items, half are three, which are not found:

    >>> judged = Judged(np.array([[np.nan, 1.0, 1.0, np.nan]]), np.ones((1, 5)))
    >>> interpolated_precision(judged, recall=0.5)
    array([0.])
    """
    found = judged.relevant_so_far[:, :cutoff]
    ranks = np.arange(1, found.shape[1] + 1)
    needed = np.floor(recall * judged.n_relevant + (0.9 if rounding == "up" else 0.5))
    return (found / ranks).max(axis=1, initial=0.0, where=found >= needed[:, None])
