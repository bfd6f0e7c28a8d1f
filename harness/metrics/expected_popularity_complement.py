"""EPC: expected popularity complement."""

import numpy as np

from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import Discount, Relevance, mean_novelty
from qrels import Catalogue, Judged
from runs.shared.arrays import Floats


@metric(
    "EPC",
    source="Vargas & Castells (2011), Rank and relevance in novelty and diversity metrics for "
    "recommender systems",
    aliases=("novelty", "popularity complement"),
)
def expected_popularity_complement(
    judged: Judged,
    *,
    cutoff: int | None = None,
    discount: Discount = "none",
    relevance: Relevance = "none",
) -> Floats:
    r"""Mean share of the users who have not rated the items in the first ranks: novelty.

    .. math::
        \mathrm{EPC}@n = \frac{\sum_{k \le n} d_k \, \rho_k \, (1 - n_{i(k)} / U)}
        {\sum_{k \le \min(n, K)} d_k}

    :math:`n_i` counts the item's ratings in training, U the users with one; :math:`d_k` is the
    discount of rank k and :math:`\rho_k` the weight of the item. K is the length of the list.
    Values in [0, 1]; 0 for an empty list.

    Parameters
    ----------
    discount
        ``none``: 1. ``log2``: 1 / log2(k + 1). A number p: p^(k - 1).
    relevance
        Weight of an item. ``none``: 1. ``binary``: 1 if it is relevant, else 0. ``graded``: the
        probability that it satisfies the user, as in ERR.

    Notes
    -----
    By default the judgements are not used, and a novel list need not be a good one. The paper's
    default for :math:`d_k` is 0.85^(k - 1). The values equal those of RankSys (``EPC``). Unlike P,
    the sum over a short list is divided by its length, not by n.

    Examples
    --------
    Of 10 users, 8 have rated the first item and 4 the second:

    >>> from qrels import Catalogue, judge, qrels_from_columns
    >>> from runs import Run
    >>> judged = judge(
    ...     Run("a", np.array([[0, 1, 2]], dtype=np.int32)),
    ...     qrels_from_columns(
    ...         np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), n_users=1, relevance_level=1
    ...     ),
    ...     Catalogue(3, popularity=np.array([8, 4, 2]), n_raters=10),
    ... )
    >>> expected_popularity_complement(judged, cutoff=2)
    array([0.4])
    """
    return mean_novelty(judged, _unknown, cutoff=cutoff, discount=discount, relevance=relevance)


def _unknown(catalogue: Catalogue) -> Floats:
    """Compute the share of users with training ratings who did not rate each item, (n_items + 1,).

    0 at the end, for no item.
    """
    n_raters = max(catalogue.require("n_raters"), 1)
    shares_of_raters = catalogue.require("popularity") / n_raters
    return np.append(1.0 - shares_of_raters, 0.0)
