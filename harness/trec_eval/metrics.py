"""Metrics that exist for the names of trec_eval: infAP_trec, IAP, SetP, SetR and SetF."""

from __future__ import annotations

import numpy as np

from harness.metrics.infap import SMOOTHING
from harness.metrics.interpolated_precision import Rounding, precisions_at_recall
from harness.metrics.recall import recall
from harness.metrics.shared.metric import metric, ratio
from harness.metrics.shared.weights import Positive
from qrels import Judged, accumulate
from runs.shared.arrays import Floats


@metric(
    "infAP_trec",
    source="Yilmaz & Aslam (2006), Estimating average precision with incomplete and imperfect "
    "judgments",
    trec_eval="infAP with -M n",
)
def inferred_average_precision_trec(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Trec_eval's infAP: AP estimated for ranks in the pool only (infAP: for all ranks).

    .. math::
        \mathrm{infAP}@n = \frac{1}{R} \sum_{k \le n} \mathrm{rel}(k) \left(\frac{1}{k}
        + \frac{k - 1}{k} \cdot \frac{r_{k-1} + n_{k-1} + u_{k-1}}{k - 1} \cdot
        \frac{r_{k-1} + \varepsilon}{r_{k-1} + n_{k-1} + 2 \varepsilon}\right),
        \qquad \varepsilon = 10^{-5}

    :math:`r_{k-1}`, :math:`n_{k-1}` and :math:`u_{k-1}` count the relevant, the judged non-relevant
    and the pool-unjudged items above rank k. Pool-unjudged items are those in the qrels with a
    negative grade; items that the qrels lack lie outside the pool. 0 if R = 0. Values in [0, 1].

    Notes
    -----
    As in trec_eval (``m_infap.c``), and so in pytrec_eval and ir_measures. With qrels that hold
    no negative grade it is AP, but for the smoothing; the metric ``infAP`` is the form of
    Valcarce et al. (2018), which takes every retrieved item to be in the pool.

    Examples
    --------
    Rank 2 holds an item of the pool that nobody judged. As all judged items above rank 3 are
    relevant, it is expected to be relevant, too; for AP it is not:

    >>> from harness.metrics.average_precision import average_precision
    >>> judged = Judged(np.array([[1.0, -1.0, 1.0]]), np.array([[1.0, 1.0, -1.0]]))
    >>> inferred_average_precision_trec(judged).round(3), average_precision(judged).round(3)
    (array([1.]), array([0.833]))
    """
    return ratio(judged.total(_expected_precisions, cutoff=cutoff), judged.n_relevant)


def _expected_precisions(judged: Judged) -> Floats:
    """Estimate the precision at the rank of every relevant item; 0 at other ranks.

    The share of relevant items among those of the pool above is estimated from the judged ones,
    smoothed by 1e-5. Arrays of ``judged`` and the result have the shape (n_users, n_ranks); grades
    are NaN for items outside the qrels, and negative for unjudged items of the pool.
    """
    relevant_above = judged.relevant_so_far - judged.relevant
    judged_above = relevant_above + judged.nonrelevant_so_far
    pool_above = judged_above + accumulate(judged.grades < 0)
    estimates = (relevant_above + SMOOTHING) / (judged_above + 2 * SMOOTHING)
    expected = (1 + pool_above * estimates) / judged.ranks
    return judged.relevant * expected


RECALL_POINTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@metric(
    "IAP",
    source="Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, section 8.4",
    trec_eval="11pt_avg with -M n",
)
def interpolated_average_precision(
    judged: Judged, *, cutoff: int | None = None, rounding: Rounding = "up"
) -> Floats:
    r"""Mean of the interpolated precisions at the recall points 0, 0.1, ..., 1.

    .. math:: \mathrm{IAP}@n = \frac{1}{11} \sum_{i=0}^{10} \mathrm{IPrec}(i / 10)@n

    Values in [0, 1]; 0 for a user without relevant items.

    Notes
    -----
    As in trec_eval (``m_11pt_avg.c``), of which version 9 rounds "up" and version 10 to the
    "nearest". It was TREC's average precision before AP.

    Examples
    --------
    Ranks 1 and 4 hold two of the three relevant items, rank 3 a non-relevant one:
    the highest precision is 1 at four recall points, 1 / 2 at three, and 0 above:

    >>> judged = Judged(np.array([[1.0, np.nan, 0.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 0.0]]))
    >>> float(interpolated_average_precision(judged)[0] * 11)
    6.0
    """
    return judged.down_to(cutoff, judged.once(_mean_of_highest, rounding=rounding))


def _mean_of_highest(judged: Judged, *, rounding: str) -> Floats:
    """Average over the recall points the highest precisions down to every rank.

    Column n is IAP of lists that end at rank n + 1: the mean, over the 11 recall points, of the
    highest precision at a rank down to there that reaches the recall (0 if none does). The result
    has the shape (n_users, n_ranks). ``rounding`` says how a recall point becomes a number of
    items: "up" or "nearest".
    """
    # Columns lie together in memory, as in all tables of ranks that are added.
    total = np.zeros(judged.relevant_so_far.shape, order="F")
    for recall_point in RECALL_POINTS:
        precisions = precisions_at_recall(judged, recall=recall_point, rounding=rounding)
        total += accumulate(precisions, by=np.maximum)
    return total / len(RECALL_POINTS)


@metric(
    "SetP",
    source="Cleverdon & Mills (1963), The testing of index language devices",
    trec_eval="set_P with -M n",
)
def set_precision(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Share of the retrieved items that are relevant; 0 if nothing is retrieved.

    .. math:: \mathrm{SetP}@n = r_n / \min(n, K)

    Values in [0, 1].

    Notes
    -----
    Divided by the number of items K that the list holds (up to n), as in trec_eval
    (``m_set_P.c``) and in LensKit's precision; P divides by n even where the list is shorter.

    Examples
    --------
    Ranks 1 and 4 hold two of the three relevant items, rank 3 a non-relevant one:

    >>> judged = Judged(np.array([[1.0, np.nan, 0.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 0.0]]))
    >>> set_precision(judged)
    array([0.5])
    """
    retrieved = judged.n_retrieved if cutoff is None else np.minimum(judged.n_retrieved, cutoff)
    return ratio(judged.hits(cutoff), retrieved)


@metric(
    "SetR",
    source="Cleverdon & Mills (1963), The testing of index language devices",
    trec_eval="set_recall with -M n",
)
def set_recall(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Share of the user's relevant items that are retrieved: Recall, under trec_eval's name.

    .. math:: \mathrm{SetR}@n = r_n / R

    Values in [0, 1]; 0 if R = 0.

    Notes
    -----
    trec_eval has two measures, ``recall`` with a cut-off and ``set_recall`` without
    (``m_set_recall.c``); here SetR@n is Recall@n.

    Examples
    --------
    Ranks 1 and 4 hold two of the three relevant items, rank 3 a non-relevant one:

    >>> judged = Judged(np.array([[1.0, np.nan, 0.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 0.0]]))
    >>> set_recall(judged).round(4)
    array([0.6667])
    """
    return recall(judged, cutoff=cutoff)


@metric(
    "SetF",
    source="van Rijsbergen (1979), Information Retrieval, chapter 7",
    trec_eval="set_F.beta with -M n",
    aliases=("F", "F1"),
)
def set_f(judged: Judged, *, cutoff: int | None = None, beta: Positive = 1.0) -> Floats:
    r"""F: weighted harmonic mean of the precision and the recall of the retrieved set.

    .. math::
        \mathrm{SetF}(\beta)@n = \frac{(\beta + 1) \, P R}{R + \beta P}, \qquad
        P = \mathrm{SetP}@n, \quad R = \mathrm{SetR}@n

    0 if no relevant item is retrieved. Values in [0, 1].

    Notes
    -----
    ``beta`` is that of ir_measures and the parameter of trec_eval's ``set_F`` (``m_set_F.c``),
    which enters as it is. In van Rijsbergen's :math:`F_\beta`, and in scikit-learn's, it is
    squared: their F2 is SetF(beta=4). The precision is over the retrieved items, not over n.

    Examples
    --------
    The precision is 1 / 2 and the recall 2 / 3:

    >>> judged = Judged(np.array([[1.0, np.nan, 0.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 0.0]]))
    >>> set_f(judged).round(4)
    array([0.5714])
    """
    precision = set_precision(judged, cutoff=cutoff)
    recall = set_recall(judged, cutoff=cutoff)
    weighted_product = (beta + 1) * precision * recall
    return ratio(weighted_product, recall + beta * precision)
