"""What a hidden rank is, spelled out: every profile summed anew. Slow, to test the others by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenItems, HiddenRanks
from recommenders.kernels.hidden_ranks import FRACTION_BITS, Hiding

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ranks = NDArray[np.uint16]


def rank_hidden_plainly(
    similarity: csr_array[Any] | NDArray[np.floating],
    test: Interactions,
    hiding: Hiding | None = None,
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
    hiding = hiding or Hiding()
    hidden = HiddenItems.of(test, repeats=hiding.repeats == "all")
    dense = similarity if isinstance(similarity, np.ndarray) else similarity.toarray()
    votes = np.rint(dense * 2.0**FRACTION_BITS).astype(np.int64)
    if hiding.reachable == "positive":
        votes = np.maximum(votes, 0)
    np.fill_diagonal(votes, 0)
    best = np.full(len(votes), MISS, dtype=np.uint16)
    rank_loo, rank_lloo = [], []
    for user in np.unique(hidden.user):
        mine = test.user == user
        items, times = test.item[mine], test.time[mine]
        if hiding.lists == "profile":
            _note(best, _ordered(votes, np.unique(items), hiding), hiding)
        for row in np.flatnonzero(hidden.user == user):
            item = hidden.item[row]
            others = _ordered(votes, np.setdiff1d(items, item), hiding)
            rank_loo.append(_place(others, item, deepest=MISS - 1))
            earlier = _ordered(votes, np.unique(items[times < hidden.time[row]]), hiding)
            rank_lloo.append(_place(earlier, item, deepest=hiding.deepest))
            if hiding.lists in ("loo", "lloo"):
                _note(best, others if hiding.lists == "loo" else earlier, hiding)
    return HiddenRanks(
        hidden,
        np.array(rank_loo, dtype=np.uint16),
        np.array(rank_lloo, dtype=np.uint16),
        hiding.deepest,
        best if hiding.lists else None,
    )


def _ordered(
    votes: NDArray[np.int64], profile: NDArray[np.integer], hiding: Hiding
) -> NDArray[np.intp]:
    """List all that is recommended from a profile, in order."""
    scores = votes[profile].sum(axis=0)
    candidate = scores > 0 if hiding.reachable == "positive" else np.full(len(votes), len(profile))
    candidate = candidate.astype(np.bool_)
    if hiding.exclude_seen:
        candidate[profile] = False
    order = np.argsort(-scores, kind="stable")
    return order[candidate[order]]


def _place(ordered: NDArray[np.intp], item: int, *, deepest: int) -> int:
    """Give the rank of an item, from 1."""
    places = np.flatnonzero(ordered == item) + 1
    return int(places[0]) if len(places) and places[0] <= deepest else MISS


def _note(best: Ranks, ordered: NDArray[np.intp], hiding: Hiding) -> None:
    """Note the ranks of a list where they are better than before."""
    listed = ordered[: hiding.deepest]
    best[listed] = np.minimum(best[listed], np.arange(1, len(listed) + 1))
