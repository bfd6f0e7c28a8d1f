"""Pruning: users with few items and items with few users are not learned from."""

from __future__ import annotations

from functools import partial
from typing import Literal, TypeAlias

from qrels.ratings.ratings import Ratings, with_enough
from runs import InputError

Prune: TypeAlias = Literal["once", "fixpoint"]


def prune(
    ratings: Ratings,
    *,
    min_items_per_user: int,
    min_users_per_item: int,
    mode: Prune = "once",
) -> Ratings:
    """Leave out the ratings of users with few items and of items with few users.

    The minima are *pruning-item* and *pruning-user* of Kasalický (2021), in this order. ``"once"``
    counts before anything is left out, so that who is left may have less; ``"fixpoint"`` goes on
    until all who are left have enough.

    Raises
    ------
    InputError
        If nothing is left.

    Examples
    --------
    Two of each are asked for. Only item c has too few, and without it user w has::

        given        once         fixpoint
        u  a b .     u  a b .     u  a b .
        v  a b .     v  a b .     v  a b .
        w  . b c     w  . b .     w  . . .

    >>> import numpy as np
    >>> from runs import Numbering
    >>> ratings = Ratings(
    ...     Numbering.of("uvw"), Numbering.of("abc"), np.array([0, 0, 1, 1, 2, 2]),
    ...     np.array([0, 1, 0, 1, 1, 2]), np.ones(6),
    ... )
    >>> prune(ratings, min_items_per_user=2, min_users_per_item=2).user.tolist()
    [0, 0, 1, 1, 2]
    >>> prune(
    ...     ratings, min_items_per_user=2, min_users_per_item=2, mode="fixpoint"
    ... ).user.tolist()
    [0, 0, 1, 1]
    """
    enough = partial(with_enough, user_min=min_items_per_user, item_min=min_users_per_item)
    kept = enough(ratings)
    while mode == "fixpoint" and len(fewer := enough(kept)) < len(kept):
        kept = fewer
    if len(kept) == 0:
        raise InputError(
            f"pruning leaves nothing to learn from: no rating is left of users with at least "
            f"{min_items_per_user} items and items with at least {min_users_per_item} users."
        )
    return kept
