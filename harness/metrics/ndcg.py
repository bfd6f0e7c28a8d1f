"""nDCG: normalised discounted cumulative gain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.metric import metric, ratio
from qrels import Judged


@metric(
    "nDCG",
    source="Järvelin & Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques",
    trec_eval="ndcg_cut.n",
    has_level=False,
)
def ndcg(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    r"""Gain of the list, discounted by rank, over the gain of the best possible list.

    .. math::
        \mathrm{nDCG}@n = \frac{\mathrm{DCG}_n}{\mathrm{IDCG}_n}, \qquad
        \mathrm{DCG}_n = \sum_{k \le n} \frac{g(k)}{\log_2(k + 1)}

    The gain g is the grade (the rating), 0 where unjudged; the ideal list holds all judged
    items of the user in falling order of grade. 0 if no grade is above 0.

    Parameters
    ----------
    judged
        Judged ranked lists.
    cutoff
        Ranks considered, n, in the list and in the ideal. By default the whole list against
        the whole ideal, however long, as trec_eval's uncut ``ndcg``.

    Returns
    -------
    Values in [0, 1], of shape (n_users,).

    Notes
    -----
    The relevance level plays no part: low ratings earn gain too, as in trec_eval
    (``m_ndcg_cut.c``). LensKit discounts by log2(max(k, 2)) instead.

    Examples
    --------
    Grade 2 at rank 2; the ideal has it at rank 1 and the grade 1 at rank 2:
    (2 / log2(3)) / (2 + 1 / log2(3)).

    >>> ndcg(Judged(np.array([[np.nan, 2.0]]), np.array([[1.0, 2.0]]))).round(4)
    array([0.4796])
    """
    return ratio(_discounted(judged.gains[:, :cutoff]), _discounted(judged.ideal_gains[:, :cutoff]))


def _discounted(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    ranks = np.arange(1, gains.shape[1] + 1)
    return (gains / np.log2(ranks + 1)).sum(axis=1)
