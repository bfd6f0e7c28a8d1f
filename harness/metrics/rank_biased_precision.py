"""RBP: rank-biased precision."""

from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import Share
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "RBP",
    source="Moffat & Zobel (2008), Rank-biased precision for measurement of retrieval "
    "effectiveness",
    accumulates="sum",
)
def rank_biased_precision(judged: Judged, *, cutoff: int | None = None, p: Share = 0.9) -> Floats:
    r"""Expected rate of relevant items for a user who goes on to the next rank with probability p.

    .. math:: \mathrm{RBP}(p)@n = (1 - p) \sum_{k \le n} \mathrm{rel}(k) \, p^{k - 1}

    Values in [0, 1 - p^n]. Even a perfect list stays below 1; the fewer relevant items there are,
    the lower is its score.

    Parameters
    ----------
    p
        Persistence: probability that the user continues to the next rank.

    Notes
    -----
    The score is a lower bound; the analysis `residuals` gives the upper one. Relevance is binary;
    trec_eval 10's ``rbp`` (p = 0.9) agrees on grades 0 and 1. ir_measures' default is p = 0.8,
    LensKit's 0.85.

    Examples
    --------
    Relevant items at ranks 1 and 3: (1 - 0.5) * (1 + 0.25).

    >>> import numpy as np
    >>> rank_biased_precision(Judged(np.array([[1.0, np.nan, 1.0]]), np.ones((1, 2))), p=0.5)
    array([0.625])
    """
    return judged.total(_relevant_weights, cutoff=cutoff, p=p)


def _relevant_weights(judged: Judged, *, p: float) -> Floats:
    """Compute the weight of each rank that holds a relevant item, (n_users, n_ranks); else 0."""
    rank_weights = (1 - p) * p ** (judged.ranks - 1.0)
    return judged.relevant * rank_weights
