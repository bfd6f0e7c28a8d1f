"""Recall under leave last one out."""

from harness.metrics.leave_one_out import hidden_recall
from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import Beta
from qrels import Judged
from runs.shared.arrays import Floats


@metric("LLOO", source="Kasalický (2021), (1.31), (1.33), (2.2)", has_level=False, needs=("lloo",))
def lloo(judged: Judged, *, cutoff: int | None = None, beta: Beta = 0.0) -> Floats:
    r"""Share of the user's relevant items that are found from what the user rated before each.

    .. math:: \mathrm{LLOO}(\beta)@n = \frac{\sum_{i \in H_u} [\mathrm{rank}_u(i) \le n] \,
        p_i^{-\beta}} {\sum_{i \in H_u} p_i^{-\beta}}

    with :math:`H_u` the user's relevant test items, :math:`\mathrm{rank}_u(i)` the rank of i among
    the items that are not in the profile, which is what the user rated before i, in training or in
    test, and :math:`p_i` the item's share of the training ratings, after adding one to each item.
    Values in [0, 1].

    Parameters
    ----------
    beta
        Exponent of popularity in the weights, at least 0.

    Notes
    -----
    As LOO, but for the profiles. Nothing leads to the first item of a user, which is a miss.
    What a system learned of items, in training, may be later than the profile.

    Examples
    --------
    >>> import numpy as np
    >>> lloo(beta=0.5) @ 10
    LLOO(beta=0.5)@10
    """
    ranks = judged.hidden_ranks.known("lloo")
    return hidden_recall(judged, ranks, cutoff=cutoff, beta=beta)
