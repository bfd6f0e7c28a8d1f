"""alpha-nDCG: nDCG in which a subtopic or category that has come before earns less."""

import math
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from harness.metrics.shared.features import greedy_aspects, new_aspects
from harness.metrics.shared.metric import metric, ratio
from qrels import Judged, accumulate
from runs.shared.arrays import Floats

HIGHEST = math.e / (math.e - 1)
"""Bound on the gain of a list over that of a greedy one (Nemhauser, Wolsey & Fisher 1978)."""


@metric(
    "alpha-nDCG",
    source="Clarke et al. (2008), Novelty and diversity in information retrieval evaluation",
    aliases=("alpha_nDCG", "a-nDCG"),
    high=HIGHEST,
)
def alpha_ndcg(
    judged: Judged, *, cutoff: int | None = None, alpha: Annotated[float, Ge(0), Le(1)] = 0.5
) -> Floats:
    r"""Novelty-aware nDCG: a subtopic, or category, that has occurred before gains less.

    .. math::
        \alpha\mathrm{-nDCG}@n = \frac{\alpha\mathrm{-DCG}_n}{\alpha\mathrm{-IDCG}_n}, \qquad
        \alpha\mathrm{-DCG}_n = \sum_{k \le n} \frac{\sum_c \mathrm{rel}_c(k)
        (1 - \alpha)^{r_{c,k-1}}}{\log_2(k + 1)}

    :math:`\mathrm{rel}_c(k)` says whether the item at rank k is relevant for subtopic c of the
    qrels; if these have no subtopics, whether it is relevant and has category c.
    :math:`r_{c,k-1}` counts such items above it. The ideal list takes at each rank the relevant
    item that earns most there. 0 if no item is relevant for a subtopic, or has a category. Ranks
    considered: n, in the list and in the ideal; by default all of both. Values in [0, 1.59]; hardly
    ever above 1.

    Parameters
    ----------
    alpha
        Share by which each relevant item reduces what its subtopics, or categories, gain later.

    Notes
    -----
    Relevance is binary: a grade for a subtopic counts if it reaches the relevance level. The values
    equal those of ndeval and ir_measures; those of categories are theirs on qrels in which a
    relevant item is relevant for each of its categories. The ideal list is found greedily and need
    not be the best one: a list can score above 1, but never above e / (e - 1). Among items with
    the same gain the greedy list takes the last by id, as ndeval does.

    Examples
    --------
    Items 0 and 1 are of one category, item 2 of another; items 0 and 2 are relevant. In an ideal
    list, item 2 is at rank 2, not at rank 3: (1 + 1 / log2(4)) / (1 + 1 / log2(3)):

    >>> from qrels import Catalogue, judge, qrels_from_columns
    >>> from runs import Run
    >>> judged = judge(
    ...     Run("a", np.array([[0, 1, 2]], dtype=np.int32)),
    ...     qrels_from_columns(
    ...         np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), n_users=1, relevance_level=1
    ...     ),
    ...     Catalogue(3, features=np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])),
    ... )
    >>> alpha_ndcg(judged, cutoff=3).round(4)
    array([0.9197])
    """
    dcg = judged.total(_discounted_gains, cutoff=cutoff, alpha=alpha)
    # Running sums over the ranks of the ideal list, (n_users, n_judged).
    ideal_sums = judged.once_for_all(_ideal_sums, alpha=alpha)
    longest = ideal_sums.shape[1]
    n_ranks = longest if cutoff is None else min(cutoff, longest)
    ideal_dcg = ideal_sums[:, n_ranks - 1] if n_ranks > 0 else np.zeros(judged.n_users)
    return ratio(dcg, ideal_dcg)


def _discounted_gains(judged: Judged, *, alpha: float) -> Floats:
    """Discount the new aspects at each rank, of shape (n_users, n_ranks)."""
    gains = judged.once(new_aspects, alpha=alpha)
    return gains / np.log2(judged.ranks + 1)


def _ideal_sums(judged: Judged, *, alpha: float) -> Floats:
    """Add up the discounted gains of the greedy list down to each rank, (n_users, n_judged)."""
    gains = greedy_aspects(judged, alpha=alpha)
    ranks = np.arange(1, gains.shape[1] + 1)
    return accumulate(gains / np.log2(ranks + 1))
