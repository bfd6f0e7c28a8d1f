"""S-Recall: subtopic recall."""

from harness.metrics.shared.features import n_categories, new_categories
from harness.metrics.shared.metric import Floats, metric, ratio
from qrels import Judged


@metric(
    "S-Recall",
    source="Zhai, Cohen & Lafferty (2003), Beyond independent relevance: methods and evaluation "
    "metrics for subtopic retrieval",
    aliases=("StRecall", "strec", "subtopic recall"),
)
def subtopic_recall(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Share of the categories the user likes that relevant items in the first ranks cover.

    .. math::
        \mathrm{S\text{-}Recall}@n = \frac{|\bigcup_{k \le n,\, i(k) \text{ relevant}} C_{i(k)}|}
        {|\bigcup_{i \text{ relevant}} C_i|}

    :math:`C_i` are the categories of an item. 0 if no relevant item has one. Values in [0, 1].

    Notes
    -----
    ndeval's ``strec``, and ir_measures' ``StRecall``, on qrels in which a relevant item is
    relevant for each of its categories.

    Examples
    --------
    The relevant item that is found has the first category; another has the others.

    >>> import numpy as np
    >>> from qrels import Catalogue
    >>> from qrels.catalogue import ItemsSeen
    >>> catalogue = Catalogue(2, features=np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> items = ItemsSeen(catalogue, np.array([0]), np.array([[0]]), np.array([[0], [1]]))
    >>> judged = Judged(np.array([[1.0]]), np.ones((1, 2))).with_items(lambda: items)
    >>> subtopic_recall(judged).round(4)
    array([0.3333])
    """
    covered = judged.total(new_categories, cutoff=cutoff, alpha=1.0)
    return ratio(covered, judged.once_for_all(n_categories))
