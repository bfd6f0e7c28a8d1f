"""The loops of `recommenders.kernels.hidden_ranks`, compiled.

The key of an item is its score in fixed point, shifted, plus a part that is larger for lower item
numbers; see `FixedPoint`. An item that is no candidate any more has a key below all others.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Ints, Longs, Masks
from runs.shared.compiled import jit

MISS = 65535
GONE = -(1 << 62)

Ranks = NDArray[np.uint16]
Votes: TypeAlias = Any
"""A `FixedPoint`: item i votes for those of entries starts[i] and on."""


class Board(NamedTuple):
    """The keys of all items for one user, and which of them votes have touched, in any order."""

    keys: Longs
    touched: Ints
    is_touched: Masks
    in_profile: Masks


@jit()
def _clean_board(votes: Votes) -> Board:
    """Make a board without votes."""
    n_items = len(votes.starts) - 1
    items = np.arange(n_items)
    return Board(
        (1 << votes.bits) - 1 - items,
        items.astype(np.int32),
        np.zeros(n_items, dtype=np.bool_),
        np.zeros(n_items, dtype=np.bool_),
    )


@jit()
def _vote(board: Board, votes: Votes, item: int, n_touched: int) -> int:
    """Put an item in the profile and add its votes; give how many items are touched."""
    board.in_profile[item] = True
    for entry in range(votes.starts[item], votes.starts[item + 1]):
        neighbour = votes.neighbours[entry]
        if not board.is_touched[neighbour]:
            board.is_touched[neighbour] = True
            board.touched[n_touched] = neighbour
            n_touched += 1
        board.keys[neighbour] += np.int64(votes.weights[entry]) << votes.bits
    return n_touched


@jit()
def _wipe(board: Board, votes: Votes, profile: Ints, n_touched: int) -> int:
    """Take all votes back; no item is touched any more."""
    mask = (1 << votes.bits) - 1
    for item in profile:
        board.in_profile[item] = False
        board.keys[item] = mask - item
    for item in board.touched[:n_touched]:
        board.keys[item] = mask - item
        board.is_touched[item] = False
    return 0


@jit()
def _push(leaders: Longs, n_leaders: int, key: int) -> int:
    """Insert a key among the highest, which fall; give how many they are."""
    if n_leaders == len(leaders):
        if key <= leaders[n_leaders - 1]:
            return n_leaders
        n_leaders -= 1
    place = n_leaders
    while place > 0 and leaders[place - 1] < key:
        leaders[place] = leaders[place - 1]
        place -= 1
    leaders[place] = key
    return n_leaders + 1


@jit()
def _above_without_own_votes(board: Board, votes: Votes, hidden: int, rivals: Longs) -> int:
    """Count the candidates above a hidden item when its own votes are taken back."""
    threshold = board.keys[hidden]
    above = 0
    for key in rivals:
        above += key > threshold
    for entry in range(votes.starts[hidden], votes.starts[hidden + 1]):
        neighbour = votes.neighbours[entry]
        if board.in_profile[neighbour]:
            continue
        key = board.keys[neighbour]
        above -= key > threshold
        above += key - (np.int64(votes.weights[entry]) << votes.bits) > threshold
    return above


@jit()
def rank_left_out(first: Longs, items: Ints, votes: Votes) -> Ranks:
    """Rank every item of every profile when it alone is hidden: leave one out, by downdate.

    The rivals of all hidden items of a user are the same, but for the votes of the hidden one.
    Profiles begin at the rows ``first``, of shape (n_users + 1,), and hold each of their items, of
    shape (n_rows,), once. An item is recommended with a score above 0.
    """
    board = _clean_board(votes)
    ranks = np.full(len(items), MISS, dtype=np.uint16)
    rivals = np.empty(len(board.keys), dtype=np.int64)
    n_touched = 0
    for user in range(len(first) - 1):
        profile = items[first[user] : first[user + 1]]
        for item in profile:
            n_touched = _vote(board, votes, item, n_touched)
        n_rivals = 0
        for item in board.touched[:n_touched]:
            if not board.in_profile[item]:
                rivals[n_rivals] = board.keys[item]
                n_rivals += 1
        for place in range(len(profile)):
            if board.keys[profile[place]] >= 1 << votes.bits:
                above = _above_without_own_votes(board, votes, profile[place], rivals[:n_rivals])
                ranks[first[user] + place] = min(above + 1, MISS)
        n_touched = _wipe(board, votes, profile, n_touched)
    return ranks


@jit()
def rank_in_time(first: Longs, items: Ints, times: Longs, votes: Votes, deepest: int) -> Ranks:
    """Rank every item from those before it: leave last one out, by sums that grow in time.

    Arrays are as of :func:`rank_left_out`; times, of shape (n_rows,), rise within a user. A rank
    beyond the deepest is a miss.
    """
    board = _clean_board(votes)
    ranks = np.full(len(items), MISS, dtype=np.uint16)
    n_touched = 0
    for user in range(len(first) - 1):
        start, stop = first[user], first[user + 1]
        while start < stop:
            end = start + 1
            while end < stop and times[end] == times[start]:
                end += 1
            for row in range(start, end):
                threshold = board.keys[items[row]]
                if threshold < 1 << votes.bits:
                    continue
                above = 0
                for item in board.touched[:n_touched]:
                    above += board.keys[item] > threshold
                    if above == deepest:
                        break
                if above < deepest:
                    ranks[row] = above + 1
            for row in range(start, end):
                n_touched = _vote(board, votes, items[row], n_touched)
                board.keys[items[row]] = GONE
            start = end
        n_touched = _wipe(board, votes, items[first[user] : stop], n_touched)
    return ranks


@jit()
def list_highest(first: Longs, items: Ints, votes: Votes, others: Ints, depth: int) -> Ints:
    """List the items with the most votes from each profile, and others, in order, where votes end.

    Profiles are as of `rank_left_out`; lists, of shape (n_profiles, depth), do not hold what they
    hold, and have -1 where items end. Votes are positive.
    """
    board, mask = _clean_board(votes), (1 << votes.bits) - 1
    lists = np.full((len(first) - 1, depth), -1, dtype=np.int32)
    leaders = np.empty(depth, dtype=np.int64)
    n_touched = 0
    for user in range(len(lists)):
        profile = items[first[user] : first[user + 1]]
        for item in profile:
            n_touched = _vote(board, votes, item, n_touched)
        n_listed = 0
        for item in board.touched[:n_touched]:
            if not board.in_profile[item]:
                n_listed = _push(leaders, n_listed, board.keys[item])
        for place in range(n_listed):
            lists[user, place] = mask - (leaders[place] & mask)
        for item in others:
            if n_listed == depth:
                break
            if not (board.in_profile[item] or board.is_touched[item]):
                lists[user, n_listed] = item
                n_listed += 1
        n_touched = _wipe(board, votes, profile, n_touched)
    return lists
