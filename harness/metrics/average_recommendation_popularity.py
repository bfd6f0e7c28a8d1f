"""ARP: average recommendation popularity."""

import numpy as np

from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import mean_novelty
from qrels import Catalogue, Judged
from runs.shared.arrays import Floats


@metric(
    "ARP",
    source="Yin, Cui, Li, Yao & Chen (2012), Challenging the long tail recommendation",
    aliases=("average popularity", "popularity of recommendations"),
    high=np.inf,
    higher_is_better=False,
    has_level=False,
)
def average_recommendation_popularity(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Mean number of training ratings of the items in the first ranks: popularity bias.

    .. math:: \mathrm{ARP}@n = \frac{1}{\min(n, K)} \sum_{k \le \min(n, K)} n_{i(k)}

    :math:`n_i` counts the item's ratings in training; K is the length of the list. Values of at
    least 0; 0 for an empty list.

    Notes
    -----
    The judgements are not used. That less is better is a convention of work on popularity bias
    (Abdollahpouri et al. 2019); it does not mean that users get better recommendations. Random
    recommendations come close to the best value, and an empty list has it.

    Examples
    --------
    The first two items have 8 and 4 training ratings:

    >>> from qrels import Catalogue, judge, qrels_from_columns
    >>> from runs import Run
    >>> judged = judge(
    ...     Run("a", np.array([[0, 1, 2]], dtype=np.int32)),
    ...     qrels_from_columns(
    ...         np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), n_users=1, relevance_level=1
    ...     ),
    ...     Catalogue(3, popularity=np.array([8, 4, 2])),
    ... )
    >>> average_recommendation_popularity(judged, cutoff=2)
    array([6.])
    """
    return mean_novelty(judged, _item_counts, cutoff=cutoff, discount="none", relevance="none")


def _item_counts(catalogue: Catalogue) -> Floats:
    """Return the number of training ratings of each item, (n_items + 1,); 0 at the end."""
    return np.append(catalogue.require("popularity").astype(np.float64), 0.0)
