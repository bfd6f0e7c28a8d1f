"""The loop of `runs.run.top_items`, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Ints, Singles
from runs.shared.compiled import jit


@jit()
def fill_highest(scores: NDArray[np.floating], items: Ints) -> None:
    """Put the numbers of the items with the highest scores of each row in order, best first.

    Where there are fewer candidates, what follows is left as it is.
    """
    held = np.empty(items.shape[1], dtype=np.float32)
    numbers = np.empty(items.shape[1], dtype=np.int32)
    for user in range(scores.shape[0]):
        count = 0
        for item in range(scores.shape[1]):
            score = np.float32(scores[user, item])
            # Neither NaN nor minus infinity is above it.
            if not score > -np.inf:
                continue
            if count < len(held):
                _rise(held, numbers, count, score, item)
                count += 1
            elif score > held[0]:
                _sink(held, numbers, count, score, item)
        for rank in range(count - 1, -1, -1):
            items[user, rank] = numbers[0]
            _sink(held, numbers, rank, held[rank], numbers[rank])


@jit()
def _rise(held: Singles, numbers: Ints, place: int, score: np.float32, item: int) -> None:
    """Add an item to a heap whose root is the item that goes first; it has the highest number."""
    while place > 0 and score <= held[(place - 1) // 2]:
        above = (place - 1) // 2
        held[place], numbers[place] = held[above], numbers[above]
        place = above
    held[place], numbers[place] = score, item


@jit()
def _sink(held: Singles, numbers: Ints, count: int, score: np.float32, item: int) -> None:
    """Put an item in place of the root of the heap."""
    place = 0
    while 2 * place + 1 < count:
        below = 2 * place + 1
        right = below + 1
        if right < count and (
            held[right] < held[below]
            or (held[right] == held[below] and numbers[right] > numbers[below])
        ):
            below = right
        if score < held[below] or (score == held[below] and item > numbers[below]):
            break
        held[place], numbers[place] = held[below], numbers[below]
        place = below
    held[place], numbers[place] = score, item
