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


class Tally(NamedTuple):
    """The votes of one user's profile, added up by item.

    ``keys``, (n_items,), hold the scores: whole numbers that order the items. The first elements of
    ``voted_items``, (n_items,), are the items that got votes, in any order. ``has_votes`` and
    ``in_profile``, (n_items,), mark these items, and those of the profile.
    """

    keys: Longs
    voted_items: Ints
    has_votes: Masks
    in_profile: Masks


@jit()
def _empty_tally(votes: Votes) -> Tally:
    """Make a tally without votes, for the items of a `FixedPoint` matrix.

    Keys, which order items by falling score and then rising number, are the score shifted by
    ``votes.bits`` bits, plus 2^bits - 1 - item; here the score is 0. All arrays are of shape
    (n_items,).
    """
    n_items = len(votes.starts) - 1
    items = np.arange(n_items)
    keys = (1 << votes.bits) - 1 - items
    voted_items = items.astype(np.int32)
    has_votes = np.zeros(n_items, dtype=np.bool_)
    in_profile = np.zeros(n_items, dtype=np.bool_)
    return Tally(keys, voted_items, has_votes, in_profile)


@jit()
def _add_votes(tally: Tally, votes: Votes, item: int, n_voted: int) -> int:
    """Put an item in the profile, and add its votes to the keys of the tally, in place.

    A key is the sum of an item's votes shifted by ``votes.bits`` bits, plus a number that settles
    ties. ``n_voted`` items got votes before, the first ones in ``tally.voted_items``; returns how
    many have got votes now.
    """
    tally.in_profile[item] = True
    for entry in range(votes.starts[item], votes.starts[item + 1]):
        neighbour = votes.neighbours[entry]
        if not tally.has_votes[neighbour]:
            tally.has_votes[neighbour] = True
            tally.voted_items[n_voted] = neighbour
            n_voted += 1
        tally.keys[neighbour] += np.int64(votes.weights[entry]) << votes.bits
    return n_voted


@jit()
def _remove_votes(tally: Tally, votes: Votes, profile: Ints, n_voted: int) -> int:
    """Take all votes of a profile back from the tally, in place, and empty the profile.

    ``profile`` holds the numbers of its items, (n_profile,); ``n_voted`` items got votes, the first
    ones in ``tally.voted_items``. Returns 0, the number of items that have votes now.
    """
    # The key of an item without votes is 2^bits - 1 - item.
    mask = (1 << votes.bits) - 1
    for item in profile:
        tally.in_profile[item] = False
        tally.keys[item] = mask - item
    for item in tally.voted_items[:n_voted]:
        tally.keys[item] = mask - item
        tally.has_votes[item] = False
    return 0


@jit()
def _insert_key(highest: Longs, n_highest: int, key: int) -> int:
    """Insert a key among the highest keys so far, in place, if it is one of them.

    The first ``n_highest`` elements of ``highest`` are the highest keys, falling; the array is as
    long as the list may be. Returns the new number of them.
    """
    if n_highest == len(highest):
        if key <= highest[n_highest - 1]:
            return n_highest
        n_highest -= 1
    place = n_highest
    while place > 0 and highest[place - 1] < key:
        highest[place] = highest[place - 1]
        place -= 1
    highest[place] = key
    return n_highest + 1


@jit()
def _count_candidates_above(tally: Tally, votes: Votes, hidden: int, candidate_keys: Longs) -> int:
    """Count the candidates above an item of the profile, if the item is hidden.

    The tally holds the votes of the whole profile; the votes of the hidden item are taken back from
    its neighbours. ``candidate_keys``, (n_candidates,), are the keys of the items outside the
    profile that have votes.
    """
    threshold = tally.keys[hidden]
    above = 0
    for key in candidate_keys:
        above += key > threshold
    for entry in range(votes.starts[hidden], votes.starts[hidden + 1]):
        neighbour = votes.neighbours[entry]
        if tally.in_profile[neighbour]:
            continue
        key = tally.keys[neighbour]
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
    tally = _empty_tally(votes)
    ranks = np.full(len(items), MISS, dtype=np.uint16)
    candidate_keys = np.empty(len(tally.keys), dtype=np.int64)
    n_voted = 0
    for user in range(len(first) - 1):
        profile = items[first[user] : first[user + 1]]
        for item in profile:
            n_voted = _add_votes(tally, votes, item, n_voted)
        n_candidates = 0
        for item in tally.voted_items[:n_voted]:
            if not tally.in_profile[item]:
                candidate_keys[n_candidates] = tally.keys[item]
                n_candidates += 1
        for place in range(len(profile)):
            hidden = profile[place]
            if tally.keys[hidden] >= 1 << votes.bits:
                above = _count_candidates_above(tally, votes, hidden, candidate_keys[:n_candidates])
                ranks[first[user] + place] = min(above + 1, MISS)
        n_voted = _remove_votes(tally, votes, profile, n_voted)
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
    tally = _empty_tally(votes)
    ranks = np.full(len(items), MISS, dtype=np.uint16)
    n_voted = 0
    for user in range(len(first) - 1):
        start = first[user]
        stop = first[user + 1]
        while start < stop:
            # Rows start to end - 1 have one time.
            end = start + 1
            while end < stop and times[end] == times[start]:
                end += 1
            for row in range(start, end):
                threshold = tally.keys[items[row]]
                if threshold < 1 << votes.bits:
                    continue
                above = 0
                for item in tally.voted_items[:n_voted]:
                    above += tally.keys[item] > threshold
                    if above == deepest:
                        break
                if above < deepest:
                    ranks[row] = above + 1
            for row in range(start, end):
                n_voted = _add_votes(tally, votes, items[row], n_voted)
                # Below all other keys: the item is no candidate any more.
                tally.keys[items[row]] = EXCLUDED
            start = end
        n_voted = _remove_votes(tally, votes, items[first[user] : stop], n_voted)
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
    tally = _empty_tally(votes)
    mask = (1 << votes.bits) - 1
    lists = np.full((len(first) - 1, depth), -1, dtype=np.int32)
    highest = np.empty(depth, dtype=np.int64)
    n_voted = 0
    for user in range(len(lists)):
        profile = items[first[user] : first[user + 1]]
        for item in profile:
            n_voted = _add_votes(tally, votes, item, n_voted)
        n_listed = 0
        for item in tally.voted_items[:n_voted]:
            if not tally.in_profile[item]:
                n_listed = _insert_key(highest, n_listed, tally.keys[item])
        for place in range(n_listed):
            lists[user, place] = mask - (highest[place] & mask)
        for item in fallback_items:
            if n_listed == depth:
                break
            if not (tally.in_profile[item] or tally.has_votes[item]):
                lists[user, n_listed] = item
                n_listed += 1
        n_voted = _remove_votes(tally, votes, profile, n_voted)
    return lists
