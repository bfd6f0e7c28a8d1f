"""IPrec: interpolated precision at a recall point."""

from typing import Annotated, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Le

from harness.metrics.shared.metric import metric
from qrels import Judged
from runs.shared.arrays import Floats

Rounding: TypeAlias = Literal["up", "nearest"]
"""Rule that rounds recall times R to a number of items."""


@metric(
    "IPrec",
    source="Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, section 8.4",
    trec_eval="iprec_at_recall.recall with -M n",
)
def interpolated_precision(
    judged: Judged,
    *,
    cutoff: int | None = None,
    recall: Annotated[float, Ge(0), Le(1)] = 0.5,
    rounding: Rounding = "up",
) -> Floats:
    r"""Highest precision at any rank with at least the given recall; 0 if there is none.

    .. math::
        \mathrm{IPrec}(\rho)@n = \max \{ r_k / k : k \le n, \; r_k \ge m \}, \qquad
        m = \lfloor \rho R + 0.9 \rfloor

    Values in [0, 1].

    Parameters
    ----------
    recall
        Recall point, in [0, 1]. At 0 all ranks are considered.
    rounding
        How recall times R is rounded to a number of items. ``up``: m as above, which is the next
        whole number if the points are tenths. ``nearest``: with 0.5 instead of 0.9.

    Notes
    -----
    "up" is that of trec_eval 9 (``m_iprec_at_recall.c``), pytrec_eval and ir_measures
    (``IPrec@0.3``). "nearest" is that of trec_eval 10, which also accepts a slightly lower recall:
    two of seven relevant items at the point 0.3.

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
    return judged.highest(precisions_at_recall, cutoff=cutoff, recall=recall, rounding=rounding)


def precisions_at_recall(judged: Judged, *, recall: float, rounding: str) -> Floats:
    """Compute the precision at each rank down to which the recall is at least ``recall``, else 0.

    Of shape (n_users, n_ranks). The recall is reached with floor(recall R + 0.9) of the user's R
    relevant items if ``rounding`` is "up", with floor(recall R + 0.5) if it is "nearest".
    """
    shift = 0.9 if rounding == "up" else 0.5
    min_relevant = np.floor(recall * judged.n_relevant + shift)
    reaches_recall = judged.relevant_so_far >= min_relevant[:, None]
    return reaches_recall * judged.once(_precisions)


def _precisions(judged: Judged) -> Floats:
    """Compute the precision at every rank, of shape (n_users, n_ranks)."""
    return judged.relevant_so_far / judged.ranks
