"""SetP: precision of the retrieved set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.metrics.shared.metric import metric, ratio
from qrels import Judged


@metric(
    "SetP",
    source="Cleverdon & Mills (1963), The testing of index language devices",
    trec_eval="set_P with -M n",
)
def set_precision(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    r"""Share of the retrieved items that are relevant; 0 if nothing is retrieved.

    .. math:: \mathrm{SetP}@n = r_n / \min(n, K)

    Parameters
    ----------
    judged
        Judged ranked lists.
    cutoff
        Ranks considered, n; all of them by default.

    Returns
    -------
    Values in [0, 1], of shape (n_users,).

    Notes
    -----
    Divided by the number of items K that the list holds (up to n), as in trec_eval
    (``m_set_P.c``) and in LensKit's precision; P divides by n even where the list is shorter.

    Examples
    --------
    A list that ends after two ranks, of which one is relevant:

    >>> lists = np.array([[1.0, np.nan, np.nan]])
    >>> set_precision(Judged(lists, np.ones((1, 3)), lengths=np.array([2])), cutoff=3)
    array([0.5])
    """
    retrieved = judged.n_retrieved if cutoff is None else np.minimum(judged.n_retrieved, cutoff)
    return ratio(judged.hits(cutoff), retrieved)
