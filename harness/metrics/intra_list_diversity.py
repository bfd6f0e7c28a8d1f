"""ILD: intra-list diversity."""

import numpy as np

from harness.metrics.shared.features import similarities
from harness.metrics.shared.metric import metric, ratio
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "ILD",
    source="Smyth & McClave (2001), Similarity vs. diversity; Ziegler, McNee, Konstan & Lausen "
    "(2005), Improving recommendation lists through topic diversification",
    aliases=("intra-list distance", "diversity"),
    high=2.0,
    has_level=False,
)
def intra_list_diversity(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Mean distance, 1 - cosine of the features, between two items of the first ranks.

    .. math::
        \mathrm{ILD}@n = \frac{2}{m (m - 1)} \sum_{k < l \le m} (1 - \cos(f_{i(k)}, f_{i(l)})),
        \qquad m = \min(n, K)

    K is the length of the list. 0 for lists of fewer than two items. Values in [0, 2]; in [0, 1]
    where no feature is negative, as with categories.

    Notes
    -----
    Neither the judgements nor the order of the first n items are used. An item without features is
    at distance 1 from all others. Ziegler et al. report the sum of the similarities.

    Examples
    --------
    Items 0 and 1 are of one category, item 2 of another: two of three pairs are at distance 1:

    >>> from qrels import Catalogue, judge, qrels_from_columns
    >>> from runs import Run
    >>> judged = judge(
    ...     Run("a", np.array([[0, 1, 2]], dtype=np.int32)),
    ...     qrels_from_columns(
    ...         np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), n_users=1, relevance_level=1
    ...     ),
    ...     Catalogue(3, features=np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])),
    ... )
    >>> intra_list_diversity(judged, cutoff=3).round(4)
    array([0.6667])
    """
    deepest = judged.depth if cutoff is None else cutoff
    n_items = np.minimum(judged.n_retrieved, deepest)
    n_pairs = n_items * (n_items - 1) / 2
    # A similarity is the sum of the cosines of an item with those above it.
    distances = n_pairs - judged.total(similarities, cutoff=cutoff)
    return ratio(np.maximum(distances, 0.0), n_pairs)
