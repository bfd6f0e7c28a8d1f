"""Recall under leave last one out."""

from harness.metrics.leave_one_out import hidden_recall
from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import Beta
from qrels import Judged
from runs.shared.arrays import Floats


@metric("LLOO", source="Kasalický (2021), (1.31), (1.33), (2.2)", has_level=False, needs=("lloo",))
def lloo(judged: Judged, *, cutoff: int | None = None, beta: Beta = 0.0) -> Floats:
    r"""Recall of the user's relevant items, each predicted from what the user rated before it.

    .. math:: \mathrm{LLOO}(\beta)@n = \frac{\sum_{i \in H_u} [\mathrm{rank}_u(i) \le n] \,
        p_i^{-\beta}} {\sum_{i \in H_u} p_i^{-\beta}}

    with :math:`H_u` the user's relevant test items, :math:`\mathrm{rank}_u(i)` the rank of i among
    the items that are not in the profile, and :math:`p_i` the item's share of the training ratings,
    after adding one to each item. The profile is what the user rated before i, in training or test.
    Values in [0, 1].

    Parameters
    ----------
    beta
        Exponent of popularity in the weights, at least 0.

    Notes
    -----
    Only the profiles differ from those of LOO. The first item of a user has no profile and counts
    as not found. A system may have learned from training ratings that are later than the profile.

    Examples
    --------
    >>> import numpy as np
    >>> lloo(beta=0.5) @ 10
    LLOO(beta=0.5)@10
    """
    return hidden_recall(judged, judged.hidden_ranks.require("lloo"), cutoff=cutoff, beta=beta)
