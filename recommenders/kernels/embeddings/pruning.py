"""Pruning: users with few items and items with few users are not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from qrels.ratings.ratings import Ratings
from runs import InputError

Prune: TypeAlias = Literal["once", "fixpoint"]


@dataclass(frozen=True, eq=False)
class Pruned:
    """What is left, and how much went.

    Parameters
    ----------
    kept
        Ratings over the same numbering.
    n_users, n_items, n_ratings
        Users and items with a rating, and ratings, before anything was left out.
    rounds
        How often something was left out.
    """

    kept: Ratings
    n_users: int
    n_items: int
    n_ratings: int
    rounds: int

    def in_words(self) -> str:
        """Say what went.

        Examples
        --------
        >>> from runs import Numbering
        >>> ratings = Ratings(
        ...     Numbering.of("uv"), Numbering.of("ab"), np.array([0, 0, 1]), np.array([0, 1, 1]),
        ...     np.ones(3),
        ... )
        >>> prune(ratings, min_items_per_user=2, min_users_per_item=1).in_words()
        'pruning took 1 of 2 users, 0 of 2 items and 1 of 3 ratings, in rounds: 1.'
        """
        users, items = _active(self.kept)
        return (
            f"pruning took {self.n_users - users:,} of {self.n_users:,} users, "
            f"{self.n_items - items:,} of {self.n_items:,} items and "
            f"{self.n_ratings - len(self.kept):,} of {self.n_ratings:,} ratings, "
            f"in rounds: {self.rounds}."
        )


def prune(
    ratings: Ratings,
    *,
    min_items_per_user: int,
    min_users_per_item: int,
    mode: Prune = "once",
) -> Pruned:
    """Leave out the ratings of users with few items and of items with few users.

    Parameters
    ----------
    ratings
        Each pair of a user and an item once.
    min_items_per_user, min_users_per_item
        What a user and an item must have to be kept: *pruning-item* and *pruning-user* of
        Kasalický (2021), in this order.
    mode
        ``"once"`` counts before anything is left out, so that who is left may have less;
        ``"fixpoint"`` goes on until all who are left have enough.

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

    >>> from runs import Numbering
    >>> ratings = Ratings(
    ...     Numbering.of("uvw"), Numbering.of("abc"), np.array([0, 0, 1, 1, 2, 2]),
    ...     np.array([0, 1, 0, 1, 1, 2]), np.ones(6),
    ... )
    >>> prune(ratings, min_items_per_user=2, min_users_per_item=2).kept.user.tolist()
    [0, 0, 1, 1, 2]
    >>> prune(
    ...     ratings, min_items_per_user=2, min_users_per_item=2, mode="fixpoint"
    ... ).kept.user.tolist()
    [0, 0, 1, 1]
    """
    kept, rounds = ratings, 0
    while True:
        fewer = _pruned_once(kept, min_items_per_user, min_users_per_item)
        if len(fewer) == len(kept):
            break
        kept, rounds = fewer, rounds + 1
        if mode == "once":
            break
    if len(kept) == 0:
        raise InputError(
            f"pruning leaves nothing to learn from: no rating is left of users with at least "
            f"{min_items_per_user} items and items with at least {min_users_per_item} users."
        )
    return Pruned(kept, *_active(ratings), len(ratings), rounds)


def _pruned_once(ratings: Ratings, min_items_per_user: int, min_users_per_item: int) -> Ratings:
    active = ratings.user_counts() >= min_items_per_user
    often = ratings.item_counts() >= min_users_per_item
    return ratings.select(active[ratings.user] & often[ratings.item])


def _active(ratings: Ratings) -> tuple[int, int]:
    """Count the users and the items with a rating."""
    counts = (ratings.user_counts(), ratings.item_counts())
    return int(np.count_nonzero(counts[0])), int(np.count_nonzero(counts[1]))
