"""ERR-IA: intent-aware expected reciprocal rank."""

from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from harness.metrics.shared.features import n_categories, new_categories
from harness.metrics.shared.metric import metric, ratio
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "ERR-IA",
    source="Chapelle, Ji, Liao, Velipasaoglu, Lai & Wu (2011), Intent-based diversification of "
    "web search results: metrics and algorithms; normalised as by ndeval",
    aliases=("ERR_IA",),
)
def intent_aware_err(
    judged: Judged, *, cutoff: int | None = None, alpha: Annotated[float, Gt(0), Le(1)] = 0.5
) -> Floats:
    r"""Mean ERR over the categories of the user's relevant items; repeated categories gain less.

    .. math::
        \mathrm{ERR\text{-}IA}@n = \frac{\sum_{k \le n} \frac{1}{k} \sum_c \mathrm{rel}_c(k)
        (1 - \alpha)^{r_{c,k-1}}}{C \sum_{k \le n} (1 - \alpha)^{k - 1} / k}

    :math:`\mathrm{rel}_c(k)` says whether the item at rank k is relevant and has category c,
    :math:`r_{c,k-1}` counts such items above it; C counts the categories of the user's relevant
    items. 0 if there is none. Values in [0, 1]: 1 needs relevant items of all categories at all
    ranks.

    Parameters
    ----------
    alpha
        Probability that a relevant item satisfies a user who looks for its category.

    Notes
    -----
    All categories have the same weight, and relevance is binary. The denominator is that of ndeval
    (``ERR-IA``, "ideal ideal") and of ir_measures, whose alpha is 0.5: the score of a list in which
    every item has every category, even if no such list exists. ndeval does not divide rank 1 by C,
    so that its value at cut-off 1 is C times as high.
    """
    total = judged.total(_gains_over_ranks, cutoff=cutoff, alpha=alpha)
    deepest = judged.depth if cutoff is None else cutoff
    ranks = np.arange(1, deepest + 1)
    highest_of_category = ((1 - alpha) ** (ranks - 1.0) / ranks).sum()
    return ratio(total, highest_of_category * judged.once_for_all(n_categories))


def _gains_over_ranks(judged: Judged, *, alpha: float) -> Floats:
    """Divide the new categories at each rank by the rank, of shape (n_users, n_ranks)."""
    return judged.once(new_categories, alpha=alpha) / judged.ranks
