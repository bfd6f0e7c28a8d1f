"""Calibration: how far a list is from the categories that the user rated."""

import math

import numpy as np

from harness.metrics.shared.features import categories
from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import Discount, Share, discounts
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
    """
    wanted = judged.catalogue.once(_of_profiles)[judged.users]
    none = _divergence(wanted, np.zeros_like(wanted), alpha)
    diverging = judged.once(_so_far, alpha=alpha, discount=discount)
    return np.where(judged.n_retrieved > 0, judged.down_to(cutoff, diverging), none)


def _so_far(judged: Judged, *, alpha: float, discount: Discount) -> Floats:
    """Compare what the list holds down to each rank with the profile, (n_users, n_ranks)."""
    shares = judged.catalogue.once(_of_items)
    wanted = judged.catalogue.once(_of_profiles)[judged.users]
    looked_at = np.broadcast_to(discounts(judged.ranks, discount), judged.grades.shape)
    listed = np.zeros(wanted.shape)
    found = np.zeros(judged.grades.shape)
    for column, items in enumerate(judged.items.T):
        listed += looked_at[:, column, np.newaxis] * shares[items]
        found[:, column] = _divergence(wanted, listed, alpha)
    return found


def _divergence(wanted: Floats, listed: Floats, alpha: float) -> Floats:
    """Compare distributions with sums of distributions, each of shape (n_users, n_categories)."""
    from scipy.special import rel_entr

    mixed = (1 - alpha) * _normalised(listed) + alpha * wanted
    return np.maximum(rel_entr(wanted, mixed).sum(axis=1), 0.0)


def _of_items(catalogue: Catalogue) -> Floats:
    """Distribution of each item over its categories; 0 where there is none, and at the end."""
    return _normalised(catalogue.once(categories))


def _of_profiles(catalogue: Catalogue) -> Floats:
    """Distribution over categories of what each user rated; 0 where there is none."""
    from scipy.sparse import csr_array

    profiles = catalogue.require("profiles")
    ones = np.ones(profiles.nnz)
    rated = csr_array((ones, profiles.indices, profiles.indptr), shape=profiles.shape)
    return _normalised(rated @ catalogue.once(_of_items)[:-1])


def _normalised(values: Floats) -> Floats:
    """Let rows sum to 1; rows of 0 stay."""
    totals = values.sum(axis=1, keepdims=True)
    return np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
