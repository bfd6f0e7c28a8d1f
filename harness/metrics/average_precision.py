"""AP: average precision."""

import numpy as np

from harness.metrics.shared.metric import metric, ratio
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "AP",
    source="Harman (1993), Overview of the First Text REtrieval Conference (TREC-1)",
    trec_eval="map_cut.n",
    aliases=("MAP", "average precision"),
)
def average_precision(judged: Judged, *, cutoff: int | None = None, capped: bool = False) -> Floats:
    r"""Mean of the precision at the ranks of all relevant items; 0 if there is no relevant item.

    .. math:: \mathrm{AP}@n = \frac{1}{R} \sum_{k \le n} \mathrm{rel}(k) \, r_k / k

    Relevant items below rank n add 0. Values in [0, 1].

    Parameters
    ----------
    capped
        Whether the sum is divided by min(n, R) in place of R: a list of n relevant items gets 1.

    Notes
    -----
    The sum is divided by R, as in trec_eval (``m_map_cut.c``). Many recommender libraries and
    Kaggle divide by min(n, R), as do Krichene & Rendle (2020), equation 5: ``AP(capped=true)``.

    Examples
    --------
    Relevant items at ranks 1 and 3, a third not found: (1/1 + 2/3) / 3.

    >>> average_precision(Judged(np.array([[1.0, np.nan, 1.0]]), np.ones((1, 3)))).round(4)
    array([0.5556])
    """
    n_relevant = judged.n_relevant
    if capped and cutoff is not None:
        n_relevant = np.minimum(n_relevant, cutoff)
    return ratio(judged.total(_precisions, cutoff=cutoff), n_relevant)


def _precisions(judged: Judged) -> Floats:
    """Compute the precision at the rank of each relevant item, (n_users, n_ranks); else 0."""
    return judged.relevant * (judged.relevant_so_far / judged.ranks)
