"""nDCG: normalised discounted cumulative gain."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import numpy as np
from annotated_types import Ge

from harness.metrics.shared.metric import metric, ratio
from harness.metrics.shared.weights import Beta, Clip, Propensity, Weighting, weighting_of
from qrels import Judged
from runs.shared.arrays import Floats

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
    beta: Beta = 0.0,
    propensity: Propensity = "popularity",
    clip: Clip = 0.0,
) -> Floats:
    r"""Discounted cumulative gain of the list, divided by that of the ideal list.

    .. math::
        \mathrm{nDCG}@n = \frac{\mathrm{DCG}_n}{\mathrm{IDCG}_n}, \qquad
        \mathrm{DCG}_n = \sum_{k \le n} \frac{\mathrm{gain}(g(k))}{\log_2(k + 1)}

    The gain of an item is its grade g (the rating), 0 where unjudged. The ideal list holds all
    judged items of the user in falling order of gain. 0 if no gain is above 0. Both lists are cut
    at rank n; without a cut-off both are used whole, as in trec_eval's ``ndcg``. Values in [0, 1].

    Parameters
    ----------
    gains
        ``rating``: the grade. ``exp``: 2^g - 1 (Burges et al. 2005). A map gives the gains of the
        grades that it names; other grades are their own gains, as with trec_eval's
        ``-m ndcg.1=0,2=0``.
    discount
        ``log2``: log2(k + 1). ``lenskit``: log2(max(k, 2)), so that ranks 1 and 2 count alike.
    beta, propensity, clip
        See Recall: weights of the items, by which gains are multiplied in the list and in the
        ideal list.

    Notes
    -----
    The relevance level is not used: low ratings have a gain too, as in trec_eval
    (``m_ndcg_cut.c``). With half stars, whose grades are doubled in the qrels, ``exp`` is
    2^(2 * stars) - 1. LensKit's ``NDCG`` uses the discount ``lenskit`` and, by default, a gain of 1
    for each rated item.

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
    # None if all items have the same weight.
    weighting = weighting_of(beta, propensity, clip)
    dcg = judged.total(
        discounted_gains, cutoff=cutoff, gains=gains, discount=discount, weighting=weighting
    )
    gains_rise_with_grades = weighting is None and not isinstance(gains, Mapping)
    if gains_rise_with_grades:
        ideal = judged.best  # All judged items by falling grade.
        ideal_gains = gains
    else:
        ideal = judged.once_for_all(_ideal_by_gain, gains=gains, weighting=weighting)
        ideal_gains = "rating"  # Its grades are gains.
    ideal_dcg = ideal.total(discounted_gains, cutoff=cutoff, gains=ideal_gains, discount=discount)
    return ratio(dcg, ideal_dcg)


def discounted_gains(
    judged: Judged, *, gains: Gains, discount: Discount, weighting: Weighting | None = None
) -> Floats:
    """Compute the discounted gain of the item at each rank, of shape (n_users, n_ranks).

    A gain is divided by log2(k + 1) at rank k if ``discount`` is "log2", by log2(max(k, 2)) if it
    is "lenskit". ``gains`` is "rating" for the grade g, "exp" for 2^g - 1, or a mapping of grades
    to gains; the gain is 0 where the item is unjudged. ``weighting``, if any, multiplies gains by
    weights of the items.
    """
    arguments = judged.ranks + 1 if discount == "log2" else np.maximum(judged.ranks, 2)
    discounted = _gains_of(judged.grades, gains) / np.log2(arguments)
    if weighting is None:
        return discounted
    return discounted * weighting.weights_of(judged.items, judged.catalogue)


def _ideal_by_gain(judged: Judged, *, gains: Gains, weighting: Weighting | None) -> Judged:
    """Make the ideal lists by falling gain, with gains in the place of grades.

    All judged items of each user are in the list. Its order may differ from that of the grades.
    ``gains`` are as in `discounted_gains`; ``weighting``, if any, multiplies them by weights of the
    items, which must be known then (else InputError).
    """
    item_gains = _gains_of(judged.judgements, gains)
    if weighting is not None:
        item_gains *= weighting.weights_of(judged.judged_items, judged.catalogue)
    return judged.with_lists(-np.sort(-item_gains, axis=1), None)


def _gains_of(grades: Floats, gains: Gains) -> Floats:
    """Convert grades, of any shape, to gains; 0 where there is no grade (NaN) or it is below 0.

    ``gains`` is "rating" for the grade itself, "exp" for 2^grade - 1, or a mapping of grades to
    gains; grades that it does not hold are their own gains.

    Examples
    --------
    >>> _gains_of(np.array([[1.0, 2.0, np.nan, -1.0]]), {1: 0.5})
    array([[0.5, 2. , 0. , 0. ]])
    """
    values = np.fmax(grades, 0.0)
    if isinstance(gains, Mapping):
        for grade, gain in gains.items():
            values[grades == grade] = gain
    return np.exp2(values) - 1 if gains == "exp" else values
