"""Ranks of hidden items by models whose scores are sums of similarities over the profile."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import HiddenRanks, Ranks
from recommenders.shared.scorers import row_of_entry
from runs import InputError
from runs.shared.arrays import Ints, Longs, Sparse
from runs.shared.parallel import delayed, run_in_threads

DEEPEST = 50
"""Deepest rank that is kept under leave last one out, if nothing else is said."""

FRACTION_BITS = 24
"""Bits after the point: the step of similarities is 6e-8."""

LARGEST = 2.0 ** (31 - FRACTION_BITS)
"""Similarities must be smaller, to fit four bytes."""

CHUNK_ROWS = 100_000
"""Hidden items in a chunk of users: about a quarter of a second."""


class FixedPoint(NamedTuple):
    """A sparse matrix of similarities in steps of 2^-24, without its diagonal.

    Row i, whose entries begin at ``starts[i]``, of shape (n_items + 1,), holds the items for which
    item i votes, and how much: the similarity times 2^24, above 0, both of shape (n_entries,). The
    key of an item is ``(score << bits) + 2^bits - 1 - item``: keys order by falling score, then by
    item number, and no two are equal.
    """

    starts: Longs
    neighbours: Ints
    weights: Ints
    bits: int

    @classmethod
    def of(cls, similarity: Sparse) -> FixedPoint:
        """Round similarities to fixed point; the negative become 0."""
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
        weights = np.maximum(np.rint(values * 2.0**FRACTION_BITS), 0).astype(np.int32)
        kept = (weights > 0) & (similarity.indices != rows)
        starts = np.searchsorted(rows[kept], np.arange(n_rows + 1)).astype(np.int64)
        bits = max(n_rows - 1, 1).bit_length()
        return cls(starts, similarity.indices[kept].astype(np.int32), weights[kept], bits)

    def require_room(self, longest_profile: int) -> None:
        """Refuse profiles whose scores may not fit a key of 63 bits, with room for a sign."""
        largest = int(self.weights.max(initial=0)) * longest_profile
        if largest.bit_length() + self.bits > 61:
            raise InputError(
                f"the sum of {longest_profile:,} similarities does not fit a key of 63 bits; leave "
                "out users with the longest profiles."
            )


def rank_hidden(
    similarity: Sparse, test: Interactions, *, deepest: int = DEEPEST, n_jobs: int
) -> HiddenRanks:
    r"""Rank the hidden items of test users, for item-kNN and any other model that only adds.

    .. math:: s_u(j) = \sum_{i \in M} S_{ij}, \quad
              \mathrm{rank}_u(h) = 1 + |\{ j : (s_u(j), -j) > (s_u(h), -h) \}|

    Leave one out sums the whole profile once, and takes the votes of the hidden item back from
    those that it votes for; leave last one out adds votes in the order of time. Items of the
    profile are no candidates; only items with a score above 0 are recommended. Scores are
    whole numbers of 2^-24. Row i of :math:`S`, of shape (n_items, n_items), holds the neighbours
    that item i votes for; the diagonal is ignored. The test users come with all their events, over
    the items of the model; the first of each user and item is hidden. Chunks of users, of about
    `CHUNK_ROWS` hidden items, are ranked in threads or in what `joblib.parallel_config` says; the
    result depends on neither.

    References
    ----------
    Kasalický (2021), sections 1.2 and 2.2, for what is computed.
    """
    votes, hidden = FixedPoint.of(similarity), test.select(test.is_first)
    if len(votes.starts) != len(test.items) + 1:
        raise InputError(
            f"similarities must be of the {len(test.items):,} items of the test users, got "
            f"{len(votes.starts) - 1:,}."
        )
    votes.require_room(int(np.diff(hidden.starts).max(initial=0)))
    # Chunks end between users, once at least so many rows are together.
    starts = hidden.starts
    ends = np.searchsorted(starts, np.arange(0, len(hidden), CHUNK_ROWS))
    tasks = [
        delayed(_rank_chunk)(
            starts[a : b + 1] - starts[a],
            hidden.item[starts[a] : starts[b]],
            hidden.time[starts[a] : starts[b]],
            deepest,
            *votes,  # Arrays by themselves, which joblib sends to a worker once.
        )
        for a, b in pairwise(np.unique(np.append(ends, len(starts) - 1)))
    ]
    nothing = np.empty(0, dtype=np.uint16)
    ranked = run_in_threads(tasks, n_jobs=n_jobs)
    loo, lloo = map(np.concatenate, zip((nothing, nothing), *ranked, strict=True))
    return HiddenRanks(hidden, loo, lloo, deepest)


def _rank_chunk(
    first: Longs, item: Ints, time: Longs, deepest: int, *parts: Any
) -> tuple[Ranks, Ranks]:
    """Rank the hidden items of some users, whose first rows are given, both ways."""
    from recommenders.kernels.hidden_ranks_loop import rank_in_time, rank_left_out

    votes = FixedPoint(*parts)
    return rank_left_out(first, item, votes), rank_in_time(first, item, time, votes, deepest)
