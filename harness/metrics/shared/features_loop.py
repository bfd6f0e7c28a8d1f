"""The loops of metrics that ask what items are like, compiled.

Tables of lists are of shape (n_ranks, n_users), as `qrels.Judged` lays them out: one rank of all
users stands after the other.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from runs.shared.arrays import Floats, Integers, Masks
from runs.shared.compiled import jit_in_any_order, jit_like_numpy

Categories: TypeAlias = tuple[Integers, Integers, int]
"""Where the categories of each item begin, and the last end; their numbers; how many there are."""


@jit_like_numpy
def count_new(items: Integers, counts: Masks, known: Categories, alpha: float) -> Floats:
    """Count the categories of the items that count, less by alpha each time they come again."""
    ends, categories, n_categories = known
    gains = np.zeros(items.shape)
    left = np.empty(n_categories)
    for user in range(items.shape[1]):
        left[:] = 1.0
        for rank in range(len(items)):
            if counts[rank, user]:
                item = items[rank, user]
                for category in categories[ends[item] : ends[item + 1]]:
                    gains[rank, user] += left[category]
                    left[category] *= 1 - alpha
    return gains


@jit_like_numpy
def count_greedily(
    items: Integers, counts: Masks, known: Categories, alpha: float, decimals: int
) -> Floats:
    """Count the categories of the items that count, likewise, taking first what earns most.

    Of items that earn the same, to so many decimals, the last by number is taken.
    """
    ends, categories, n_categories = known
    gains = np.zeros(items.shape)
    left, those_left = np.empty(n_categories), np.empty(len(items), dtype=items.dtype)
    for user in range(items.shape[1]):
        left[:] = 1.0
        n_left = 0
        for rank in range(len(items)):
            if counts[rank, user]:
                those_left[n_left] = items[rank, user]
                n_left += 1
        rank = 0
        while n_left > 0:
            place = _best(those_left[:n_left], ends, categories, left, decimals)
            item, n_left = those_left[place], n_left - 1
            those_left[place] = those_left[n_left]
            for category in categories[ends[item] : ends[item + 1]]:
                gains[rank, user] += left[category]
                left[category] *= 1 - alpha
            rank += 1
    return gains


@jit_like_numpy
def _best(
    items: Integers, ends: Integers, categories: Integers, left: Floats, decimals: int
) -> int:
    """Find the item that earns most."""
    best, most = -1, -1.0
    for place in range(len(items)):
        item, gain = items[place], 0.0
        for category in categories[ends[item] : ends[item + 1]]:
            gain += left[category]
        gain = np.rint(gain * 10.0**decimals)
        if gain > most or (gain == most and item > items[best]):
            best, most = place, gain
    return best


@jit_like_numpy
def add_cosines(items: Integers, directions: Floats) -> Floats:
    """Add the cosines of the item at each rank with those above it."""
    cosines = np.zeros(items.shape)
    above = np.empty(directions.shape[1])
    for user in range(items.shape[1]):
        above[:] = 0.0
        for rank in range(len(items)):
            if items[rank, user] >= 0:
                direction = directions[items[rank, user]]
                cosines[rank, user] = _product(direction, above)
                above += direction
    return cosines


@jit_like_numpy
def add_distances(
    items: Integers, ranks: Integers, values: Floats, directions: Floats, discounts: Floats
) -> Floats:
    """Add the mean distances of each item from the others of its list, down to each rank.

    Items, those that are worth nothing aside, are weighed by value and by the discount of their
    rank; in the mean of another item by that of the ranks from there, 1 if they are above it.
    """
    found = np.zeros(items.shape)
    distances, weights = np.empty(len(items)), np.empty(len(items))
    places = np.empty(len(items), dtype=np.intp)
    for user in range(items.shape[1]):
        n_items, total = 0, 0.0
        for place in range(len(items)):
            value, rank = values[place, user], ranks[place, user]
            if value > 0:
                direction = directions[items[place, user]]
                distances[n_items], weights[n_items] = 0.0, 0.0
                for number in range(n_items):
                    other = places[number]
                    distance = 1 - _product(direction, directions[items[other, user]])
                    weight = discounts[rank - ranks[other, user] - 1] * value
                    distances[number] += weight * distance
                    weights[number] += weight
                    weight = discounts[0] * values[other, user]
                    distances[n_items] += weight * distance
                    weights[n_items] += weight
                places[n_items] = place
                n_items += 1
                total = 0.0
                for number in range(n_items):
                    if weights[number] > 0:
                        other = places[number]
                        mean = distances[number] / weights[number]
                        worth = discounts[ranks[other, user] - 1] * values[other, user]
                        total += worth * mean
            found[place, user] = total
    return found


@jit_in_any_order
def _product(one: Floats, other: Floats) -> float:
    product = 0.0
    for place in range(len(one)):
        product += one[place] * other[place]
    return product
