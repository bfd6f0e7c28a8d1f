"""Ranks of hidden items by models whose scores are sums of similarities over the profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import joblib
import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenItems, HiddenRanks, Ranks
from recommenders.shared.scorers import row_of_entry
from runs import InputError
from runs.shared.errors import require_choice

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Repeats: TypeAlias = Literal["first", "all"]
Reachable: TypeAlias = Literal["positive", "all"]
Lists: TypeAlias = Literal["profile", "loo", "lloo"]

FRACTION_BITS = 24
"""Bits after the point: the step of similarities is 6e-8."""

LARGEST = 2.0 ** (31 - FRACTION_BITS)
"""Similarities must be smaller, to fit four bytes."""

CHUNK_ROWS = 100_000
"""Hidden items in a chunk of users: about a quarter of a second."""


@dataclass(frozen=True)
class Hiding:
    """How items are hidden and ranked; the defaults are those of the reference.

    ``repeats``: whether only the first event of a user and an item is hidden under leave last one
    out, or all; ``exclude_seen``: whether the items of the profile, which a model is shown, are no
    candidates; ``reachable``: whether an item is recommended only with a score above 0, or any,
    which is for models whose scores may be negative. With nothing to recommend from, every item is
    a miss; ``deepest``: deepest rank that is kept under leave last one out, and looked at for
    coverage; ``lists``: which lists coverage is about: one for each user from the whole profile, or
    those of either measurement. None, and its cost, by default.

    References
    ----------
    Kasalický (2021), (1.30), (1.31), (2.1) and (2.2), which leave these choices open.
    """

    repeats: Repeats = "first"
    exclude_seen: bool = True
    reachable: Reachable = "positive"
    deepest: int = 50
    lists: Lists | None = None

    def __post_init__(self) -> None:
        require_choice("repeats", self.repeats, get_args(Repeats))
        require_choice("reachable", self.reachable, get_args(Reachable))
        if self.lists is not None:
            require_choice("lists", self.lists, get_args(Lists))
        if self.repeats == "all" and self.exclude_seen:
            raise InputError(
                "`repeats` 'all' hides items that are still in the profile; with `exclude_seen` "
                "they are no candidates and can never be hit. Use 'first', or do not exclude."
            )
        if not 1 <= self.deepest < MISS:
            raise InputError(f"`deepest` must be from 1 to {MISS - 1}, got {self.deepest}.")


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A sparse matrix of similarities in steps of 2^-24, without its diagonal.

    Row i, whose entries begin at ``starts[i]``, of shape (n_items + 1,), holds the items for which
    item i votes, and how much: the similarity times 2^24, not 0, both of shape (n_entries,). The
    key of an item is ``(score << bits) + 2^bits - 1 - item``: keys order by falling score, then by
    item number, and no two are equal.
    """

    starts: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    weights: NDArray[np.int32]

    @classmethod
    def of(cls, similarity: csr_array[Any], *, signed: bool) -> FixedPoint:
        """Round similarities to fixed point; the negative become 0 unless ``signed``."""
        n_rows, n_columns = similarity.shape
        if n_rows != n_columns:
            raise InputError(
                f"similarities must be a square matrix, got one of {n_rows} by {n_columns}."
            )
        values = np.asarray(similarity.data, dtype=np.float64)
        largest = float(np.abs(values).max(initial=0.0))
        if not largest < LARGEST - 1:
            raise InputError(
                f"similarities must be finite and below {LARGEST - 1:g} in size, got {largest:g}; "
                "divide all of them by one number, which changes no rank."
            )
        rows = row_of_entry(similarity)
        weights = np.rint(values * 2.0**FRACTION_BITS).astype(np.int32)
        if not signed:
            weights = np.maximum(weights, 0)
        kept = (weights != 0) & (similarity.indices != rows)
        starts = np.searchsorted(rows[kept], np.arange(n_rows + 1))
        return cls(
            starts.astype(np.int64), similarity.indices[kept].astype(np.int32), weights[kept]
        )

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1

    @property
    def bits(self) -> int:
        """Bits of a key that hold the item."""
        return max(self.n_items - 1, 1).bit_length()

    def require_room(self, longest_profile: int) -> None:
        """Refuse profiles whose scores may not fit a key of 63 bits, with room for a sign."""
        largest = int(np.abs(self.weights.astype(np.int64)).max(initial=0)) * longest_profile
        if largest.bit_length() + self.bits > 61:
            raise InputError(
                f"the sum of {longest_profile:,} similarities among {self.n_items:,} items does "
                "not fit a key of 63 bits; leave out users with the longest profiles."
            )


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

    References
    ----------
    Kasalický (2021), sections 1.2 and 2.2, for what is computed.
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
    # Arrays by themselves, which joblib sends to a worker once.
    arrays = (votes.starts, votes.neighbours, votes.weights)
    tasks = (
        joblib.delayed(_rank_chunk)(chunk, *arrays, hiding) for chunk in _chunks(hidden, chunk_rows)
    )
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


_Chunk: TypeAlias = tuple[
    NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]
]
"""First rows of some users, and their hidden items: item, time and is_first of `HiddenItems`."""


def _chunks(hidden: HiddenItems, chunk_rows: int) -> Iterator[_Chunk]:
    """Cut the rows between users, once at least so many are together."""
    limits = np.append(hidden.starts, len(hidden))
    wanted = np.searchsorted(limits, np.arange(0, len(hidden), chunk_rows))
    for start, stop in pairwise(np.unique(np.append(wanted, len(limits) - 1))):
        rows = slice(limits[start], limits[stop])
        first = (limits[start : stop + 1] - limits[start]).astype(np.int64)
        yield first, hidden.item[rows], hidden.time[rows], hidden.is_first[rows]


def _rank_chunk(
    chunk: _Chunk,
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    weights: NDArray[np.int32],
    hiding: Hiding,
) -> tuple[Ranks, Ranks, Ranks]:
    """Rank the hidden items of some users both ways, and give the best rank of every item."""
    from recommenders.kernels.hidden_ranks_loop import Rules, Votes, rank_in_time, rank_left_out

    votes = Votes(starts, neighbours, weights, FixedPoint(starts, neighbours, weights).bits)
    rules = Rules(hiding.exclude_seen, hiding.reachable == "all", hiding.deepest)
    of_profile, of_loo, of_lloo = (hiding.lists == name for name in ("profile", "loo", "lloo"))
    first, item, time, is_first = chunk
    first_kept = np.concatenate([[0], np.cumsum(is_first)])[first]
    loo, best_loo = rank_left_out(first_kept, item[is_first], votes, rules, of_profile, of_loo)
    lloo, best_lloo = rank_in_time(first, item, time, votes, rules, of_lloo)
    if not is_first.all():
        # Every row has the rank of the first row of its user and item.
        user = np.repeat(np.arange(len(first) - 1), np.diff(first))
        pairs = user * (int(item.max()) + 1) + item
        distinct, group = np.unique(pairs[is_first], return_inverse=True)
        of_distinct = np.empty(len(distinct), dtype=np.uint16)
        of_distinct[group] = loo
        loo = of_distinct[np.searchsorted(distinct, pairs)]
    return loo, lloo, np.minimum(best_loo, best_lloo)
