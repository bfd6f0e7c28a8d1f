"""MSI: mean self-information."""

import numpy as np

from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import Discount, Relevance, mean_novelty
from qrels import Catalogue, Judged
from runs.shared.arrays import Floats


@metric(
    "MSI",
    source="Zhou et al. (2010), Solving the apparent diversity-accuracy dilemma of recommender "
    "systems; form of Vargas & Castells (2011), Rank and relevance in novelty and diversity "
    "metrics for recommender systems",
    aliases=("EFD", "expected free discovery", "self-information"),
    high=np.inf,
)
def mean_self_information(
    judged: Judged,
    *,
    cutoff: int | None = None,
    discount: Discount = "none",
    relevance: Relevance = "none",
) -> Floats:
    r"""Mean self-information, in bits, of the items in the first ranks: novelty.

    .. math::
        \mathrm{MSI}@n = \frac{\sum_{k \le n} d_k \, \rho_k \, \log_2 (N / \max(n_{i(k)}, 1))}
        {\sum_{k \le \min(n, K)} d_k}, \qquad N = \sum_j n_j

    :math:`n_i` counts the item's ratings in training; :math:`d_k` is the discount of rank k and
    :math:`\rho_k` the weight of the item. K is the length of the list. Values of at least 0; 0 for
    an empty list.

    Parameters
    ----------
    discount
        ``none``: 1. ``log2``: 1 / log2(k + 1). A number p: p^(k - 1).
    relevance
        Weight of an item. ``none``: 1. ``binary``: 1 if it is relevant, else 0. ``graded``: the
        probability that it satisfies the user, as in ERR.

    Notes
    -----
    By default the judgements are not used. With discount and relevance this is the expected free
    discovery (EFD) of Vargas & Castells, as in RankSys. Zhou et al. use the number of users instead
    of N, which lowers all scores by the same amount. Items without training ratings are treated as
    having one.

    Examples
    --------
    Of 14 training ratings, 8 are of the first item and 4 of the second: the mean of log2(14 / 8)
    and log2(14 / 4):

    >>> from qrels import Catalogue, judge, qrels_from_columns
    >>> from runs import Run
    >>> judged = judge(
    ...     Run("a", np.array([[0, 1, 2]], dtype=np.int32)),
    ...     qrels_from_columns(
    ...         np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), n_users=1, relevance_level=1
    ...     ),
    ...     Catalogue(3, popularity=np.array([8, 4, 2])),
    ... )
    >>> mean_self_information(judged, cutoff=2).round(4)
    array([1.3074])
    """
    return mean_novelty(judged, _bits, cutoff=cutoff, discount=discount, relevance=relevance)


def _bits(catalogue: Catalogue) -> Floats:
    """Compute the self-information of each item in bits, (n_items + 1,).

    It is log2 of all training ratings over those of the item, of which at least 1 is counted. The
    last one, of item number -1, is 0. Raises InputError if the popularity of items is not known.
    """
    item_counts = catalogue.require("popularity")
    n_ratings = max(item_counts.sum(), 1)
    bits = np.log2(n_ratings / np.maximum(item_counts, 1))
    return np.append(bits, 0.0)
