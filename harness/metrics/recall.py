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
    r"""Share of the user's relevant items that are in the first ranks; 0 if there is none.

    .. math:: \mathrm{Recall}@n = r_n / R

    With weights :math:`w_i` of items, which make up for unequal chances of being observed:

    .. math:: \mathrm{Recall}(\beta)@n = \frac{\sum_{k \le n} \mathrm{rel}(k) \, w_{i(k)}}
        {\sum_{i \text{ relevant}} w_i}, \qquad w_i = \max(n_i, 1)^{-\beta}

    where :math:`n_i` counts the item's ratings in training. Values in [0, 1].

    Parameters
    ----------
    beta
        Exponent of popularity in the weights, at least 0.
    propensity
        ``popularity``: weights as above. ``table``: 1 over the propensities of [items].
    clip
        Lowest propensity that counts, that of the most popular item being 1.

    Notes
    -----
    Divided by R, as in trec_eval (``m_recall.c``); LensKit divides by min(n, R).

    ``beta`` makes it the popularity-stratified recall of Steck (2010, 2011), and the
    self-normalised estimate of Yang et al. (2018), with :math:`\beta = (\gamma + 1) / 2`. Weights
    make up for what depends on the item alone: where liking decides within an item what is
    observed, they do not. Items without training ratings count as having one.

    Examples
    --------
    One of two relevant items found; then a user without relevant items:

    >>> lists = np.array([[1.0, np.nan], [0.0, np.nan]])
    >>> recall(Judged(lists, np.array([[1.0, 1.0], [0.0, np.nan]])))
    array([0.5, 0. ])
    """
    weighting = weighting_of(beta, propensity, clip)
    if weighting is None:
        return ratio(judged.hits(cutoff), judged.n_relevant)
    found = judged.total(_weights, cutoff=cutoff, weighting=weighting)
    return ratio(found, judged.once_for_all(_all_weights, weighting=weighting))


def _weights(judged: Judged, *, weighting: Weighting) -> Floats:
    """Weight of the item at every rank that holds a relevant one, 0 at the others."""
    return judged.relevant * weighting.of(judged.items, judged.catalogue)


def _all_weights(judged: Judged, *, weighting: Weighting) -> Floats:
    """Weight of all relevant items of each user."""
    weights = weighting.of(judged.judged_items, judged.catalogue)
    return np.where(judged.judgements >= judged.relevance_level, weights, 0.0).sum(axis=1)
