"""Weights of items and ranks: inverse propensities, discounts, and weights of relevance."""

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

    with :math:`n_i` the item's ratings in training, if ``propensity`` is "popularity"; p is from a
    table of the catalogue if it is "table".

    References
    ----------
    Steck (2010), Training and testing of recommender systems on data missing not at random; Yang
    et al. (2018), Unbiased offline recommender evaluation for missing-not-at-random implicit
    feedback, whose :math:`\gamma` makes :math:`\beta = (\gamma + 1) / 2`.
    """

    beta: float
    propensity: Propensity
    clip: float

    def weights_of(self, items: Integers, catalogue: Catalogue) -> Floats:
        """Look up the weights of item numbers, of any shape: at least 1; 0 for number -1."""
        return catalogue.once(self)[items]

    def __call__(self, catalogue: Catalogue) -> Floats:
        """Compute the weights of all items, of shape (n_items + 1,): 0 at the end, for item -1.

        A weight is 1 / max(propensity, ``self.clip``). Propensities are those of the catalogue if
        ``self.propensity`` is "table", else the number of training ratings, at least 1, over the
        highest one, to the power of ``self.beta``. Raises InputError if the catalogue does not have
        these numbers.
        """
        if self.propensity == "table":
            propensities = np.asarray(catalogue.require("propensities"), dtype=np.float64)
        else:
            counts = np.maximum(catalogue.require("popularity"), 1)
            propensities = (counts / counts.max(initial=1)) ** self.beta
        return np.append(1.0 / np.maximum(propensities, self.clip), 0.0)


def weighting_of(beta: float, propensity: Propensity, clip: float) -> Weighting | None:
    """Make the inverse propensities that three options of a metric define.

    None if all items have the same weight: with propensities of popularity to the power 0.
    """
    if beta == 0 and propensity == "popularity":
        return None
    return Weighting(beta, propensity, clip)


Discount: TypeAlias = Literal["none", "log2"] | Share
Relevance: TypeAlias = Literal["none", "binary", "graded"]


def rank_discounts(ranks: Integers, discount: Discount) -> Floats:
    """Compute the discounts of ranks k, from 1, of any shape.

    They are 1 for "none", 1 / log2(k + 1) for "log2", and p^(k - 1) for a number p.
    """
    if discount == "none":
        return np.ones(ranks.shape)
    if discount == "log2":
        return np.asarray(1.0 / np.log2(ranks + 1))
    return np.asarray(discount ** (ranks - 1.0))


def relevance_weights(judged: Judged, relevance: Relevance) -> Floats:
    """Compute the weight of the item at each rank by its relevance, (n_users, n_ranks).

    It is 1 for every item ("none"); 1 for a relevant item, else 0 ("binary"); or the probability
    that the item satisfies the user, as in ERR ("graded").
    """
    if relevance == "graded":
        return satisfaction(judged)
    if relevance == "none":
        return np.ones(judged.relevant.shape)
    return judged.relevant.astype(np.float64)


def satisfaction(judged: Judged, *, top: int | None = None) -> Floats:
    """Compute the probability that the item at each rank satisfies the user, (n_users, n_ranks).

    It is (2^grade - 1) / 2^top, and 0 where the item is unjudged. Without ``top``, it is the user's
    highest grade. Raises InputError if the qrels hold a grade above ``top``.
    """
    highest_grades = judged.ideal_gains.max(axis=1, initial=0.0)
    if top is not None and (highest_grades > top).any():
        highest = highest_grades.max()
        raise InputError(f"`top` is {top}, but the qrels hold the grade {highest:g}.")
    scale_tops = highest_grades if top is None else np.full_like(highest_grades, top)
    scales = 2.0 ** scale_tops[:, np.newaxis]
    return np.asarray((2.0**judged.gains - 1) / scales)


def sum_of_discounts(judged: Judged, cutoff: int | None, discount: Discount) -> Floats:
    """Add up the discounts of the ranks that a list holds down to a cut-off, of shape (n_users,).

    Without a cut-off all ranks of the list count; an empty list has 0.
    """
    ranks = np.arange(1, judged.depth + 1)
    sums = np.append(0.0, np.cumsum(rank_discounts(ranks, discount)))
    deepest = judged.depth if cutoff is None else min(cutoff, judged.depth)
    return np.asarray(sums[np.minimum(judged.n_retrieved, deepest)])


def mean_novelty(
    judged: Judged,
    novelty: Callable[..., Floats],
    *,
    cutoff: int | None,
    discount: Discount,
    relevance: Relevance,
) -> Floats:
    """Average the novelty of the listed items, weighted by rank and relevance, (n_users,).

    ``novelty`` computes the values of all items from the catalogue: (n_items + 1,), 0 at the end.
    The weighted sum down to the cut-off is divided by the sum of the discounts, whatever is
    relevant; 0 for an empty list.
    """
    total = judged.total(
        _weighted_novelty,
        cutoff=cutoff,
        novelty=novelty,
        discount=discount,
        relevance=relevance,
    )
    return ratio(total, sum_of_discounts(judged, cutoff, discount))


def _weighted_novelty(
    judged: Judged, *, novelty: Callable[..., Floats], discount: Discount, relevance: Relevance
) -> Floats:
    """Multiply the novelty of the item at each rank by the weights of its rank and relevance.

    ``novelty`` computes that of all items from the catalogue. Of shape (n_users, n_ranks).
    """
    item_values = judged.catalogue.once(novelty)[judged.items]
    weights = rank_discounts(judged.ranks, discount) * relevance_weights(judged, relevance)
    return weights * item_values
