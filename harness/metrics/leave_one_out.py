"""Recall under leave one out."""

import numpy as np

from harness.metrics.shared.metric import metric, ratio
from harness.metrics.shared.weights import Beta
from qrels import Judged
from qrels.ranks.hidden_ranks import MISS, Ranks
from runs.shared.arrays import Floats


@metric("LOO", source="Kasalický (2021), (1.30), (1.32), (2.1)", has_level=False, needs=("loo",))
def loo(judged: Judged, *, cutoff: int | None = None, beta: Beta = 0.0) -> Floats:
    r"""Recall of the user's relevant items, each hidden alone and predicted from all others.

    .. math:: \mathrm{LOO}(\beta)@n = \frac{\sum_{i \in H_u} [\mathrm{rank}_u(i) \le n] \,
        p_i^{-\beta}} {\sum_{i \in H_u} p_i^{-\beta}}

    with :math:`H_u` the user's relevant test items, :math:`\mathrm{rank}_u(i)` the rank of i among
    the items that are not in the profile, and :math:`p_i` the item's share of the training ratings,
    after adding one to each item. The profile is all other items that the user rated, in training
    and test.
    Values in [0, 1].

    Parameters
    ----------
    beta
        Exponent of popularity in the weights, at least 0.

    Notes
    -----
    The runs are not used: every hidden item has a profile and a ranking of its own. Means over
    users are the recall with uniform weights of `analyses.recall`.

    Systems are not trained again. Systems that cannot score a profile have no value.

    Examples
    --------
    Of two relevant items one is found at rank 2 when it is hidden, the other nowhere; as it is the
    more popular one, it counts less with beta 1, 1/3 to 1/2:

    >>> from qrels import Catalogue
    >>> from qrels.catalogue import ItemsOfLists
    >>> from qrels.ranks.judged_ranks import JudgedRanks
    >>> ranks = {"s": JudgedRanks(loo=np.array([2, 65535], dtype=np.uint16))}
    >>> items = ItemsOfLists(
    ...     Catalogue(2, popularity=np.array([2, 1]), hidden_ranks=ranks), users=np.array([0]),
    ...     listed=np.zeros((0, 1), dtype=int), judged=np.array([[0], [1]]),
    ...     judgements=np.array([[0], [1]]), system="s",
    ... )
    >>> judged = Judged(np.zeros((1, 0)), np.ones((1, 2))).with_items(lambda: items)
    >>> loo(judged, cutoff=1), loo(judged, cutoff=2), loo(judged, cutoff=2, beta=1.0).round(3)
    (array([0.]), array([0.5]), array([0.4]))
    """
    return hidden_recall(judged, judged.hidden_ranks.require("loo"), cutoff=cutoff, beta=beta)


def hidden_recall(judged: Judged, ranks: Ranks, *, cutoff: int | None, beta: float) -> Floats:
    """Compute the weighted share of relevant items that rank at the cut-off or above, (n_users,).

    Ranks are those of the item of each judgement when it is hidden, (n_users, n_judged), 65535 for
    a miss; beta is the exponent of popularity in the weights. 0 for users without relevant items.
    """
    weights = judged.once_for_all(_relevant_weights, beta=beta)
    totals = judged.once_for_all(_total_weights, beta=beta)
    deepest = MISS - 1 if cutoff is None else min(cutoff, MISS - 1)
    is_hit = ranks <= deepest
    return ratio((weights * is_hit).sum(axis=1), totals)


def _relevant_weights(judged: Judged, *, beta: float) -> Floats:
    """Compute the weight of the item of each judgement, (n_users, n_judged): 0 if not relevant.

    The weight is the item's share of all training ratings, one more of each item, to the power of
    ``-beta``. Raises InputError if the popularity of items is not known, or a weight is too large
    for double precision.
    """
    from analyses.recall.parametrisations import item_weights

    weights = item_weights(judged.catalogue.require("popularity"), beta=beta)
    relevant = judged.judgements >= judged.relevance_level
    return np.where(relevant, weights[judged.judged_items], 0.0)


def _total_weights(judged: Judged, *, beta: float) -> Floats:
    """Add up the weights of each user's relevant items, of shape (n_users,)."""
    return np.asarray(judged.once_for_all(_relevant_weights, beta=beta).sum(axis=1))
