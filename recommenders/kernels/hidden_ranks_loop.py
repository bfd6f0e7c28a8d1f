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
"""Rank of an item that is not recommended."""

EXCLUDED = -(1 << 62)
"""Key of an item that is no candidate any more: below all others."""

Ranks = NDArray[np.uint16]
Votes: TypeAlias = Any
"""A `FixedPoint`: item i votes for the items of the entries ``starts[i]:starts[i + 1]``."""


class Board(NamedTuple):
    """Scores of all items for one user, as keys: whole numbers that order the items.

    All arrays but ``touched`` are by item number, (n_items,). The first elements of ``touched`` are
    the items that got votes, in any order; ``is_touched`` and ``in_profile`` mark them, and the
    items of the user's profile.
    """

    keys: Longs
    touched: Ints
    is_touched: Masks
    in_profile: Masks


@jit()
def _clean_board(votes: Votes) -> Board:
    """Make a board without votes, for the items of a `FixedPoint` matrix."""
    n_items = len(votes.starts) - 1
    items = np.arange(n_items)
    keys = (1 << votes.bits) - 1 - items
    touched = items.astype(np.int32)
    is_touched = np.zeros(n_items, dtype=np.bool_)
    in_profile = np.zeros(n_items, dtype=np.bool_)
    return Board(keys, touched, is_touched, in_profile)


@jit()
def _vote(board: Board, votes: Votes, item: int, n_touched: int) -> int:
    """Put an item in the profile of the board, in place, and add its votes to the keys.

    ``n_touched`` items got votes before; returns how many have got votes now.
    """
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
    """Take all votes of a profile back, in place, so that the board is as without votes.

    ``profile`` holds its items, (n_profile,); ``n_touched`` items got votes. Returns 0, the number
    that have votes now.
    """
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
    """Insert a key among the highest keys so far, in place, if it is one of them.

    The first ``n_leaders`` elements of ``leaders`` are the highest keys, falling; the array is as
    long as the list may be. Returns the new number of them.
    """
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
def _count_above(board: Board, votes: Votes, hidden: int, candidate_keys: Longs) -> int:
    """Count the candidates above an item of the profile, if the item is hidden.

    The board holds the votes of the whole profile; the votes of the hidden item are taken back from
    its neighbours. ``candidate_keys`` are the keys on the board of the items outside the profile
    that have votes, (n_candidates,).
    """
    threshold = board.keys[hidden]
    above = 0
    for key in candidate_keys:
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
    """Rank every item of every profile when it alone is hidden: leave one out.

    The votes of a profile are added once. The candidates of all its hidden items are the same, but
    for the votes of the hidden item, which are taken back.

    Parameters
    ----------
    first, items
        The profile of user u is ``items[first[u]:first[u + 1]]``, in which no item is twice:
        ``first`` is of shape (n_users + 1,), ``items`` of shape (n_rows,).
    votes
        Similarities in fixed point, a `FixedPoint`: how much item i votes for its neighbours.

    Returns
    -------
    Ranks from 1 of shape (n_rows,), among the items outside the profile; 65535 for an item whose
    score, the sum of votes, is not above 0, or whose rank is 65535 or more.
    """
    board = _clean_board(votes)
    ranks = np.full(len(items), MISS, dtype=np.uint16)
    candidate_keys = np.empty(len(board.keys), dtype=np.int64)
    n_touched = 0
    for user in range(len(first) - 1):
        profile = items[first[user] : first[user + 1]]
        for item in profile:
            n_touched = _vote(board, votes, item, n_touched)
        n_candidates = 0
        for item in board.touched[:n_touched]:
            if not board.in_profile[item]:
                candidate_keys[n_candidates] = board.keys[item]
                n_candidates += 1
        for place in range(len(profile)):
            hidden = profile[place]
            if board.keys[hidden] >= 1 << votes.bits:
                above = _count_above(board, votes, hidden, candidate_keys[:n_candidates])
                ranks[first[user] + place] = min(above + 1, MISS)
        n_touched = _wipe(board, votes, profile, n_touched)
    return ranks


@jit()
def rank_in_time(first: Longs, items: Ints, times: Longs, votes: Votes, deepest: int) -> Ranks:
    """Rank every item of every profile by the votes of the items before it: leave last one out.

    Parameters
    ----------
    first, items
        The profile of user u is ``items[first[u]:first[u + 1]]``, in which no item is twice:
        ``first`` is of shape (n_users + 1,), ``items`` of shape (n_rows,).
    times
        Times of the items, (n_rows,), which rise within a profile. Items of one time do not vote
        for each other.
    votes
        Similarities in fixed point, a `FixedPoint`: how much item i votes for its neighbours.
    deepest
        Deepest rank that is returned.

    Returns
    -------
    Ranks from 1 of shape (n_rows,), among the items that are not in the profile before; 65535 for
    an item whose score is not above 0, or whose rank is beyond ``deepest``.
    """
    board = _clean_board(votes)
    ranks = np.full(len(items), MISS, dtype=np.uint16)
    n_touched = 0
    for user in range(len(first) - 1):
        start = first[user]
        stop = first[user + 1]
        while start < stop:
            # Rows start to end - 1 have one time.
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
                board.keys[items[row]] = EXCLUDED
            start = end
        n_touched = _wipe(board, votes, items[first[user] : stop], n_touched)
    return ranks


@jit()
def list_highest(first: Longs, items: Ints, votes: Votes, fallback_items: Ints, depth: int) -> Ints:
    """List the items with the highest scores for each profile, then the fallback items.

    Parameters
    ----------
    first, items
        The profile of user u is ``items[first[u]:first[u + 1]]``, in which no item is twice:
        ``first`` is of shape (n_profiles + 1,), ``items`` of shape (n_rows,).
    votes
        Similarities in fixed point, a `FixedPoint`: how much item i votes for its neighbours.
    fallback_items
        Item numbers that fill lists in this order where no more items have votes.
    depth
        Length of the lists.

    Returns
    -------
    Item numbers of shape (n_profiles, depth), without those of the profile, -1 at the end.
    """
    board = _clean_board(votes)
    mask = (1 << votes.bits) - 1
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
        for item in fallback_items:
            if n_listed == depth:
                break
            if not (board.in_profile[item] or board.is_touched[item]):
                lists[user, n_listed] = item
                n_listed += 1
        n_touched = _wipe(board, votes, profile, n_touched)
    return lists
