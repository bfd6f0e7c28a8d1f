"""Ratings of items by users, with times; their k-cores; and splits into training and test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from runs import InputError, Numbering
from runs.shared.arrays import Floats, Ints, Longs, Masks, Numbers

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings as columns, sorted by (user, item), each pair once.

    Parameters
    ----------
    users, items
        The ids behind the numbers; ids without a rating may be among them.
    user, item
        Numbers, int32 of shape (n_ratings,).
    rating
        float64 of shape (n_ratings,), finite.
    time
        Seconds since 1970 in UTC, int64 of shape (n_ratings,), or None.
    held_out
        Mask of the ratings that test, of shape (n_ratings,), where the data come split; or None.
    """

    users: Numbering
    items: Numbering
    user: Ints
    item: Ints
    rating: Floats
    time: Longs | None = None
    held_out: Masks | None = None

    def __post_init__(self) -> None:
        """Raise InputError for columns of different lengths, and unsorted or repeated pairs.

        Also for ratings that are infinite or NaN. Columns are of shape (n_ratings,).
        """
        lengths = {len(self.user), len(self.item), len(self.rating)}
        if self.time is not None:
            lengths.add(len(self.time))
        if self.held_out is not None:
            lengths.add(len(self.held_out))
        if len(lengths) > 1:
            raise InputError("the columns of ratings must have one length.")
        pairs = pair_numbers(self.user, self.item, len(self.items))
        if (pairs[1:] <= pairs[:-1]).any():
            raise InputError("ratings must be sorted by (user, item), each pair once.")
        if not np.isfinite(self.rating).all():
            raise InputError("ratings must be finite.")

    def __len__(self) -> int:
        return len(self.user)

    def select(self, rows: Masks) -> Ratings:
        """Keep the ratings in a mask of shape (n_ratings,), over the same numbering."""
        is_mask = rows.dtype == np.bool_ and rows.shape == self.user.shape
        # Places of rows take a third of the time of a mask.
        kept = np.flatnonzero(rows) if is_mask else rows
        time = None if self.time is None else self.time[kept]
        held_out = None if self.held_out is None else self.held_out[kept]
        return replace(
            self,
            user=self.user[kept],
            item=self.item[kept],
            rating=self.rating[kept],
            time=time,
            held_out=held_out,
        )

    def item_counts(self) -> Numbers:
        """Count the ratings of every item, of shape (n_items,)."""
        return np.bincount(self.item, minlength=len(self.items))

    def user_counts(self) -> Numbers:
        """Count the ratings of every user, of shape (n_users,)."""
        return np.bincount(self.user, minlength=len(self.users))

    def matrix(self, dtype: type[np.floating] = np.float64) -> csr_array:
        """Lay the ratings in a sparse matrix of shape (n_users, n_items), of this dtype.

        Columns ``user``, ``item`` (numbers) and ``rating`` are of shape (n_ratings,). A rating of 0
        is stored, too.
        """
        from scipy.sparse import csr_array

        shape = (len(self.users), len(self.items))
        cells = (self.user, self.item)
        values = self.rating.astype(dtype)
        return csr_array((values, cells), shape=shape)


def pair_numbers(user: Ints, item: Ints, n_items: int) -> Longs:
    """Number the pairs of user and item, so that they rise by user, then by item.

    ``user`` and ``item`` are numbers, of shape (n_ratings,), as is the result.
    """
    pairs = user.astype(np.int64)
    pairs *= n_items
    pairs += item
    return pairs


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test ratings over the same numbering.

    Parameters
    ----------
    train, test
        Disjoint ratings that share their ``users`` and ``items``.
    """

    train: Ratings
    test: Ratings

    def __post_init__(self) -> None:
        """Refuse parts whose tables of users or items are not the same objects."""
        has_same_users = self.train.users is self.test.users
        has_same_items = self.train.items is self.test.items
        if not (has_same_users and has_same_items):
            raise InputError("train and test must share one numbering.")

    @property
    def test_users(self) -> Ints:
        """Numbers of the users with at least one test rating, rising."""
        return np.unique(self.test.user)

    @property
    def topics(self) -> Numbering:
        """The test users as the topics of the evaluation: row t of a run is topic t."""
        return self.train.users.select(self.test_users)


def k_core(ratings: Ratings, *, user_min: int = 0, item_min: int = 0) -> Ratings:
    """Keep the largest part where every user and every item has enough ratings.

    Users and items with too few ratings are taken away, which may leave others with too few,
    until none is left; the result does not depend on the order. Users and items that still have
    ratings are numbered anew.

    Parameters
    ----------
    ratings
        What to filter.
    user_min, item_min
        Ratings that every user and every item needs.

    Raises
    ------
    InputError
        If no ratings remain.

    References
    ----------
    Seidman (1983), Network structure and minimum degree, Social Networks 5, here with one
    minimum for each of the two sides.

    Examples
    --------
    User c has only one rating without item z, which has one:

    >>> from runs import Numbering
    >>> user = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    >>> item = np.array([0, 1, 0, 1, 0, 2], dtype=np.int32)
    >>> rating = np.array([5.0, 3.0, 4.0, 2.0, 1.0, 1.0])
    >>> users = Numbering.of(["a", "b", "c"])
    >>> items = Numbering.of(["x", "y", "z"])
    >>> core = k_core(Ratings(users, items, user, item, rating), user_min=2, item_min=2)
    >>> core.users.ids.tolist(), core.items.ids.tolist(), core.rating.tolist()
    (['a', 'b'], ['x', 'y'], [5.0, 3.0, 4.0, 2.0])
    """
    core = ratings
    while len(core):
        remaining = drop_rare(core, user_min=user_min, item_min=item_min)
        if len(remaining) == len(core):
            return renumber(core)
        core = remaining
    raise InputError(
        f"no ratings remain where every user has at least {user_min} and every item "
        f"at least {item_min}; there were {len(ratings)}."
    )


def drop_rare(ratings: Ratings, *, user_min: int, item_min: int) -> Ratings:
    """Leave out the ratings of users and of items that have too few.

    These are users with fewer than ``user_min``, and items with fewer than ``item_min`` ratings,
    counted before any is left out, so that users and items that stay may have fewer afterwards.
    The numbering stays. The result may be empty.
    """
    if user_min <= 0 and item_min <= 0:
        return ratings
    user_has_enough = ratings.user_counts() >= user_min
    item_has_enough = ratings.item_counts() >= item_min
    remains = user_has_enough[ratings.user] & item_has_enough[ratings.item]
    return ratings.select(remains)


def renumber(ratings: Ratings) -> Ratings:
    """Leave users and items without ratings out of the numbering, and number the others anew.

    The ratings stay, in their order.
    """
    users, user = renumbered(ratings.users, ratings.user)
    items, item = renumbered(ratings.items, ratings.item)
    if users is ratings.users and items is ratings.items:
        return ratings
    return replace(ratings, users=users, items=items, user=user, item=item)


def renumbered(numbering: Numbering, numbers: Ints) -> tuple[Numbering, Ints]:
    """Number those ids anew, in their order, that occur among numbers of shape (n_ratings,).

    Returns the numbering of these ids, and the new numbers, int32 of shape (n_ratings,); both are
    the arguments themselves if all ids occur.
    """
    occurs = np.bincount(numbers, minlength=len(numbering)) > 0
    if occurs.all():
        return numbering, numbers
    new_numbers = np.cumsum(occurs, dtype=np.int32) - 1
    return numbering.select(np.flatnonzero(occurs)), new_numbers[numbers]
