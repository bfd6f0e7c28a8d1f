"""The loops of metrics that use features, categories or subtopics of items, compiled.

Tables of lists are of shape (n_ranks, n_users), unlike those of `qrels.Judged`: one rank of all
users stands after the other in memory.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from runs.shared.arrays import Floats, Integers, Masks
from runs.shared.compiled import jit_in_any_order, jit_like_numpy

Categories: TypeAlias = tuple[Integers, Integers, int]
"""Categories of the items as rows of csr: starts, category numbers, number of categories.

Item i has the categories ``numbers[starts[i]:starts[i + 1]]``. In qrels with subtopics, the numbers
of judgements stand in the place of those of items, and subtopics in the place of categories.
"""


@jit_like_numpy
def count_new(items: Integers, relevant: Masks, categories: Categories, alpha: float) -> Floats:
    """Count the categories of the relevant item at each rank, repeated ones less.

    A category counts ``(1 - alpha) ** m`` if m relevant items above have it.

    Parameters
    ----------
    items, relevant
        Item number at each rank, and whether it is relevant: (n_ranks, n_users).
    categories
        Row starts, category numbers, and the number of categories: the categories of item i are
        ``numbers[starts[i]:starts[i + 1]]``.
    alpha
        Share by which a category counts less for each relevant item above that has it.

    Returns
    -------
    Counts of shape (n_ranks, n_users), 0 where the item is not relevant.
    """
    starts, numbers, n_categories = categories
    gains = np.zeros(items.shape)
    category_gains = np.empty(n_categories)
    for user in range(items.shape[1]):
        category_gains[:] = 1.0
        for rank in range(len(items)):
            if relevant[rank, user]:
                item = items[rank, user]
                for category in numbers[starts[item] : starts[item + 1]]:
                    gains[rank, user] += category_gains[category]
                    category_gains[category] *= 1 - alpha
    return gains


@jit_like_numpy
def count_greedily(
    items: Integers, relevant: Masks, categories: Categories, alpha: float, decimals: int
) -> Floats:
    """Compute the gain at each rank of a list that takes the relevant item of most gain there.

    The gain of an item is the sum over its categories of ``(1 - alpha) ** m``, with m items above
    it in that list that have the category. The list has all relevant items of the user.

    Parameters
    ----------
    items, relevant
        Judged item numbers of each user, and whether they are relevant: (n_judged, n_users).
    categories
        Row starts, category numbers, and the number of categories: the categories of item i are
        ``numbers[starts[i]:starts[i + 1]]``.
    alpha
        Share by which a category gains less for each item above that has it.
    decimals
        Decimals to which gains are compared; of equal gains the highest item number is taken.

    Returns
    -------
    Gains at each rank of that list, of shape (n_judged, n_users), 0 behind its end.
    """
    starts, numbers, n_categories = categories
    gains = np.zeros(items.shape)
    category_gains = np.empty(n_categories)
    remaining = np.empty(len(items), dtype=items.dtype)
    for user in range(items.shape[1]):
        category_gains[:] = 1.0
        n_remaining = 0
        for place in range(len(items)):
            if relevant[place, user]:
                remaining[n_remaining] = items[place, user]
                n_remaining += 1
        rank = 0
        while n_remaining > 0:
            best = _best_place(remaining[:n_remaining], starts, numbers, category_gains, decimals)
            item = remaining[best]
            n_remaining -= 1
            remaining[best] = remaining[n_remaining]
            for category in numbers[starts[item] : starts[item + 1]]:
                gains[rank, user] += category_gains[category]
                category_gains[category] *= 1 - alpha
            rank += 1
    return gains


@jit_like_numpy
def _best_place(
    items: Integers, starts: Integers, numbers: Integers, category_gains: Floats, decimals: int
) -> int:
    """Find the index in ``items`` of the item whose categories have the highest sum of gains.

    Items are item numbers, at least one; the categories of item i are
    ``numbers[starts[i]:starts[i + 1]]``; gains are of shape (n_categories,). Sums are compared to
    ``decimals`` decimals; of equal ones the highest item number is taken.
    """
    best = -1
    highest = -1.0
    for place in range(len(items)):
        item = items[place]
        gain = 0.0
        for category in numbers[starts[item] : starts[item + 1]]:
            gain += category_gains[category]
        gain = np.rint(gain * 10.0**decimals)
        if gain > highest or (gain == highest and item > items[best]):
            best = place
            highest = gain
    return best


@jit_like_numpy
def add_cosines(items: Integers, directions: Floats) -> Floats:
    """Add up the cosines of the item at each rank with all items above it.

    Items, (n_ranks, n_users), are item numbers, -1 where there is none; directions, (n_items + 1,
    n_features), are feature vectors of length 1. The sums are of shape (n_ranks, n_users), 0 where
    there is no item.
    """
    cosines = np.zeros(items.shape)
    sum_above = np.empty(directions.shape[1])
    for user in range(items.shape[1]):
        sum_above[:] = 0.0
        for rank in range(len(items)):
            if items[rank, user] >= 0:
                direction = directions[items[rank, user]]
                cosines[rank, user] = _dot_product(direction, sum_above)
                sum_above += direction
    return cosines


@jit_like_numpy
def add_distances(
    items: Integers, ranks: Integers, values: Floats, directions: Floats, discounts: Floats
) -> Floats:
    """Add up the weighted mean distances of the items of a list, down to each rank.

    The mean distance of an item is over the others down to that rank. In it an item l counts with
    its value times the discount of its rank relative to item k: ``discounts[l - k - 1]`` below k,
    ``discounts[0]`` above. In the sum item k counts with its value times the discount of its rank.

    Parameters
    ----------
    items, ranks, values
        Item number, rank from 1, and value at each place of the lists, (n_places, n_users); items
        of value 0 are left out.
    directions
        Feature vectors of length 1 of all items, (n_items + 1, n_features). A distance is 1 minus
        their product.
    discounts
        Discount of the ranks from 1 on, (depth,).

    Returns
    -------
    Sums of shape (n_places, n_users); 0 with fewer than two items.
    """
    totals = np.zeros(items.shape)
    # Of the items of one user so far: sums of weighted distances, sums of their weights, weights
    # in the total, and places in the list.
    distance_sums = np.empty(len(items))
    weight_sums = np.empty(len(items))
    item_weights = np.empty(len(items))
    places = np.empty(len(items), dtype=np.intp)
    for user in range(items.shape[1]):
        n_items = 0
        total = 0.0
        for place in range(len(items)):
            value = values[place, user]
            rank = ranks[place, user]
            if value > 0:
                direction = directions[items[place, user]]
                distance_sums[n_items] = 0.0
                weight_sums[n_items] = 0.0
                for number in range(n_items):
                    above = places[number]
                    distance = 1 - _dot_product(direction, directions[items[above, user]])
                    weight = discounts[rank - ranks[above, user] - 1] * value
                    distance_sums[number] += weight * distance
                    weight_sums[number] += weight
                    weight = discounts[0] * values[above, user]
                    distance_sums[n_items] += weight * distance
                    weight_sums[n_items] += weight
                item_weights[n_items] = discounts[rank - 1] * value
                places[n_items] = place
                n_items += 1
                total = _sum_of_means(
                    distance_sums[:n_items], weight_sums[:n_items], item_weights[:n_items]
                )
            totals[place, user] = total
    return totals


@jit_like_numpy
def _sum_of_means(distance_sums: Floats, weight_sums: Floats, item_weights: Floats) -> float:
    """Add up the mean distances of items, each times its weight; all are of shape (n_items,).

    A mean is a sum of weighted distances over the sum of the weights; it is left out if that is 0.
    """
    total = 0.0
    for number in range(len(item_weights)):
        if weight_sums[number] > 0:
            mean = distance_sums[number] / weight_sums[number]
            total += item_weights[number] * mean
    return total


@jit_in_any_order
def _dot_product(left: Floats, right: Floats) -> float:
    """Add up the products of two vectors of one length, in any order."""
    product = 0.0
    for place in range(len(left)):
        product += left[place] * right[place]
    return product
