"""The loop of the simulation, compiled: items that users choose."""

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
