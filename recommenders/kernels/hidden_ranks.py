"""Ranks of hidden items by models whose scores are sums of similarities over the profile."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import HiddenRanks, Ranks
from recommenders.shared.scorers import row_of_entry
from runs import InputError
from runs.shared.arrays import Ints, Longs, Sparse
from runs.shared.parallel import delayed, run_in_threads

DEEPEST = 50
"""Default of the deepest rank that is kept under leave last one out."""

FRACTION_BITS = 24
"""Bits after the binary point: similarities are multiples of 2^-24, or 6e-8."""

LARGEST = 2.0 ** (31 - FRACTION_BITS)
"""Bound on similarities: those of this size do not fit four bytes."""

CHUNK_ROWS = 100_000
"""Number of hidden items in a chunk of users: they take about a quarter of a second."""


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
        """Round similarities, (n_items, n_items), to fixed point.

        Similarities become multiples of 2^-24, so that sums do not depend on their order. Those
        that are not above 0 after rounding, and the diagonal, are left out. Row i holds the items
        for which item i votes, and how much. ``bits`` is the number of bits of the highest item
        number. Raises InputError if the matrix is not square, or a similarity is not finite or of
        size 127 or more.
        """
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
        steps = np.rint(values * 2.0**FRACTION_BITS)
        weights = np.maximum(steps, 0).astype(np.int32)
        is_vote = (weights > 0) & (similarity.indices != rows)
        row_numbers = np.arange(n_rows + 1)
        starts = np.searchsorted(rows[is_vote], row_numbers).astype(np.int64)
        neighbours = similarity.indices[is_vote].astype(np.int32)
        bits = max(n_rows - 1, 1).bit_length()
        return cls(starts, neighbours, weights[is_vote], bits)

    def require_room(self, longest_profile: int) -> None:
        """Refuse profiles of so many items if their scores may not fit a key, with InputError.

        A key has 63 bits, which hold a sum of similarities, the item and a sign.
        """
        largest_sum = int(self.weights.max(initial=0)) * longest_profile
        if largest_sum.bit_length() + self.bits > 61:
            raise InputError(
                f"the sum of {longest_profile:,} similarities does not fit a key of 63 bits; leave "
                "out users with the longest profiles."
            )


def rank_hidden(
    similarity: Sparse, test: Interactions, *, deepest: int = DEEPEST, n_jobs: int
) -> HiddenRanks:
    r"""Rank the hidden items of test users by sums of similarities over the rest of the profile.

    This is how item-kNN, and any other model that only adds, scores items.

    .. math:: s_u(j) = \sum_{i \in M} S_{ij}, \quad
              \mathrm{rank}_u(h) = 1 + |\{ j : (s_u(j), -j) > (s_u(h), -h) \}|

    Leave one out sums the whole profile once, and takes the votes of the hidden item back from
    those that it votes for; leave last one out adds votes in the order of time. Items of the
    profile are no candidates; only items with a score above 0 are recommended. Scores are whole
    numbers of 2^-24. Row i of :math:`S`, of shape (n_items, n_items), holds the neighbours that
    item i votes for; the diagonal is ignored. The test users come with all their events, over the
    items of the model; the first of each user and item is hidden. Chunks of users, of about
    `CHUNK_ROWS` (100,000) hidden items, are ranked in threads or in what `joblib.parallel_config`
    says; the result depends on neither.

    Parameters
    ----------
    similarity
        Matrix :math:`S`.
    test
        All interactions of the test users.
    deepest
        Deepest rank that is kept under leave last one out.
    n_jobs
        Number of threads; -1 for all cores.

    Returns
    -------
    Ranks of the hidden items under both; an item that is not recommended is a miss.

    Raises
    ------
    InputError
        If the matrix is not of the items of ``test``, or its values cannot be added in fixed point.

    References
    ----------
    Kasalický (2021), sections 1.2 and 2.2, for the ranks.
    """
    votes = FixedPoint.of(similarity)
    hidden = test.select(test.is_first)
    n_items = len(votes.starts) - 1
    if n_items != len(test.items):
        raise InputError(
            f"similarities must be of the {len(test.items):,} items of the test users, got "
            f"{n_items:,}."
        )
    votes.require_room(int(np.diff(hidden.starts).max(initial=0)))
    # A chunk ends between two users, as soon as it has at least CHUNK_ROWS rows.
    starts = hidden.starts
    chunk_users = np.searchsorted(starts, np.arange(0, len(hidden), CHUNK_ROWS))
    chunk_bounds = np.unique(np.append(chunk_users, len(starts) - 1))
    tasks = []
    for first_user, end_user in pairwise(chunk_bounds):
        first_row = starts[first_user]
        rows = slice(first_row, starts[end_user])
        profile_starts = starts[first_user : end_user + 1] - first_row
        items = hidden.item[rows]
        times = hidden.time[rows]
        task = delayed(_rank_chunk)(
            profile_starts,
            items,
            times,
            deepest,
            # Arrays by themselves, which joblib sends to a worker once.
            votes.starts,
            votes.neighbours,
            votes.weights,
            votes.bits,
        )
        tasks.append(task)
    no_ranks = np.empty(0, dtype=np.uint16)
    chunk_ranks = [(no_ranks, no_ranks), *run_in_threads(tasks, n_jobs=n_jobs)]
    rank_loo = np.concatenate([loo for loo, _ in chunk_ranks])
    rank_lloo = np.concatenate([lloo for _, lloo in chunk_ranks])
    return HiddenRanks(hidden, rank_loo, rank_lloo, deepest)


def _rank_chunk(
    first: Longs,
    item: Ints,
    time: Longs,
    deepest: int,
    starts: Longs,
    neighbours: Ints,
    weights: Ints,
    bits: int,
) -> tuple[Ranks, Ranks]:
    """Rank the hidden items of a chunk of users under leave one out and leave last one out.

    User u has the rows ``first[u]:first[u + 1]`` of ``item`` (numbers) and ``time`` (milliseconds),
    (n_rows,). Ranks beyond ``deepest`` are misses under leave last one out. The last four arguments
    are the fields of a `FixedPoint`, the similarities by which items of a profile vote for others.
    Both ranks, from 1, are of shape (n_rows,), 65535 for a miss.
    """
    from recommenders.kernels.hidden_ranks_loop import rank_in_time, rank_left_out

    votes = FixedPoint(starts, neighbours, weights, bits)
    rank_loo = rank_left_out(first, item, votes)
    rank_lloo = rank_in_time(first, item, time, votes, deepest)
    return rank_loo, rank_lloo
