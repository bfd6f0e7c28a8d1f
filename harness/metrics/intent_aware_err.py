"""ERR-IA: intent-aware expected reciprocal rank."""

from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from harness.metrics.shared.features import n_aspects, new_aspects
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
    r"""Mean ERR over the subtopics of a topic, or categories of items; repeated ones gain less.

    .. math::
        \mathrm{ERR\text{-}IA}@n = \frac{\sum_{k \le n} \frac{1}{k} \sum_c \mathrm{rel}_c(k)
        (1 - \alpha)^{r_{c,k-1}}}{C \sum_{k \le n} (1 - \alpha)^{k - 1} / k}

    :math:`\mathrm{rel}_c(k)` says whether the item at rank k is relevant for subtopic c of the
    qrels; if these have no subtopics, whether it is relevant and has category c.
    :math:`r_{c,k-1}` counts such items above it; C counts the subtopics for which the user has
    relevant items, or the categories of these. 0 if there is none. Values in [0, 1]: 1 needs items
    at all ranks that are relevant for all.

    Parameters
    ----------
    alpha
        Probability that an item satisfies a user who looks for one of its subtopics.

    Notes
    -----
    All subtopics have the same weight, and relevance is binary. The denominator is that of ndeval
    (``ERR-IA``, "ideal ideal") and of ir_measures, whose alpha is 0.5: the score of a list in which
    every item is relevant for every subtopic, even if no such list exists. ndeval does not divide
    rank 1 by C, so that its value at cut-off 1 is C times as high.

    Examples
    --------
    Items 0 and 1 are of one category, item 2 of another; items 0 and 2 are relevant:
    (1 + 1 / 3) / (2 (1 + 1 / 4 + 1 / 12)):

    >>> from qrels import Catalogue, judge, qrels_from_columns
    >>> from runs import Run
    >>> judged = judge(
    ...     Run("a", np.array([[0, 1, 2]], dtype=np.int32)),
    ...     qrels_from_columns(
    ...         np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), n_users=1, relevance_level=1
    ...     ),
    ...     Catalogue(3, features=np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])),
    ... )
    >>> intent_aware_err(judged, cutoff=3).round(4)
    array([0.5])
    """
    total = judged.total(_gains_over_ranks, cutoff=cutoff, alpha=alpha)
    deepest = judged.depth if cutoff is None else cutoff
    ranks = np.arange(1, deepest + 1)
    highest_of_aspect = ((1 - alpha) ** (ranks - 1.0) / ranks).sum()
    return ratio(total, highest_of_aspect * judged.once_for_all(n_aspects))


def _gains_over_ranks(judged: Judged, *, alpha: float) -> Floats:
    """Divide the new aspects at each rank by the rank, of shape (n_users, n_ranks)."""
    return judged.once(new_aspects, alpha=alpha) / judged.ranks
