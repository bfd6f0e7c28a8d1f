"""Hidden ranks of models whose scores are sums of similarities over the profile."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenItems, HiddenRanks
from recommenders.kernels.hidden.fixed_point import FixedPoint
from recommenders.kernels.hidden.hiding import Hiding
from runs import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHUNK_ROWS = 100_000
"""Hidden items in a chunk of users: about a quarter of a second."""

Ranks = NDArray[np.uint16]


def rank_hidden(
    similarity: csr_array[Any],
    test: Interactions,
    hiding: Hiding | None = None,
    *,
    n_jobs: int,
    chunk_rows: int = CHUNK_ROWS,
) -> HiddenRanks:
    r"""Rank the hidden items of test users, for item-kNN and any other model that only adds.

    .. math:: s_u(j) = \sum_{i \in M} S_{ij}, \quad
              \mathrm{rank}_u(h) = 1 + |\{ j : (s_u(j), -j) > (s_u(h), -h) \}|

    Leave one out sums the whole profile once, and takes the votes of the hidden item back from
    those that it votes for; leave last one out adds votes in the order of time. Scores are
    whole numbers of 2^-24. Row i of :math:`S`, of shape (n_items, n_items), holds the neighbours
    that item i votes for; the diagonal is ignored. The test users come with all their events, over
    the items of the model. Chunks of users, of about so many hidden items, are ranked in threads or
    in what `joblib.parallel_config` says; the result depends on neither.

    Raises
    ------
    InputError
        If similarities are of other items, not square, not finite, or too large for fixed
        point.

    References
    ----------
    Kasalický (2021), sections 1.2 and 2.2, for what is computed.

    Examples
    --------
    A user had items 0, 1 and 2 in this order; 1 and 2 are neighbours of 0, 2 the nearer:

    >>> from scipy.sparse import csr_array
    >>> from runs import Numbering
    >>> similarity = csr_array([[0, 0.25, 0.5], [0.25, 0, 0], [0.5, 0, 0]])
    >>> events = Interactions.of(
    ...     Numbering.of("u"), Numbering.of("abc"), user=[0] * 3, item=range(3), time=range(3)
    ... )
    >>> ranks = rank_hidden(similarity, events, n_jobs=1)
    >>> ranks.rank_loo.tolist(), ranks.rank_lloo.tolist()
    ([1, 1, 1], [65535, 2, 1])
    """
    hiding = hiding or Hiding()
    votes = FixedPoint.of(similarity, signed=hiding.reachable == "all")
    if votes.n_items != len(test.items):
        raise InputError(
            f"similarities must be of the {len(test.items):,} items of the test users, got "
            f"{votes.n_items:,}."
        )
    votes.require_room(int(test.distinct_item_counts().max(initial=0)))
    hidden = HiddenItems.of(test, repeats=hiding.repeats == "all")
    chunks = list(_chunks(hidden, chunk_rows))
    # Arrays by themselves, which joblib sends to a worker once.
    arrays = (votes.starts, votes.neighbours, votes.weights)
    tasks = (joblib.delayed(_rank_chunk)(chunk, *arrays, hiding) for chunk in chunks)
    ranked = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(tasks)
    nothing, never = np.empty(0, dtype=np.uint16), np.full(votes.n_items, MISS, dtype=np.uint16)
    loo, lloo, best = zip((nothing, nothing, never), *ranked, strict=True)
    return HiddenRanks(
        hidden,
        np.concatenate(loo),
        np.concatenate(lloo),
        hiding.deepest,
        np.minimum.reduce(best) if hiding.lists else None,
    )


class _Chunk(NamedTuple):
    """Columns of the hidden items of some users, as in `HiddenItems`."""

    first: NDArray[np.int64]
    item: NDArray[np.int32]
    time: NDArray[np.int64]
    is_first: NDArray[np.bool_]


def _chunks(hidden: HiddenItems, chunk_rows: int) -> list[_Chunk]:
    """Cut the rows between users, once at least so many are together."""
    limits = np.append(hidden.starts, len(hidden))
    wanted = np.arange(0, len(hidden), chunk_rows)
    cuts = np.unique(np.append(np.searchsorted(limits, wanted), len(limits) - 1))
    columns: tuple[NDArray[Any], ...] = (hidden.item, hidden.time, hidden.is_first)
    return [
        _Chunk(
            (limits[start : stop + 1] - limits[start]).astype(np.int64),
            *(column[limits[start] : limits[stop]] for column in columns),
        )
        for start, stop in pairwise(cuts)
    ]


def _rank_chunk(
    chunk: _Chunk,
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    weights: NDArray[np.int32],
    hiding: Hiding,
) -> tuple[Ranks, Ranks, Ranks]:
    """Rank the hidden items of some users both ways, and give the best rank of every item."""
    from recommenders.kernels.hidden.by_similarity_loop import (
        Rules,
        Votes,
        rank_in_time,
        rank_left_out,
    )

    votes = Votes(starts, neighbours, weights, FixedPoint(starts, neighbours, weights).bits)
    rules = Rules(hiding.exclude_seen, hiding.reachable == "all", hiding.deepest)
    of_profile, of_loo, of_lloo = (hiding.lists == name for name in ("profile", "loo", "lloo"))
    first = np.concatenate([[0], np.cumsum(chunk.is_first)])[chunk.first]
    items = chunk.item[chunk.is_first]
    loo, best_loo = rank_left_out(first, items, votes, rules, of_profile, of_loo)
    lloo, best_lloo = rank_in_time(chunk.first, chunk.item, chunk.time, votes, rules, of_lloo)
    return _repeated(loo, chunk), lloo, np.minimum(best_loo, best_lloo)


def _repeated(ranks: Ranks, chunk: _Chunk) -> Ranks:
    """Give every row the rank of the first row of its user and item."""
    if chunk.is_first.all():
        return ranks
    user = np.repeat(np.arange(len(chunk.first) - 1), np.diff(chunk.first))
    pairs = user * (int(chunk.item.max()) + 1) + chunk.item
    distinct, group = np.unique(pairs[chunk.is_first], return_inverse=True)
    of_distinct = np.empty(len(distinct), dtype=np.uint16)
    of_distinct[group] = ranks
    return of_distinct[np.searchsorted(distinct, pairs)]
