"""Compiled loops that learn from pairs of a rated and an unrated item."""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Floats, Integers, Ints, Singles
from runs.shared.compiled import jit, jit_in_any_order


@jit()
def draw_triples(
    starts: Integers,
    items: Integers,
    uniforms: Floats,
    places: Integers,
    n_items: int,
    triples: Ints,
) -> None:
    """Draw an unrated item for each rating, and write user, rated and unrated item, in place.

    Parameters
    ----------
    starts, items
        User u has rated the items ``items[starts[u]:starts[u + 1]]``, by rising number: ``starts``
        is of shape (n_users + 1,), ``items`` of shape (n_ratings,).
    uniforms
        A number from 0 to below 1 for each rating, (n_ratings,), which picks one of the unrated
        items, each as likely.
    places
        Row of ``triples`` for each rating: a permutation, (n_ratings,).
    n_items
        Number of items; written as the unrated item of a user who has rated all items.
    triples
        Written: user, rated and unrated item, of shape (n_ratings, 3).
    """
    for user in range(len(starts) - 1):
        rated = items[starts[user] : starts[user + 1]]
        for number in range(len(rated)):
            rating = starts[user] + number
            # Rank of the drawn item among the unrated ones, from 0.
            unrated_rank = int(uniforms[rating] * (n_items - len(rated)))
            # Count the rated items below it: k rated items are below item rated[k], so that
            # rated[k] - k unrated ones are.
            low = 0
            high = len(rated)
            while low < high:
                middle = (low + high) // 2
                if rated[middle] - middle <= unrated_rank:
                    low = middle + 1
                else:
                    high = middle
            place = places[rating]
            triples[place, 0] = user
            triples[place, 1] = rated[number]
            triples[place, 2] = unrated_rank + low


@jit_in_any_order
def descend(
    triples: Ints,
    user_factors: Singles,
    item_factors: Singles,
    learning_rate: np.float32,
    regularization: np.float32,
) -> None:
    """Take a gradient step for one triple after the other, in place.

    This is Figure 4 of Rendle et al. (2009). Triples of user, rated and unrated item are of shape
    (n_triples, 3); one whose unrated item is n_items is left out. The factors, of shapes (n_users,
    n_factors) and (n_items, n_factors), are changed.
    """
    shrinkage = np.float32(1) - learning_rate * regularization
    for place in range(len(triples)):
        if triples[place, 2] == len(item_factors):
            continue
        user = user_factors[triples[place, 0]]
        rated = item_factors[triples[place, 1]]
        unrated = item_factors[triples[place, 2]]
        difference = np.float32(0)
        for k in range(len(user)):
            difference += user[k] * (rated[k] - unrated[k])
        step = learning_rate / (np.float32(1) + np.exp(difference))
        for k in range(len(user)):
            user_k = user[k]
            rated_k = rated[k]
            unrated_k = unrated[k]
            user[k] = shrinkage * user_k + step * (rated_k - unrated_k)
            rated[k] = shrinkage * rated_k + step * user_k
            unrated[k] = shrinkage * unrated_k - step * user_k
