"""Recall."""

import numpy as np

from harness.metrics.shared.metric import metric, ratio
from harness.metrics.shared.weights import Beta, Clip, Propensity, Weighting, weighting_of
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "Recall",
    source="Cleverdon & Mills (1963), The testing of index language devices",
    trec_eval="recall.n",
    aliases=("R",),
)
def recall(
    judged: Judged,
    *,
    cutoff: int | None = None,
    beta: Beta = 0.0,
    propensity: Propensity = "popularity",
    clip: Clip = 0.0,
) -> Floats:
    r"""Share of the user's relevant items that the first ranks hold; 0 if there is none.

    .. math:: \mathrm{Recall}@n = r_n / R

    With weights :math:`w_i` that correct for unequal probabilities of observing the items:

    .. math:: \mathrm{Recall}(\beta)@n = \frac{\sum_{k \le n} \mathrm{rel}(k) \, w_{i(k)}}
        {\sum_{i \text{ relevant}} w_i}, \qquad w_i = \max(n_i, 1)^{-\beta}

    where :math:`n_i` counts the item's ratings in training. Values in [0, 1].

    Parameters
    ----------
    beta
        Exponent of popularity in the weights, at least 0.
    propensity
        ``popularity``: weights as above. ``table``: 1 / propensity, from the table in [items].
    clip
        Lowest propensity: lower ones are raised to it. The most popular item has propensity 1.

    Notes
    -----
    The count is divided by R, as in trec_eval (``m_recall.c``). LensKit divides by min(n, R).

    With ``beta`` this is the popularity-stratified recall of Steck (2010, 2011) and the
    self-normalised estimate of Yang et al. (2018), where :math:`\beta = (\gamma + 1) / 2`. The
    weights correct only for a probability of observation that depends on the item alone, not for
    one that depends on the rating. Items without training ratings are treated as having one.

    Examples
    --------
    One of two relevant items found; then a user without relevant items:

    >>> lists = np.array([[1.0, np.nan], [0.0, np.nan]])
    >>> recall(Judged(lists, np.array([[1.0, 1.0], [0.0, np.nan]])))
    array([0.5, 0. ])
    """
    # None if all items have the same weight.
    weighting = weighting_of(beta, propensity, clip)
    if weighting is None:
        return ratio(judged.hits(cutoff), judged.n_relevant)
    hit_weights = judged.total(_weights_at_ranks, cutoff=cutoff, weighting=weighting)
    return ratio(hit_weights, judged.once_for_all(_total_weights, weighting=weighting))


def _weights_at_ranks(judged: Judged, *, weighting: Weighting) -> Floats:
    """Look up the weight of the relevant item at each rank, (n_users, n_ranks); else 0."""
    return judged.relevant * weighting.weights_of(judged.items, judged.catalogue)


def _total_weights(judged: Judged, *, weighting: Weighting) -> Floats:
    """Add up the weights of all relevant items of each user, of shape (n_users,)."""
    weights = weighting.weights_of(judged.judged_items, judged.catalogue)
    relevant = judged.judgements >= judged.relevance_level
    return np.where(relevant, weights, 0.0).sum(axis=1)
