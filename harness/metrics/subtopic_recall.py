"""S-Recall: subtopic recall."""

from harness.metrics.shared.features import n_aspects, new_aspects
from harness.metrics.shared.metric import metric, ratio
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "S-Recall",
    source="Zhai, Cohen & Lafferty (2003), Beyond independent relevance: methods and evaluation "
    "metrics for subtopic retrieval",
    aliases=("StRecall", "strec", "subtopic recall"),
)
def subtopic_recall(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Share of the subtopics, or categories, of relevant items that the first ranks cover.

    .. math::
        \mathrm{S\text{-}Recall}@n = \frac{|\bigcup_{k \le n,\, i(k) \text{ relevant}} C_{i(k)}|}
        {|\bigcup_{i \text{ relevant}} C_i|}

    :math:`C_i` are the subtopics of the qrels for which an item is relevant; if these have no
    subtopics, the categories of the item. 0 if no relevant item has one. Values in [0, 1].

    Notes
    -----
    The values equal those of ndeval (``strec``) and ir_measures (``StRecall``); those of categories
    are theirs on qrels in which a relevant item is relevant for each of its categories.

    Examples
    --------
    Items 0 and 1 are of one category, item 2 of another; items 0 and 2 are relevant. The first two
    ranks cover one of two categories:

    >>> import numpy as np
    >>> from qrels import Catalogue, judge, qrels_from_columns
    >>> from runs import Run
    >>> judged = judge(
    ...     Run("a", np.array([[0, 1, 2]], dtype=np.int32)),
    ...     qrels_from_columns(
    ...         np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), n_users=1, relevance_level=1
    ...     ),
    ...     Catalogue(3, features=np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])),
    ... )
    >>> subtopic_recall(judged, cutoff=2)
    array([0.5])
    """
    covered = judged.total(new_aspects, cutoff=cutoff, alpha=1.0)
    return ratio(covered, judged.once_for_all(n_aspects))
