"""Measures that trec_eval's output needs and studies do not: functions of judged lists.

K is the number of items retrieved, R that of relevant ones, r_k that of relevant ones down to rank
k. Gains are grades.
"""

from __future__ import annotations

import numpy as np

from harness.metrics.ndcg import ndcg
from harness.metrics.shared.metric import ratio
from qrels import Judged
from runs.shared.arrays import Floats, Numbers


def set_average_precision(judged: Judged) -> Floats:
    """Precision times recall of the retrieved set (``m_set_map.c``)."""
    return ratio(judged.hits() ** 2, judged.n_retrieved * judged.n_relevant)


def set_relative_precision(judged: Judged) -> Floats:
    """Share of the relevant items that a set of K could hold: r_K / min(K, R)."""
    return ratio(judged.hits(), np.minimum(judged.n_retrieved, judged.n_relevant))


def utility(judged: Judged) -> Floats:
    """Relevant items retrieved, less the others retrieved (``m_utility.c``)."""
    return 2.0 * judged.hits() - judged.n_retrieved


def binary_gain(judged: Judged) -> Floats:
    """Mean, over the relevant items, of 1 / log2(2 + others ranked above) (``m_binG.c``)."""
    others_above = judged.ranks - judged.relevant_so_far
    gains = judged.relevant / np.log2(2 + others_above)
    return ratio(gains.sum(axis=1), judged.n_relevant)


def normalised_gain(judged: Judged) -> Floats:
    """Gains, each discounted by what the best list has gained more down to its rank (``m_G.c``).

    A gain is divided by log2(2 + best - gained): ``best`` adds up the gains of the best list down
    to this rank, of at least 1 each, and ``gained`` those of this list. The sum is divided by all
    gains that there are: shape (n_users,), 0 for a user without gains.
    """
    best = np.maximum(_ideal_gains(judged), 1.0).cumsum(axis=1)
    gained = judged.gains.cumsum(axis=1)
    discounted = judged.gains / np.log2(2 + best - gained)
    all_gains = judged.ideal_gains.sum(axis=1)
    return ratio(discounted.sum(axis=1), all_gains)


def ndcg_of_relevant(judged: Judged) -> Floats:
    """Mean of nDCG@k over the items with a gain, k being the rank of each (``m_ndcg_rel.c``).

    One that is not retrieved counts with the nDCG of the whole list. Shape (n_users,); 0 for a user
    without gains. Arrays by rank have shape (n_users, n_ranks); ``ideal_gains`` are all gains of a
    user, falling.
    """
    discounts = np.log2(judged.ranks + 1)
    dcg = (judged.gains / discounts).cumsum(axis=1)
    ideal_dcg = (_ideal_gains(judged) / discounts).cumsum(axis=1)
    has_gain = judged.gains > 0
    no_gain = np.zeros_like(dcg)
    ndcg_at_gains = np.divide(dcg, ideal_dcg, out=no_gain, where=has_gain)
    n_gains = (judged.ideal_gains > 0).sum(axis=1)
    n_missed = n_gains - has_gain.sum(axis=1)
    total = ndcg_at_gains.sum(axis=1) + n_missed * ndcg(judged)
    return ratio(total, n_gains)


def ndcg_at_levels(judged: Judged) -> Floats:
    """Mean of nDCG@n where the gain of the best list falls, and at its end (``m_Rndcg.c``).

    For every positive gain of the user, n counts the judgements of at least this gain. The nDCG
    of the whole list is one more, if it goes on for two ranks after the last of these. Gains are
    the grades. Shape (n_users,); 0 for a user without relevant items.
    """
    judgements = judged.judgements
    has_gain = judgements > 0
    n_gains = has_gain.sum(axis=1)
    is_longer = judged.n_retrieved >= n_gains + 2
    total = np.where(is_longer, ndcg(judged), 0.0)
    # How many values of nDCG the mean of each user is over.
    n_points = is_longer.astype(np.float64)
    for gain in np.unique(judgements[has_gain]).tolist():
        user_has_gain = (judgements == gain).any(axis=1)
        cutoffs = (judgements >= gain).sum(axis=1)
        total += user_has_gain * _ndcg_at(judged, cutoffs)
        n_points += user_has_gain
    mean = ratio(total, n_points)
    return np.where(judged.n_relevant > 0, mean, 0.0)


def _ideal_gains(judged: Judged) -> Floats:
    """Gains of the best list at each rank, (n_users, n_ranks), 0 where it has ended."""
    n_ranks = judged.grades.shape[1]
    gains = judged.ideal_gains[:, :n_ranks]
    n_empty_ranks = n_ranks - gains.shape[1]
    return np.pad(gains, ((0, 0), (0, n_empty_ranks)))


def _ndcg_at(judged: Judged, cutoffs: Numbers) -> Floats:
    """Compute nDCG at a cut-off for each user, (n_users,); 0 where the ideal has no gain."""
    return ratio(_dcg_at(judged.gains, cutoffs), _dcg_at(judged.ideal_gains, cutoffs))


def _dcg_at(gains: Floats, cutoffs: Numbers) -> Floats:
    """Compute DCG of gains, (n_users, n_ranks), at a cut-off for each user, (n_users,)."""
    ranks = np.arange(1, gains.shape[1] + 1)
    is_above_cutoff = ranks <= cutoffs[:, np.newaxis]
    discounted = is_above_cutoff * gains / np.log2(ranks + 1)
    return discounted.sum(axis=1)
