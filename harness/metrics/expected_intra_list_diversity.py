"""EILD: expected intra-list diversity."""

import numpy as np

from harness.metrics.shared.features import mean_distances
from harness.metrics.shared.metric import metric, ratio
from harness.metrics.shared.weights import (
    Discount,
    Relevance,
    rank_discounts,
    relevance_weights,
    sum_of_discounts,
)
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "EILD",
    source="Vargas & Castells (2011), Rank and relevance in novelty and diversity metrics for "
    "recommender systems",
    aliases=("expected intra-list distance",),
    high=2.0,
)
def expected_intra_list_diversity(
    judged: Judged,
    *,
    cutoff: int | None = None,
    discount: Discount = "log2",
    relevance: Relevance = "binary",
) -> Floats:
    r"""Mean distance between two items of the first ranks, weighted by rank and relevance.

    .. math::
        \mathrm{EILD}@n = \frac{1}{\sum_{k \le \min(n, K)} d_k} \sum_{k \le n} d_k \, \rho_k
        \frac{\sum_{l \le n, l \ne k} d_{l|k} \, \rho_l \, (1 - \cos(f_{i(k)}, f_{i(l)}))}
        {\sum_{l \le n, l \ne k} d_{l|k} \, \rho_l}, \qquad d_{l|k} = d_{\max(1, l - k)}

    :math:`d_k` is the discount of rank k and :math:`\rho_k` the weight of the item; f are the
    features of items, and K is the length of the list. Values in [0, 2]; in [0, 1] where no feature
    is negative, as with categories. 0 where fewer than two items have a weight above 0.

    Parameters
    ----------
    discount
        ``none``: 1. ``log2``: 1 / log2(k + 1). A number p: p^(k - 1).
    relevance
        Weight of an item. ``none``: 1. ``binary``: 1 if it is relevant, else 0. ``graded``: the
        probability that it satisfies the user, as in ERR.

    Notes
    -----
    The values equal those of RankSys (``EILD``), except for items without features: here they are
    at distance 1 from all others, RankSys leaves them out. Without discount and relevance EILD is
    ILD. EILD mixes accuracy and diversity: one more relevant item of the same kind can lower it.

    Examples
    --------
    Items 0 and 1 are of one category, item 2 of another; items 0 and 2 are relevant, at distance 1
    from each other. Discounts are 1 and 1 / 2, and their sum over all ranks is 2.13:

    >>> from qrels import Catalogue, judge, qrels_from_columns
    >>> from runs import Run
    >>> judged = judge(
    ...     Run("a", np.array([[0, 1, 2]], dtype=np.int32)),
    ...     qrels_from_columns(
    ...         np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), n_users=1, relevance_level=1
    ...     ),
    ...     Catalogue(3, features=np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])),
    ... )
    >>> expected_intra_list_diversity(judged, cutoff=3).round(4)
    array([0.7039])
    """
    sums = judged.once(_distance_sums, discount=discount, relevance=relevance)
    total = judged.down_to(cutoff, sums)
    return ratio(total, sum_of_discounts(judged, cutoff, discount))


def _distance_sums(judged: Judged, *, discount: Discount, relevance: Relevance) -> Floats:
    """Add up the weighted mean distances of the items down to each rank, (n_users, n_ranks)."""
    values = np.where(judged.items >= 0, relevance_weights(judged, relevance), 0.0)
    weights = rank_discounts(np.arange(1, judged.depth + 1), discount)
    return mean_distances(judged, values=values, weights=weights)
