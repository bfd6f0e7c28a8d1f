"""Compat: compatibility, the similarity to the nearest ideal list."""

import numpy as np

from harness.metrics.shared.metric import metric, ratio
from harness.metrics.shared.weights import Share
from qrels import Judged, accumulate
from runs.shared.arrays import Floats, Numbers


@metric(
    "Compat",
    source="Clarke, Vtyurina & Smucker (2021), Assessing top-k preferences",
    aliases=("compatibility",),
)
def compatibility(judged: Judged, *, cutoff: int | None = None, p: Share = 0.95) -> Floats:
    r"""Rank-biased overlap with the nearest ideal list, over that of the ideal list with itself.

    .. math::
        \mathrm{Compat}(p)@n = \frac{\sum_{d \le n} p^{d - 1} \, |L_d \cap I_d| / d}
        {\sum_{d \le n} p^{d - 1} \, \min(d, R) / d}

    :math:`L_d` are the items in ranks 1 to d, :math:`I_d` those of the ideal list: all the user's
    relevant items by falling grade, of which those of one grade stand in the order of the list, and
    then those that it misses. Grades say only which item is better, not by how much. 0 if R = 0.
    Ranks considered: n, in the list and in the ideal one; by default down to the end of both.
    Values in [0, 1].

    Parameters
    ----------
    p
        Persistence: weight of the overlap at a depth, relative to that one rank higher.

    Notes
    -----
    With relevance level 1, no cut-off and scores above 0 the values equal those of ir_measures
    (``Compat``). It gives missed items the score 0, so that in its ideal list they stand before
    items of the same grade with negative scores; here they always stand behind these. The authors'
    program also adds the overlap below the end of both lists, down to rank 1000.

    Examples
    --------
    The better of two items is ranked second. p = 1/2: no overlap at rank 1, both items at rank 2,
    (0 + 1/2) / (1 + 1/2).

    >>> compatibility(Judged(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]])), p=0.5).round(4)
    array([0.3333])
    """
    ends = np.maximum(judged.n_retrieved, judged.n_relevant) if cutoff is None else cutoff
    weights = _weights(max(int(np.max(ends, initial=0)), *_longest(judged)), p)
    earned = np.reshape(weights[ends], (-1, 1)) - judged.once(_weights_missed, p=p)
    n_ideal = np.minimum(judged.n_relevant, ends)
    best = (1 - p**n_ideal) / (1 - p) + n_ideal * (weights[ends] - weights[n_ideal])
    total = accumulate(np.maximum(earned, 0.0, out=earned))
    return ratio(total[:, -1:].sum(axis=1), best)


def _weights(depth: int, p: float) -> Floats:
    """Add what one item earns that both lists hold down to rank 0, 1 ..., of shape (depth + 1,)."""
    ranks = np.arange(1, depth + 1)
    return np.concatenate([[0.0], np.cumsum(p ** (ranks - 1.0) / ranks)])


def _weights_missed(judged: Judged, *, p: float) -> Floats:
    """What each relevant item does not earn because it is ranked low in one of the lists."""
    met = np.maximum(judged.ranks, _ideal_ranks(judged)).astype(np.intp)
    weights = _weights(max(_longest(judged)), p)
    return np.where(judged.relevant, weights[met - 1], np.inf)


def _longest(judged: Judged) -> tuple[int, int]:
    """Give the rank below the lists, and the length of the longest ideal list."""
    return judged.depth + 1, judged.judgements.shape[1]


def _ideal_ranks(judged: Judged) -> Floats:
    """Rank in the nearest ideal list of every relevant item, 0 at the other ranks."""
    ideal = np.zeros_like(judged.grades)
    for grade in np.unique(judged.grades[judged.relevant]):
        alike = judged.grades == grade
        better = judged.once_for_all(_n_better, grade=grade)
        ideal += alike * (accumulate(alike) + better[:, np.newaxis])
    return ideal


def _n_better(judged: Judged, *, grade: float) -> Numbers:
    """Count the user's items of a higher grade."""
    return np.count_nonzero(judged.judgements > grade, axis=1)
