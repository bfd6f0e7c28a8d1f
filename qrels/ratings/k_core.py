"""Filtering of ratings: k-cores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qrels.ratings.ratings import Ratings
from runs import InputError


def k_core(ratings: Ratings, *, user_min: int = 0, item_min: int = 0) -> Ratings:
    """Keep the largest part where every user and every item has enough ratings.

    Users and items with too few ratings are taken away, which may leave others with too few,
    until none is left; the result does not depend on the order.

    Parameters
    ----------
    ratings
        What to filter.
    user_min, item_min
        Ratings that every user and every item needs.

    Returns
    -------
    The ratings that remain, over new numbers for the users and items that still have some.

    Raises
    ------
    InputError
        If nothing remains.

    References
    ----------
    Seidman (1983), Network structure and minimum degree, Social Networks 5, here with one
    minimum for each of the two sides.

    Examples
    --------
    Two ratings each (o removed): without item z user c has one rating, without c nothing changes
    for x and y, which a and b hold up.

    ====  =  =  =
    user  x  y  z
    ====  =  =  =
    a     5  3
    b     4  2
    c     o     o
    ====  =  =  =

    >>> from runs import Numbering
    >>> user = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    >>> item = np.array([0, 1, 0, 1, 0, 2], dtype=np.int32)
    >>> rating = np.array([5.0, 3.0, 4.0, 2.0, 1.0, 1.0])
    >>> users, items = Numbering.of(["a", "b", "c"]), Numbering.of(["x", "y", "z"])
    >>> core = k_core(Ratings(users, items, user, item, rating), user_min=2, item_min=2)
    >>> core.users.ids.tolist(), core.items.ids.tolist(), core.rating.tolist()
    (['a', 'b'], ['x', 'y'], [5.0, 3.0, 4.0, 2.0])
    """
    core = ratings
    while len(core):
        fewer = with_enough(core, user_min=user_min, item_min=item_min)
        if len(fewer) == len(core):
            return renumbered(core)
        core = fewer
    raise InputError(
        f"no ratings remain where every user has at least {user_min} and every item "
        f"at least {item_min}; there were {len(ratings)}."
    )


def with_enough(ratings: Ratings, *, user_min: int, item_min: int) -> Ratings:
    """Leave out users and items with too few ratings, counted before anything is left out."""
    enough_of_user = ratings.user_counts() >= user_min
    enough_of_item = ratings.item_counts() >= item_min
    return ratings.select(enough_of_user[ratings.user] & enough_of_item[ratings.item])


def renumbered(ratings: Ratings) -> Ratings:
    """Number the users and items that have ratings anew."""
    users, user = np.unique(ratings.user, return_inverse=True)
    items, item = np.unique(ratings.item, return_inverse=True)
    return replace(
        ratings,
        users=ratings.users.select(users),
        items=ratings.items.select(items),
        user=user.astype(np.int32),
        item=item.astype(np.int32),
    )
