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
    depths = np.maximum(judged.n_retrieved, judged.n_relevant) if cutoff is None else cutoff
    deepest = max(int(np.max(depths, initial=0)), _deepest_rank(judged))
    # At place k the sum of the weights p^(d - 1) / d of the ranks d = 1 to k.
    cumulative = _cumulative_weights(deepest, p)
    weights_to_end = cumulative[depths]
    # An item that both lists hold from rank k on has the weights of the ranks k to the end.
    weights_above = judged.once(_weights_above, p=p)
    item_overlap = np.reshape(weights_to_end, (-1, 1)) - weights_above
    item_overlap = np.maximum(item_overlap, 0.0, out=item_overlap)
    overlap = accumulate(item_overlap)[:, -1:].sum(axis=1)
    # The overlap of the ideal list grows by one item a rank, then stays.
    n_ideal = np.minimum(judged.n_relevant, depths)
    while_growing = (1 - p**n_ideal) / (1 - p)
    weights_behind = weights_to_end - cumulative[n_ideal]
    return ratio(overlap, while_growing + n_ideal * weights_behind)


def _cumulative_weights(depth: int, p: float) -> Floats:
    """Add up the weights p^(d - 1) / d of the ranks d = 1 to k, for k = 0 to depth: (depth + 1,).

    This is what one item adds to the overlap that both lists hold from rank 1 on.
    """
    ranks = np.arange(1, depth + 1)
    weights = p ** (ranks - 1.0) / ranks
    return np.concatenate([[0.0], np.cumsum(weights)])


def _weights_above(judged: Judged, *, p: float) -> Floats:
    """Add up the weights of the ranks at which one of the lists does not yet hold an item.

    Of the relevant item at each rank of the list, and its rank in the ideal list: (n_users,
    n_ranks); infinite where the item is not relevant.
    """
    lower_ranks = np.maximum(judged.ranks, _ideal_ranks(judged)).astype(np.intp)
    cumulative = _cumulative_weights(_deepest_rank(judged), p)
    return np.where(judged.relevant, cumulative[lower_ranks - 1], np.inf)


def _deepest_rank(judged: Judged) -> int:
    """Return the deepest rank that is looked up: below the lists, or the end of an ideal list."""
    longest_ideal_list = judged.judgements.shape[1]
    return max(judged.depth + 1, longest_ideal_list)


def _ideal_ranks(judged: Judged) -> Floats:
    """Compute the rank of every relevant item in the nearest ideal list, (n_users, n_ranks).

    That list has all relevant items by falling grade, those of one grade in the order of the given
    list. The rank is the number of judged items of a higher grade, plus those of the same grade
    down to the item. 0 where the item is not relevant.
    """
    ideal_ranks = np.zeros_like(judged.grades)
    for grade in np.unique(judged.grades[judged.relevant]):
        has_grade = judged.grades == grade
        n_better = judged.once_for_all(_n_better, grade=grade)
        ideal_ranks += has_grade * (accumulate(has_grade) + n_better[:, np.newaxis])
    return ideal_ranks


def _n_better(judged: Judged, *, grade: float) -> Numbers:
    """Count each user's judged items of a higher grade, of shape (n_users,)."""
    return np.count_nonzero(judged.judgements > grade, axis=1)
