"""The loops of the simulation, compiled: items that users choose, and lists of neighbours."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
FIRST_SHIFT, SECOND_SHIFT, THIRD_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)
DROPPED_BITS = np.uint64(11)


@njit(cache=True, nogil=True)
def _uniform(state: NDArray[np.uint64]) -> float:
    """Draw the next number in [0, 1) of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014)."""
    state[0] += GOLDEN
    word = state[0]
    word = (word ^ (word >> FIRST_SHIFT)) * FIRST_FACTOR
    word = (word ^ (word >> SECOND_SHIFT)) * SECOND_FACTOR
    return ((word ^ (word >> THIRD_SHIFT)) >> DROPPED_BITS) * 2.0**-53


@njit(cache=True, nogil=True)
def _inner(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    total = 0.0
    for place in range(len(left)):
        total += left[place] * right[place]
    return total


@njit(cache=True, nogil=True)
def choose_items(
    tastes: NDArray[np.float64],
    first: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    vectors: NDArray[np.float64],
    lure: NDArray[np.float64],
    selectivity: float,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Let sessions choose items without replacement, with odds exp(s <taste, v> + lure).

    An item is proposed by its lure alone and accepted with exp(s (<taste, v> - 1)); one that the
    session has is proposed in vain. That is successive sampling, as by Gumbel deviates and the top
    of them, without a sum over all items.

    Tastes and vectors of the items are unit vectors, of shape (n_sessions, d) and (n_items, d). The
    events of session k are first[k] to first[k + 1]; a session depends on its own seed alone. The
    lure is running sums of the items' shares of proposals, of shape (n_items,); the last is 1.
    Given are items of shape (n_events,), and two uniform numbers for each, of shape (n_events, 2).
    """
    items = np.empty(first[-1], dtype=np.int32)
    luck = np.empty((first[-1], 2))
    state = np.empty(1, dtype=np.uint64)
    for session in range(len(seeds)):
        state[0] = seeds[session]
        event = first[session]
        while event < first[session + 1]:
            item = int(np.searchsorted(lure, _uniform(state), side="right"))
            liking = _inner(tastes[session], vectors[item])
            if np.log(1.0 - _uniform(state)) > selectivity * (liking - 1.0):
                continue
            if (items[first[session] : event] == item).any():
                continue
            items[event] = item
            luck[event, 0] = _uniform(state)
            luck[event, 1] = _uniform(state)
            event += 1
    return items, luck


@njit(cache=True, nogil=True)
def list_neighbours(
    profile_starts: NDArray[np.int64],
    profile_items: NDArray[np.int32],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    weights: NDArray[np.int32],
    by_popularity: NDArray[np.int32],
    depth: int,
) -> NDArray[np.int32]:
    """List the items with the most votes from each profile, and popular ones where votes end.

    Items of profile u are at ``profile_starts[u]`` to ``profile_starts[u + 1]``; votes are those of
    `recommenders.kernels.hidden.fixed_point.FixedPoint`. Lists are of shape (n_profiles, depth): by
    falling votes, then item number; -1 where items end.
    """
    n_items, n_profiles = len(starts) - 1, len(profile_starts) - 1
    lists = np.full((n_profiles, depth), -1, dtype=np.int32)
    scores = np.zeros(n_items, dtype=np.int64)
    taken = np.zeros(n_items, dtype=np.bool_)
    touched = np.empty(n_items, dtype=np.int32)
    best = np.empty(depth, dtype=np.int64)
    for profile in range(n_profiles):
        mine = profile_items[profile_starts[profile] : profile_starts[profile + 1]]
        n_touched = 0
        for item in mine:
            taken[item] = True
            for entry in range(starts[item], starts[item + 1]):
                other = neighbours[entry]
                if scores[other] == 0:
                    touched[n_touched] = other
                    n_touched += 1
                scores[other] += weights[entry]
        length = _insert_best(lists[profile], best, touched[:n_touched], scores, taken)
        for place in range(length):
            taken[lists[profile, place]] = True
        for item in by_popularity:
            if length == depth:
                break
            if not taken[item]:
                lists[profile, length] = item
                length += 1
        for item in touched[:n_touched]:
            scores[item] = 0
        taken[mine] = False
        for item in lists[profile, :length]:
            taken[item] = False
    return lists


@njit(cache=True, nogil=True)
def _insert_best(
    listed: NDArray[np.int32],
    best: NDArray[np.int64],
    touched: NDArray[np.int32],
    scores: NDArray[np.int64],
    taken: NDArray[np.bool_],
) -> int:
    """Keep the items of highest score that are not taken, in order, and say how many."""
    depth, length = len(listed), 0
    for item in touched:
        score = scores[item]
        if taken[item]:
            continue
        place = length
        while place > 0 and (
            best[place - 1] < score or (best[place - 1] == score and listed[place - 1] > item)
        ):
            place -= 1
        if place == depth:
            continue
        length = min(length + 1, depth)
        for below in range(length - 1, place, -1):
            listed[below], best[below] = listed[below - 1], best[below - 1]
        listed[place], best[place] = item, score
    return length
