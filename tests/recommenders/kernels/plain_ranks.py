"""What a hidden rank is, spelled out: every profile summed anew. Slow, to test the others by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenRanks
from recommenders.kernels.hidden_ranks import FRACTION_BITS

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def rank_hidden_plainly(
    similarity: csr_array[Any] | NDArray[np.floating], test: Interactions, *, deepest: int = 50
) -> HiddenRanks:
    """Rank hidden items one at a time; see `recommenders.kernels.hidden_ranks.rank_hidden`.

    Examples
    --------
    A user had items 0 and 1. From 0 alone item 1 ties with 2; from 1 alone 0 is ahead:

    >>> from runs import Numbering
    >>> similarity = np.array([[0, 0.5, 0.5], [0.5, 0, 0.25], [0.5, 0.25, 0]])
    >>> events = Interactions.of(
    ...     Numbering.of("u"), Numbering.of("abc"), user=[0, 0], item=[0, 1], time=[1, 2]
    ... )
    >>> ranks = rank_hidden_plainly(similarity, events)
    >>> ranks.rank_loo.tolist(), ranks.rank_lloo.tolist()
    ([1, 1], [65535, 1])
    """
    hidden = test.select(test.is_first)
    dense = similarity if isinstance(similarity, np.ndarray) else similarity.toarray()
    votes = np.maximum(np.rint(dense * 2.0**FRACTION_BITS).astype(np.int64), 0)
    np.fill_diagonal(votes, 0)
    rank_loo, rank_lloo = [], []
    for user, item, time in zip(hidden.user, hidden.item, hidden.time, strict=True):
        items, times = test.item[test.user == user], test.time[test.user == user]
        rank_loo.append(_place(votes, np.setdiff1d(items, item), item, deepest=MISS - 1))
        rank_lloo.append(_place(votes, np.unique(items[times < time]), item, deepest=deepest))
    loo, lloo = (np.array(ranks, dtype=np.uint16) for ranks in (rank_loo, rank_lloo))
    return HiddenRanks(hidden, loo, lloo, deepest)


def _place(
    votes: NDArray[np.int64], profile: NDArray[np.integer], item: int, *, deepest: int
) -> int:
    """Give the rank of an item, from 1, among all that is recommended from a profile."""
    scores = votes[profile].sum(axis=0)
    order = np.argsort(-scores, kind="stable")
    places = np.flatnonzero(order[(scores > 0)[order] & ~np.isin(order, profile)] == item) + 1
    return int(places[0]) if len(places) and places[0] <= deepest else MISS
