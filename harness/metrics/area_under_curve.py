"""AUC: area under the ROC curve, of judged items."""

import numpy as np

from harness.metrics.shared.metric import metric, ratio
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "AUC",
    source="Hanley & McNeil (1982), The meaning and use of the area under a receiver operating "
    "characteristic (ROC) curve",
)
def area_under_curve(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Probability that a relevant item is ranked above a judged non-relevant one.

    .. math::
        \mathrm{AUC}@n = \frac{1}{R N} \left( \sum_{k \le n} \mathrm{rel}(k) \, (N - n_k)
        + \frac{(R - r_n) (N - n_n)}{2} \right)

    :math:`n_k` counts the judged non-relevant items in ranks 1 to k. Both items are drawn from the
    user's *judged* items, retrieved or not. An item that is not among the first n ranks below all
    items that are; two such items are tied, and a tie counts 1/2. Unjudged items are ignored. 0 if
    R = 0, N = 0 or the list is empty. Values in [0, 1]; 0.5 if the list holds no judged item.

    Notes
    -----
    This is scikit-learn's ``roc_auc_score`` over the judged items, where all items that are not
    retrieved share the lowest score. Recommender libraries take *all* items without a positive
    rating as non-relevant; qrels do not hold these. AUC is 0 on qrels with relevant items only.

    Examples
    --------
    Judged non-relevant, relevant; one of each is not found. Of four pairs the found relevant item
    wins one, the one that is not found wins none and ties one: (1 + 1/2) / 4.

    >>> import numpy as np
    >>> area_under_curve(Judged(np.array([[0.0, 1.0]]), np.array([[0.0, 0.0, 1.0, 1.0]])))
    array([0.375])
    """
    missed_relevant = judged.n_relevant - judged.hits(cutoff)
    missed_nonrelevant = judged.n_nonrelevant - judged.nonrelevant_hits(cutoff)
    half_of_ties = missed_relevant * missed_nonrelevant / 2
    pairs_won = judged.total(_pairs_won, cutoff=cutoff) + half_of_ties
    n_pairs = judged.n_relevant * judged.n_nonrelevant
    return ratio(pairs_won, np.where(judged.n_retrieved > 0, n_pairs, 0))


def _pairs_won(judged: Judged) -> Floats:
    """Count the judged non-relevant items below each relevant item, (n_users, n_ranks); else 0."""
    return judged.relevant * (judged.n_nonrelevant[:, None] - judged.nonrelevant_so_far)
