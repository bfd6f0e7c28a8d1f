"""How far a user looks down a list, and what an item is worth: options of novelty and diversity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray

from harness.metrics.shared.metric import ratio
from qrels import Judged
from runs import InputError

Discount: TypeAlias = Literal["none", "log2"] | Annotated[float, Gt(0), Lt(1)]
Relevance: TypeAlias = Literal["none", "binary", "graded"]


def discounts(ranks: NDArray[np.integer], discount: Discount) -> NDArray[np.float64]:
    """Say how likely a rank is looked at: 1, 1 / log2(k + 1), or p^(k - 1) for a number p.

    Examples
    --------
    >>> discounts(np.array([1, 3]), "log2"), discounts(np.array([1, 3]), 0.5)
    (array([1. , 0.5]), array([1.  , 0.25]))
    """
    if discount == "none":
        return np.ones(ranks.shape)
    if discount == "log2":
        return np.asarray(1.0 / np.log2(ranks + 1))
    return np.asarray(discount ** (ranks - 1.0))


def worth(judged: Judged, relevance: Relevance) -> NDArray[np.float64]:
    """Say what the item at each rank is worth: 1, or less if it is not known to be relevant.

    ``graded`` is the probability that the item satisfies, as in ERR.
    """
    if relevance == "graded":
        return satisfaction(judged)
    return np.asarray(judged.relevant | (relevance == "none"), dtype=np.float64)


def satisfaction(judged: Judged, *, top: int | None = None) -> NDArray[np.float64]:
    """Probability that the item at each rank satisfies, 0 where it is unjudged."""
    highest = judged.ideal_gains.max(axis=1, initial=0.0)
    if top and (highest > top).any():
        raise InputError(f"`top` is {top}, but the qrels hold the grade {highest.max():g}.")
    scale = 2.0 ** (np.full_like(highest, top) if top else highest)
    return np.asarray((2.0**judged.gains - 1) / scale[:, np.newaxis])


def browsed(judged: Judged, cutoff: int | None, discount: Discount) -> NDArray[np.float64]:
    """Add the discounts of the ranks that a list holds down to a cut-off, of shape (n_users,)."""
    totals = np.append(0.0, np.cumsum(discounts(np.arange(1, judged.depth + 1), discount)))
    cutoff = judged.depth if cutoff is None else min(cutoff, judged.depth)
    return np.asarray(totals[np.minimum(judged.n_retrieved, cutoff)])


def mean_novelty(
    judged: Judged,
    novelty: Callable[..., NDArray[np.float64]],
    *,
    cutoff: int | None,
    discount: Discount,
    relevance: Relevance,
) -> NDArray[np.float64]:
    """Average what the listed items are, by rank and relevance.

    Parameters
    ----------
    judged, cutoff
        Judged ranked lists, and the ranks considered.
    novelty
        Given the catalogue, the novelty of every item, of shape (n_items + 1,), 0 at the end.
    discount, relevance
        Weights of the ranks; the mean is over their discounts, whatever is relevant.

    Returns
    -------
    Means of shape (n_users,), 0 for an empty list.
    """
    options = {"novelty": novelty, "discount": discount, "relevance": relevance}
    return ratio(
        judged.total(_discounted, cutoff=cutoff, **options), browsed(judged, cutoff, discount)
    )


def _discounted(
    judged: Judged,
    *,
    novelty: Callable[..., NDArray[np.float64]],
    discount: Discount,
    relevance: Relevance,
) -> NDArray[np.float64]:
    of_items = judged.catalogue.once(novelty)[judged.items]
    return discounts(judged.ranks, discount) * worth(judged, relevance) * of_items
