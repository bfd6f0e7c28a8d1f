"""Recall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.metrics.shared.metric import metric, ratio
from qrels import Judged


@metric(
    "Recall",
    source="Cleverdon & Mills (1963), The testing of index language devices",
    trec_eval="recall.n",
    aliases=("R",),
)
def recall(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    r"""Share of the user's relevant items that are in the first ranks; 0 if there is none.

    .. math:: \mathrm{Recall}@n = r_n / R

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
    Divided by R, as in trec_eval (``m_recall.c``); LensKit divides by min(n, R).

    Examples
    --------
    One of two relevant items found; then a user without relevant items:

    >>> lists = np.array([[1.0, np.nan], [0.0, np.nan]])
    >>> recall(Judged(lists, np.array([[1.0, 1.0], [0.0, np.nan]])))
    array([0.5, 0. ])
    """
    return ratio(judged.hits(cutoff), judged.n_relevant)
