"""DCG: discounted cumulative gain."""

from math import inf

from harness.metrics.ndcg import Discount, Gains, discounted_gains
from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import Beta, Clip, Propensity, weighting_of
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "DCG",
    source="Järvelin & Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques; "
    "as it is: Jeunen, Potapov & Ustimenko (2024), On (normalised) discounted cumulative gain as "
    "an off-policy evaluation metric for top-n recommendation",
    has_level=False,
    high=inf,
)
def dcg(
    judged: Judged,
    *,
    cutoff: int | None = None,
    gains: Gains = "rating",
    discount: Discount = "log2",
    beta: Beta = 0.0,
    propensity: Propensity = "popularity",
    clip: Clip = 0.0,
) -> Floats:
    r"""Gain of the list, discounted by rank; not divided by that of the best list, as nDCG is.

    .. math:: \mathrm{DCG}@n = \sum_{k \le n} \frac{\mathrm{gain}(g(k))}{\log_2(k + 1)}

    The gain of an item is its grade g (the rating), 0 where unjudged. Values of at least 0, without
    a bound above.

    Parameters
    ----------
    gains
        As of nDCG: the grade, ``exp``, or a map of grades to gains.
    discount
        As of nDCG: log2(k + 1), or LensKit's log2(max(k, 2)).
    beta, propensity, clip
        As of Recall: weights of the items, by which gains are multiplied.

    Notes
    -----
    Users with many high grades count for more in the mean than in that of nDCG (Jeunen et al.).
    Doubling all grades, as with half stars, doubles DCG. LensKit's ``DCG`` has its discount, and a
    gain of 1 unless told to be the rating. trec_eval has no DCG.

    Examples
    --------
    Grades 3 and 2 at ranks 1 and 3: 3 / log2(2) + 2 / log2(4).

    >>> import numpy as np
    >>> dcg(Judged(np.array([[3.0, np.nan, 2.0]]), np.array([[3.0, 2.0]])))
    array([4.])
    """
    return judged.total(
        discounted_gains,
        cutoff=cutoff,
        gains=gains,
        discount=discount,
        weighting=weighting_of(beta, propensity, clip),
    )
