"""The share of a user's hidden items that a system finds, weighed against their popularity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.metrics.shared.metric import ratio
from qrels import Judged
from qrels.ranks.hidden_ranks import MISS, Ranks


def hidden_recall(
    judged: Judged, ranks: Ranks, *, cutoff: int | None, beta: float
) -> NDArray[np.float64]:
    """Weigh the relevant items that are found down to a cut-off, over all that are relevant.

    Parameters
    ----------
    judged
        Judged ranked lists, of which the judgements alone count.
    ranks
        Rank of the item of each judgement when it is hidden, of shape (n_users, n).
    cutoff
        Ranks considered; all of them by default.
    beta
        Exponent of popularity.

    Returns
    -------
    Shares in [0, 1], of shape (n_users,); 0 for users without relevant items.
    """
    weights = judged.once_for_all(_weights, beta=beta)
    found = ranks <= (MISS - 1 if cutoff is None else min(cutoff, MISS - 1))
    return ratio((weights * found).sum(axis=1), judged.once_for_all(_totals, beta=beta))


def _weights(judged: Judged, *, beta: float) -> NDArray[np.float64]:
    """Weigh the item of each judgement, of shape (n_users, n): 0 where it is not relevant."""
    from analyses.recall.stratification import Stratification, item_weights

    counts = judged.catalogue.known("popularity")
    of_items = item_weights(counts, beta=beta, stratification=Stratification())
    relevant = judged.judgements >= judged.relevance_level
    return np.where(relevant, of_items[judged.judged_items], 0.0)


def _totals(judged: Judged, *, beta: float) -> NDArray[np.float64]:
    return np.asarray(judged.once_for_all(_weights, beta=beta).sum(axis=1))
