"""nDCG: normalised discounted cumulative gain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from harness.metrics.shared.metric import metric, ratio
from qrels import Judged

Gains: TypeAlias = (
    Literal["rating", "exp"] | Mapping[Annotated[int, Ge(0)], Annotated[float, Ge(0)]]
)
Discount: TypeAlias = Literal["log2", "lenskit"]


@metric(
    "nDCG",
    source="Järvelin & Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques",
    trec_eval="ndcg_cut.n",
    has_level=False,
)
def ndcg(
    judged: Judged,
    *,
    cutoff: int | None = None,
    gains: Gains = "rating",
    discount: Discount = "log2",
) -> NDArray[np.float64]:
    r"""Gain of the list, discounted by rank, over the gain of the best possible list.

    .. math::
        \mathrm{nDCG}@n = \frac{\mathrm{DCG}_n}{\mathrm{IDCG}_n}, \qquad
        \mathrm{DCG}_n = \sum_{k \le n} \frac{\mathrm{gain}(g(k))}{\log_2(k + 1)}

    The gain of an item is its grade g (the rating), 0 where unjudged; the ideal list holds all
    judged items of the user in falling order of gain. 0 if no gain is above 0.

    Parameters
    ----------
    judged
        Judged ranked lists.
    cutoff
        Ranks considered, n, in the list and in the ideal. By default the whole list against
        the whole ideal, however long, as trec_eval's uncut ``ndcg``.
    gains
        ``rating``: the grade. ``exp``: 2^g - 1 (Burges et al. 2005). A map: the gains of the
        grades in it; the others keep their grade, as with trec_eval's ``-m ndcg.1=0,2=0``.
    discount
        ``log2``: log2(k + 1). ``lenskit``: log2(max(k, 2)), so that ranks 1 and 2 count alike.

    Returns
    -------
    Values in [0, 1], of shape (n_users,).

    Notes
    -----
    The relevance level plays no part: low ratings earn gain too, as in trec_eval
    (``m_ndcg_cut.c``); trec_eval takes other gains for its uncut ``ndcg`` only. With half stars,
    whose grades are doubled in the qrels, ``exp`` is 2^(2 * stars) - 1, far steeper than on
    stars; with ``rating`` the doubling cancels. The discount of LensKit's ``NDCG`` is that of
    Järvelin & Kekäläinen with base 2; its gain is 1 unless told to be the rating.

    Examples
    --------
    Grade 2 at rank 2; the ideal has it at rank 1 and the grade 1 at rank 2:
    (2 / log2(3)) / (2 + 1 / log2(3)). With gains 1 and 3 it is (3 / log2(3)) / (3 + 1 / log2(3));
    with LensKit's discount 2 / (2 + 1).

    >>> judged = Judged(np.array([[np.nan, 2.0]]), np.array([[1.0, 2.0]]))
    >>> ndcg(judged).round(4), ndcg(judged, gains="exp").round(4)
    (array([0.4796]), array([0.5213]))
    >>> ndcg(judged, discount="lenskit").round(4)
    array([0.6667])
    """
    gained = judged.total(discounted_gains, cutoff=cutoff, gains=gains, discount=discount)
    return ratio(gained, _ideal(judged, cutoff=cutoff, gains=gains, discount=discount))


def discounted_gains(judged: Judged, *, gains: Gains, discount: Discount) -> NDArray[np.float64]:
    """Give what the item at each rank earns."""
    ranks = judged.ranks + 1 if discount == "log2" else np.maximum(judged.ranks, 2)
    return _gains(judged, gains) / np.log2(ranks)


def _gains(judged: Judged, gains: Gains) -> NDArray[np.float64]:
    if isinstance(gains, Mapping):
        return gains_of(judged.grades, gains)
    return np.exp2(judged.gains) - 1 if gains == "exp" else judged.gains


def _ideal(
    judged: Judged, *, cutoff: int | None, gains: Gains, discount: Discount
) -> NDArray[np.float64]:
    """Give what the best list earns."""
    best = judged.best
    if isinstance(gains, Mapping):
        best = best.once(_by_gain, gains=gains)
        gains = "rating"
    return best.total(discounted_gains, cutoff=cutoff, gains=gains, discount=discount)


def _by_gain(best: Judged, *, gains: Mapping[int, float]) -> Judged:
    """See gains in the place of grades, in falling order: a map may turn that of grades round."""
    return best.with_lists(-np.sort(-gains_of(best.judgements, gains), axis=1), None)


def gains_of(grades: NDArray[np.float64], gains: Mapping[int, float]) -> NDArray[np.float64]:
    """Put gains in the place of the grades listed; 0 where there is no grade.

    Examples
    --------
    >>> gains_of(np.array([[1.0, 2.0, np.nan, -1.0]]), {1: 0.5})
    array([[0.5, 2. , 0. , 0. ]])
    """
    replaced = np.nan_to_num(np.maximum(grades, 0.0))
    for grade, gain in gains.items():
        replaced[grades == grade] = gain
    return replaced
