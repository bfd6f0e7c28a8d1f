"""Weights of items and ranks: inverse propensities, discounts, and what an item is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Gt, Lt

from harness.metrics.shared.metric import ratio
from qrels import Catalogue, Judged
from runs import InputError
from runs.shared.arrays import Floats, Integers

Positive: TypeAlias = Annotated[float, Gt(0)]
Share: TypeAlias = Annotated[float, Gt(0), Lt(1)]
Beta: TypeAlias = Annotated[float, Ge(0)]
Propensity: TypeAlias = Literal["popularity", "table"]
Clip: TypeAlias = Annotated[float, Ge(0), Lt(1)]


@dataclass(frozen=True)
class Weighting:
    r"""Weights of items: the inverse of their chance to be observed.

    .. math:: w_i = 1 / \max(p_i, \mathrm{clip}), \qquad
        p_i = \left(\frac{\max(n_i, 1)}{\max_j n_j}\right)^\beta

    with :math:`n_i` the item's ratings in training; or p from a table.

    References
    ----------
    Steck (2010), Training and testing of recommender systems on data missing not at random; Yang
    et al. (2018), Unbiased offline recommender evaluation for missing-not-at-random implicit
    feedback, whose :math:`\gamma` makes :math:`\beta = (\gamma + 1) / 2`.
    """

    beta: float
    propensity: Propensity
    clip: float

    def of(self, items: Integers, catalogue: Catalogue) -> Floats:
        """Weigh items by number, of any shape: at least 1; 0 for no item, number -1."""
        return catalogue.once(self)[items]

    def __call__(self, catalogue: Catalogue) -> Floats:
        """Weigh every item, of shape (n_items + 1,): 0 at the end."""
        if self.propensity == "table":
            propensities = np.asarray(catalogue.require("propensities"), dtype=np.float64)
        else:
            counts = np.maximum(catalogue.require("popularity"), 1)
            propensities = (counts / counts.max(initial=1)) ** self.beta
        return np.append(1.0 / np.maximum(propensities, self.clip), 0.0)


def weighting_of(beta: float, propensity: Propensity, clip: float) -> Weighting | None:
    """Give the weights that options ask for; None if all items weigh alike."""
    if beta == 0 and propensity == "popularity":
        return None
    return Weighting(beta, propensity, clip)


Discount: TypeAlias = Literal["none", "log2"] | Share
Relevance: TypeAlias = Literal["none", "binary", "graded"]


def discounts(ranks: Integers, discount: Discount) -> Floats:
    """Say how likely a rank is looked at: 1, 1 / log2(k + 1), or p^(k - 1) for a number p."""
    if discount == "none":
        return np.ones(ranks.shape)
    if discount == "log2":
        return np.asarray(1.0 / np.log2(ranks + 1))
    return np.asarray(discount ** (ranks - 1.0))


def worth(judged: Judged, relevance: Relevance) -> Floats:
    """Say what the item at each rank is worth: 1, or less if it is not known to be relevant.

    ``graded`` is the probability that the item satisfies, as in ERR.
    """
    if relevance == "graded":
        return satisfaction(judged)
    return np.asarray(judged.relevant | (relevance == "none"), dtype=np.float64)


def satisfaction(judged: Judged, *, top: int | None = None) -> Floats:
    """Probability that the item at each rank satisfies, 0 where it is unjudged."""
    highest = judged.ideal_gains.max(axis=1, initial=0.0)
    if top and (highest > top).any():
        raise InputError(f"`top` is {top}, but the qrels hold the grade {highest.max():g}.")
    scale = 2.0 ** (np.full_like(highest, top) if top else highest)
    return np.asarray((2.0**judged.gains - 1) / scale[:, np.newaxis])


def browsed(judged: Judged, cutoff: int | None, discount: Discount) -> Floats:
    """Add the discounts of the ranks that a list holds down to a cut-off, of shape (n_users,)."""
    totals = np.append(0.0, np.cumsum(discounts(np.arange(1, judged.depth + 1), discount)))
    cutoff = judged.depth if cutoff is None else min(cutoff, judged.depth)
    return np.asarray(totals[np.minimum(judged.n_retrieved, cutoff)])


def mean_novelty(
    judged: Judged,
    novelty: Callable[..., Floats],
    *,
    cutoff: int | None,
    discount: Discount,
    relevance: Relevance,
) -> Floats:
    """Average the novelty of the listed items, by rank and relevance; 0 for an empty list.

    Novelty is that of every item, given the catalogue: (n_items + 1,), 0 at the end. The mean is
    over the discounts of the ranks, whatever is relevant.
    """
    options = {"novelty": novelty, "discount": discount, "relevance": relevance}
    found = judged.total(_discounted, cutoff=cutoff, **options)
    return ratio(found, browsed(judged, cutoff, discount))


def _discounted(
    judged: Judged, *, novelty: Callable[..., Floats], discount: Discount, relevance: Relevance
) -> Floats:
    of_items = judged.catalogue.once(novelty)[judged.items]
    return discounts(judged.ranks, discount) * worth(judged, relevance) * of_items
