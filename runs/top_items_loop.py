"""The loop of `runs.run.top_items`, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Ints, Singles
from runs.shared.compiled import jit


@jit()
def fill_highest(scores: NDArray[np.floating], items: Ints) -> None:
    """Write the items with the highest scores of each row into a row of ``items``, best first.

    Parameters
    ----------
    scores
        Scores of all items, of shape (n_users, n_items), compared as float32; NaN and minus
        infinity mean that an item is no candidate. Of equal scores the lower item number is first.
    items
        Filled in place, int32 of shape (n_users, depth). Cells beyond the number of candidates are
        left as they are.
    """
    # The best items so far, as a heap: its root, at place 0, is the item that goes first.
    heap_scores = np.empty(items.shape[1], dtype=np.float32)
    heap_items = np.empty(items.shape[1], dtype=np.int32)
    for user in range(scores.shape[0]):
        size = 0
        for item in range(scores.shape[1]):
            score = np.float32(scores[user, item])
            # Neither NaN nor minus infinity is above it.
            if not score > -np.inf:
                continue
            if size < len(heap_scores):
                _add_to_heap(heap_scores, heap_items, size, score, item)
                size += 1
            elif score > heap_scores[0]:
                _replace_root(heap_scores, heap_items, size, score, item)
        for rank in range(size - 1, -1, -1):
            items[user, rank] = heap_items[0]
            _replace_root(heap_scores, heap_items, rank, heap_scores[rank], heap_items[rank])


@jit()
def _add_to_heap(
    heap_scores: Singles, heap_items: Ints, size: int, score: np.float32, item: int
) -> None:
    """Add an item to a heap of ``size`` items, in place; the root has the lowest score.

    The arrays are of shape (depth,). The item must have a higher number than those in the heap, so
    that of equal scores it is nearer to the root.
    """
    place = size
    while place > 0 and score <= heap_scores[(place - 1) // 2]:
        parent = (place - 1) // 2
        heap_scores[place] = heap_scores[parent]
        heap_items[place] = heap_items[parent]
        place = parent
    heap_scores[place] = score
    heap_items[place] = item


@jit()
def _replace_root(
    heap_scores: Singles, heap_items: Ints, size: int, score: np.float32, item: int
) -> None:
    """Put an item in place of the root of a heap of ``size`` items, in place, and restore the heap.

    The arrays are of shape (depth,); the children of place p are at 2p + 1 and 2p + 2. The root has
    the lowest score, and of equal ones the highest item number.
    """
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        right = child + 1
        if right < size and (
            heap_scores[right] < heap_scores[child]
            or (heap_scores[right] == heap_scores[child] and heap_items[right] > heap_items[child])
        ):
            child = right
        if score < heap_scores[child] or (score == heap_scores[child] and item > heap_items[child]):
            break
        heap_scores[place] = heap_scores[child]
        heap_items[place] = heap_items[child]
        place = child
    heap_scores[place] = score
    heap_items[place] = item
