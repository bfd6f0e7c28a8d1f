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
    accumulates="sum",
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
    r"""Sum of the gains of the first ranks, discounted by rank; nDCG without normalisation.

    .. math:: \mathrm{DCG}@n = \sum_{k \le n} \frac{\mathrm{gain}(g(k))}{\log_2(k + 1)}

    The gain of an item is its grade g (the rating), 0 where unjudged. Values of at least 0, without
    a bound above.

    Parameters
    ----------
    gains
        See nDCG: the grade, ``exp``, or a map of grades to gains.
    discount
        See nDCG: log2(k + 1), or LensKit's log2(max(k, 2)).
    beta, propensity, clip
        See Recall: weights of the items, by which gains are multiplied.

    Notes
    -----
    Users with many high grades have more weight in the mean of DCG than in that of nDCG (Jeunen et
    al.). Doubling all grades, as for half stars, doubles DCG. LensKit's ``DCG`` uses the discount
    ``lenskit`` and, by default, a gain of 1 for each rated item. trec_eval has no DCG.

    Examples
    --------
    Grades 3 and 2 at ranks 1 and 3: 3 / log2(2) + 2 / log2(4).

    >>> import numpy as np
    >>> dcg(Judged(np.array([[3.0, np.nan, 2.0]]), np.array([[3.0, 2.0]])))
    array([4.])
    """
    weighting = weighting_of(beta, propensity, clip)
    return judged.total(
        discounted_gains, cutoff=cutoff, gains=gains, discount=discount, weighting=weighting
    )
