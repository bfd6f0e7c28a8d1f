"""Compiled loops that learn from pairs of a rated and an unrated item."""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Floats, Integers, Ints, Singles
from runs.shared.compiled import jit, jit_in_any_order


@jit()
def draw_triples(
    ends: Integers, items: Integers, luck: Floats, places: Integers, n_items: int, triples: Ints
) -> None:
    """Put user, rated and unrated item of each rating at its place among the triples.

    User u has rated the rising ``items[ends[u]:ends[u + 1]]``. Luck, from 0 to below 1, chooses
    one of the other items, each as likely; it is ``n_items`` for a user who has rated all.
    """
    for user in range(len(ends) - 1):
        own = items[ends[user] : ends[user + 1]]
        for number in range(len(own)):
            rating = ends[user] + number
            skipped = int(luck[rating] * (n_items - len(own)))
            # Below a rated item that is k-th among them, so many less k are unrated.
            below, above = 0, len(own)
            while below < above:
                middle = (below + above) // 2
                if own[middle] - middle <= skipped:
                    below = middle + 1
                else:
                    above = middle
            place = places[rating]
            triples[place, 0] = user
            triples[place, 1] = own[number]
            triples[place, 2] = skipped + below


@jit_in_any_order
def descend(
    triples: Ints,
    of_users: Singles,
    of_items: Singles,
    learning_rate: np.float32,
    regularization: np.float32,
) -> None:
    """Follow the gradient of one triple after the other: Figure 4 of Rendle et al. (2009)."""
    kept = np.float32(1) - learning_rate * regularization
    for place in range(len(triples)):
        if triples[place, 2] == len(of_items):
            continue
        p = of_users[triples[place, 0]]
        rated, unrated = of_items[triples[place, 1]], of_items[triples[place, 2]]
        ahead = np.float32(0)
        for k in range(len(p)):
            ahead += p[k] * (rated[k] - unrated[k])
        step = learning_rate / (np.float32(1) + np.exp(ahead))
        for k in range(len(p)):
            of_user, of_rated, of_unrated = p[k], rated[k], unrated[k]
            p[k] = kept * of_user + step * (of_rated - of_unrated)
            rated[k] = kept * of_rated + step * of_user
            unrated[k] = kept * of_unrated - step * of_user
