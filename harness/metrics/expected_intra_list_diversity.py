"""EILD: expected intra-list diversity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.metrics.shared.browsing import Discount, Relevance, browsed, discounts, worth
from harness.metrics.shared.features import alike, directions
from harness.metrics.shared.metric import metric, ratio
from qrels import Judged

CELLS_AT_ONCE = 1 << 18
"""Pairs of items, of so many users as fit, that are compared at once: 2 MB."""


@metric(
    "EILD",
    source="Vargas & Castells (2011), Rank and relevance in novelty and diversity metrics for "
    "recommender systems",
    aliases=("expected intra-list distance",),
    high=2.0,
)
def expected_intra_list_diversity(
    judged: Judged,
    *,
    cutoff: int | None = None,
    discount: Discount = "log2",
    relevance: Relevance = "binary",
) -> NDArray[np.float64]:
    r"""Mean distance between items of the first ranks that are looked at and relevant.

    .. math::
        \mathrm{EILD}@n = \frac{1}{\sum_{k \le \min(n, K)} d_k} \sum_{k \le n} d_k \, \rho_k
        \frac{\sum_{l \le n, l \ne k} d_{l|k} \, \rho_l \, (1 - \cos(f_{i(k)}, f_{i(l)}))}
        {\sum_{l \le n, l \ne k} d_{l|k} \, \rho_l}, \qquad d_{l|k} = d_{\max(1, l - k)}

    :math:`d_k` is the discount of rank k and :math:`\rho_k` what the item is worth; f are the
    features of items, and K is the length of the list.

    Parameters
    ----------
    judged
        Judged ranked lists.
    cutoff
        Ranks considered, n; all of them by default.
    discount
        ``none``: 1. ``log2``: 1 / log2(k + 1). A number p: p^(k - 1).
    relevance
        ``none``: every item is worth 1. ``binary``: relevant ones alone. ``graded``: the
        probability that it satisfies, as in ERR.

    Returns
    -------
    Values in [0, 2], of shape (n_users,); in [0, 1] where no feature is negative, as with
    categories. 0 where fewer than two items are worth anything.

    Notes
    -----
    As RankSys computes it (``EILD``), but for items of which nothing is known: here they are at
    distance 1 from every other, there they are left out. Without discount and relevance it is ILD.
    One relevant item more of the same kind can lower it: accuracy and diversity are one number
    here.

    Examples
    --------
    Without discount the two relevant items, of different features, are each at distance 1 of the
    other, and the third earns nothing: 2 / 3.

    >>> from qrels import Catalogue
    >>> from qrels.catalogue import ItemsSeen
    >>> catalogue = Catalogue(3, features=np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]))
    >>> items = ItemsSeen(catalogue, np.array([0]), np.array([[0], [1], [2]]), np.array([[0]]))
    >>> judged = Judged(np.array([[1.0, 0.0, 1.0]]), np.ones((1, 2))).with_items(lambda: items)
    >>> expected_intra_list_diversity(judged, discount="none").round(4)
    array([0.6667])
    """
    options = {"discount": discount, "relevance": relevance}
    found = judged.down_to(cutoff, judged.once(_so_far, **options))
    return ratio(found, browsed(judged, cutoff, discount))


def _so_far(judged: Judged, *, discount: Discount, relevance: Relevance) -> NDArray[np.float64]:
    """Add the weighted mean distances of the items down to each rank, (n_users, n_ranks)."""
    known, items = judged.catalogue.once(directions), judged.items
    ranks = np.broadcast_to(judged.ranks, items.shape)
    values = np.where(items >= 0, worth(judged, relevance), 0.0)
    counts = np.count_nonzero(values, axis=1)
    found = np.zeros((judged.n_users, int(counts.max(initial=0)) + 1))
    for count, users in alike(counts, cells=CELLS_AT_ONCE):
        cells = users[:, np.newaxis], np.nonzero(values[users])[1].reshape(-1, count)
        of_users = _of_users(known[items[cells]], ranks[cells], values[cells], discount)
        found[users, 1 : count + 1] = of_users
    return np.take_along_axis(found, np.cumsum(values > 0, axis=1), axis=1)


def _of_users(
    features: NDArray[np.float64],
    ranks: NDArray[np.integer],
    values: NDArray[np.float64],
    discount: Discount,
) -> NDArray[np.float64]:
    """Do so down to each item that is worth something; pairs are (n_users, item k, item l)."""
    distances = 1 - features @ features.swapaxes(1, 2)
    apart = np.maximum(ranks[:, np.newaxis] - ranks[:, :, np.newaxis], 1)
    weights = discounts(apart, discount) * values[:, np.newaxis]
    weights *= 1 - np.eye(ranks.shape[1])
    weighed = np.cumsum(weights, axis=2)
    sums = np.cumsum(weights * distances, axis=2)
    means = np.divide(sums, weighed, out=np.zeros_like(sums), where=weighed > 0)
    earned = (discounts(ranks, discount) * values)[:, :, np.newaxis] * np.triu(means)
    return np.asarray(earned.sum(axis=1))
