"""Calibration: how far a list is from the categories that the user rated."""

import math

import numpy as np

from harness.metrics.shared.features import categories
from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import Discount, Share, rank_discounts
from qrels import Catalogue, Judged
from runs.shared.arrays import Floats


@metric(
    "Calibration",
    source="Steck (2018), Calibrated recommendations",
    aliases=("miscalibration", "KL", "MC_KL"),
    high=math.inf,
    higher_is_better=False,
    has_level=False,
)
def calibration(
    judged: Judged, *, cutoff: int | None = None, alpha: Share = 0.01, discount: Discount = "none"
) -> Floats:
    r"""Kullback-Leibler divergence of the list's categories from those that the user rated.

    .. math::
        \mathrm{KL}(p \,\|\, \tilde q) = \sum_c p_c \ln \frac{p_c}{\tilde q_c}, \qquad
        \tilde q = (1 - \alpha) q + \alpha p

    An item with several categories belongs to each in equal shares. p is the mean of these shares
    over the items that the user rated in training; q is their mean over the first n ranks, weighted
    by the discounts of the ranks. Items without a category are left out of both. Values in
    [0, -ln(alpha)]: highest for an empty list, 0 for a user without rated items that have a
    category.

    Parameters
    ----------
    alpha
        Weight of p in the mixture with q, which gives every category a share above 0.
    discount
        ``none``: 1. ``log2``: 1 / log2(k + 1). A number p: p^(k - 1).

    Notes
    -----
    The judgements are not used. Steck allows weights for the user's ratings; here all ratings,
    including low ones, have the same weight.

    Examples
    --------
    The user rated an item of each category; two of three listed items are of the first one:

    >>> from scipy.sparse import csr_array
    >>> from qrels import Catalogue, judge, qrels_from_columns
    >>> from runs import Run
    >>> judged = judge(
    ...     Run("a", np.array([[0, 1, 2]], dtype=np.int32)),
    ...     qrels_from_columns(
    ...         np.array([0, 0]), np.array([0, 2]), np.array([1, 1]), n_users=1, relevance_level=1
    ...     ),
    ...     Catalogue(
    ...         3,
    ...         features=np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    ...         profiles=csr_array(np.array([[5.0, 0.0, 3.0]])),
    ...     ),
    ... )
    >>> calibration(judged, cutoff=3).round(4)
    array([0.0576])
    """
    profiles = judged.catalogue.once(_profile_distributions)[judged.users]
    of_empty_lists = _divergence(profiles, np.zeros_like(profiles), alpha)
    # Of the list down to each rank, (n_users, n_ranks).
    divergences = judged.once(_divergences_at_ranks, alpha=alpha, discount=discount)
    return np.where(judged.n_retrieved > 0, judged.down_to(cutoff, divergences), of_empty_lists)


def _divergences_at_ranks(judged: Judged, *, alpha: float, discount: Discount) -> Floats:
    r"""Compute the divergence of the categories of the list, down to each rank, from the profile.

    It is :math:`\mathrm{KL}(p \| (1 - \alpha) q + \alpha p)`, of shape (n_users, n_ranks), with the
    distribution p of the categories of the items that the user rated in training, and q of those
    down to the rank, weighted by the discounts of the ranks.
    """
    # Of each item, and 0 in the last row, of item number -1.
    item_shares = judged.catalogue.once(_item_distributions)
    profiles = judged.catalogue.once(_profile_distributions)[judged.users]
    discounts = np.broadcast_to(rank_discounts(judged.ranks, discount), judged.grades.shape)
    list_sums = np.zeros(profiles.shape)
    divergences = np.zeros(judged.grades.shape)
    for column, items in enumerate(judged.items.T):
        column_discounts = discounts[:, column, np.newaxis]
        list_sums += column_discounts * item_shares[items]
        divergences[:, column] = _divergence(profiles, list_sums, alpha)
    return divergences


def _divergence(profiles: Floats, list_sums: Floats, alpha: float) -> Floats:
    """Compute the Kullback-Leibler divergence of lists from profiles, of shape (n_users,).

    Profiles, (n_users, n_categories), are distributions over categories, or 0; ``list_sums``, of
    the same shape, are weighted sums of the distributions of items. ``alpha`` is the weight of the
    profile in the mixture with the list.
    """
    from scipy.special import rel_entr

    mixtures = (1 - alpha) * _normalised(list_sums) + alpha * profiles
    return np.maximum(rel_entr(profiles, mixtures).sum(axis=1), 0.0)


def _item_distributions(catalogue: Catalogue) -> Floats:
    """Distribute each item over its categories in equal shares, (n_items + 1, n_categories).

    0 for an item without a category, and at the end, for no item.
    """
    return _normalised(catalogue.once(categories))


def _profile_distributions(catalogue: Catalogue) -> Floats:
    """Average the distributions of the items that each user rated, (n_users, n_categories).

    0 for a user without rated items that have a category.
    """
    from scipy.sparse import csr_array

    profiles = catalogue.require("profiles")
    ones = np.ones(profiles.nnz)
    rated = csr_array((ones, profiles.indices, profiles.indptr), shape=profiles.shape)
    # Without the last row, of no item.
    item_shares = catalogue.once(_item_distributions)[:-1]
    return _normalised(rated @ item_shares)


def _normalised(values: Floats) -> Floats:
    """Divide each row of a matrix by its sum; rows of 0 stay."""
    totals = values.sum(axis=1, keepdims=True)
    return np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
