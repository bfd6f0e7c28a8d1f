"""Measures that trec_eval's output needs and studies do not: functions of judged lists.

Each has trec_eval's default parameters. K is the number of items retrieved, R that of relevant
ones, r_k that of relevant ones down to rank k; gains are grades.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from harness.metrics.ndcg import ndcg
from harness.metrics.shared.metric import ratio
from qrels import Judged

Floats = NDArray[np.float64]


def set_average_precision(judged: Judged) -> Floats:
    """Precision times recall of the retrieved set (``m_set_map.c``).

    Examples
    --------
    One of two retrieved items is relevant, and one of four relevant items is retrieved:

    >>> set_average_precision(Judged(np.array([[1.0, np.nan]]), np.ones((1, 4))))
    array([0.125])
    """
    return ratio(judged.hits() ** 2, judged.n_retrieved * judged.n_relevant)


def set_relative_precision(judged: Judged) -> Floats:
    """Share of the relevant items that a set of K could hold: r_K / min(K, R).

    Examples
    --------
    >>> set_relative_precision(Judged(np.array([[1.0, np.nan]]), np.ones((1, 4))))
    array([0.5])
    """
    return ratio(judged.hits(), np.minimum(judged.n_retrieved, judged.n_relevant))


def utility(judged: Judged) -> Floats:
    """Relevant items retrieved less the other items retrieved (``m_utility.c``).

    Examples
    --------
    >>> utility(Judged(np.array([[1.0, np.nan, 0.0]]), np.ones((1, 4))))
    array([-1.])
    """
    return 2 * judged.hits() - judged.n_retrieved


def binary_gain(judged: Judged) -> Floats:
    """Mean, over the relevant items, of 1 / log2(2 + others ranked above) (``m_binG.c``).

    Examples
    --------
    Two items are above the only relevant one: 1 / log2(4).

    >>> binary_gain(Judged(np.array([[0.0, np.nan, 1.0]]), np.ones((1, 1))))
    array([0.5])
    """
    others_above = _ranks(judged) - judged.relevant_so_far
    earned = judged.relevant / np.log2(2 + others_above)
    return ratio(earned.sum(axis=1), judged.n_relevant)


def normalised_gain(judged: Judged) -> Floats:
    """Gains, each discounted by what the best list has gained more down to its rank (``m_G.c``).

    A gain is divided by log2(2 + best - gained): ``best`` adds up the gains of the best list down
    to this rank, of at least 1 each, and ``gained`` those of this list. The sum is divided by all
    gains that there are.

    Examples
    --------
    The best list gains 2 + 1, this one 0 + 2, which leaves 3 - 2: 2 / log2(3) / 2.

    >>> normalised_gain(Judged(np.array([[0.0, 2.0]]), np.array([[2.0, 0.0]]))).round(4)
    array([0.6309])
    """
    best = np.maximum(_ideal_gains(judged), 1.0).cumsum(axis=1)
    gained = judged.gains.cumsum(axis=1)
    earned = judged.gains / np.log2(2 + best - gained)
    return ratio(earned.sum(axis=1), judged.ideal_gains.sum(axis=1))


def ndcg_of_relevant(judged: Judged) -> Floats:
    """Mean of nDCG@k over the items with a gain, k being the rank of each (``m_ndcg_rel.c``).

    One that is not retrieved counts with the nDCG of the whole list.

    Examples
    --------
    At rank 2 the DCG is 1 / log2(3), the ideal one 1 + 1 / log2(3); the other is not retrieved.

    >>> ndcg_of_relevant(Judged(np.array([[0.0, 1.0]]), np.ones((1, 2)))).round(4)
    array([0.3869])
    """
    discounts = np.log2(_ranks(judged) + 1)
    gained = (judged.gains / discounts).cumsum(axis=1)
    ideal = (_ideal_gains(judged) / discounts).cumsum(axis=1)
    has_gain = judged.gains > 0
    at_ranks = np.divide(gained, ideal, out=np.zeros_like(gained), where=has_gain).sum(axis=1)
    n_gains = (judged.ideal_gains > 0).sum(axis=1)
    n_missed = n_gains - has_gain.sum(axis=1)
    return ratio(at_ranks + n_missed * ndcg(judged), n_gains)


def ndcg_at_levels(judged: Judged) -> Floats:
    """Mean of nDCG@n where the gain of the best list falls, and at its end (``m_Rndcg.c``).

    For every positive grade of the user, n counts the judgements of at least this grade. The nDCG
    of the whole list is one more, if it goes on for two ranks after the last of these. 0 if R = 0.

    Examples
    --------
    One item of grade 2 and one of grade 1, ranked the wrong way round: nDCG@1 is 1/2, nDCG@2 is
    (1 + 2 / log2(3)) / (2 + 1 / log2(3)) = 0.8597.

    >>> ndcg_at_levels(Judged(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]]))).round(4)
    array([0.6799])
    """
    n_gains = (judged.judgements > 0).sum(axis=1)
    goes_on = judged.n_retrieved >= n_gains + 2
    total = np.where(goes_on, ndcg(judged), 0.0)
    n_points = goes_on.astype(np.float64)
    for grade in _positive_grades(judged):
        is_there = (judged.judgements == grade).any(axis=1)
        total += is_there * _ndcg_at(judged, (judged.judgements >= grade).sum(axis=1))
        n_points += is_there
    return np.where(judged.n_relevant > 0, ratio(total, n_points), 0.0)


ODDITIES: dict[str, Callable[[Judged], Floats]] = {
    "utility": utility,
    "binG": binary_gain,
    "G": normalised_gain,
    "ndcg_rel": ndcg_of_relevant,
    "Rndcg": ndcg_at_levels,
    "set_relative_P": set_relative_precision,
    "set_map": set_average_precision,
}
"""By trec_eval's names."""


def _ranks(judged: Judged) -> NDArray[np.intp]:
    return np.arange(1, judged.depth + 1)


def _ideal_gains(judged: Judged) -> Floats:
    """Gains of the best list at the ranks of the lists, 0 where it has ended."""
    best = judged.ideal_gains[:, : judged.depth]
    return np.pad(best, ((0, 0), (0, judged.depth - best.shape[1])))


def _positive_grades(judged: Judged) -> list[float]:
    grades = judged.judgements
    return np.unique(grades[grades > 0]).tolist()


def _ndcg_at(judged: Judged, cutoffs: NDArray[np.intp]) -> Floats:
    """Give every user's nDCG at a cut-off of the user's own."""
    return ratio(_dcg_at(judged.gains, cutoffs), _dcg_at(judged.ideal_gains, cutoffs))


def _dcg_at(gains: Floats, cutoffs: NDArray[np.intp]) -> Floats:
    ranks = np.arange(1, gains.shape[1] + 1)
    considered = ranks <= cutoffs[:, None]
    return (considered * gains / np.log2(ranks + 1)).sum(axis=1)
