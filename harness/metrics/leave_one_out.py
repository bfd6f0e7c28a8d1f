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
    """Weigh the relevant items that are found down to a cut-off, over all that are relevant.

    Ranks are those of the item of each judgement when it is hidden, (n_users, n); beta is the
    exponent of popularity. 0 for users without relevant items.
    """
    weights = judged.once_for_all(_weights, beta=beta)
    found = ranks <= (MISS - 1 if cutoff is None else min(cutoff, MISS - 1))
    return ratio((weights * found).sum(axis=1), judged.once_for_all(_totals, beta=beta))


def _weights(judged: Judged, *, beta: float) -> Floats:
    """Weigh the item of each judgement, of shape (n_users, n): 0 where it is not relevant."""
    from analyses.recall.parametrisations import item_weights

    of_items = item_weights(judged.catalogue.require("popularity"), beta=beta)
    relevant = judged.judgements >= judged.relevance_level
    return np.where(relevant, of_items[judged.judged_items], 0.0)


def _totals(judged: Judged, *, beta: float) -> Floats:
    return np.asarray(judged.once_for_all(_weights, beta=beta).sum(axis=1))
