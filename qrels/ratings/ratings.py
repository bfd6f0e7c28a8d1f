"""Ratings: who rated what, how, and when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from runs import InputError, Numbering

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

    Raises
    ------
    InputError
        If the columns differ in length, are not sorted, repeat a pair, or a rating is not
        finite.
    """

    users: Numbering
    items: Numbering
    user: NDArray[np.int32]
    item: NDArray[np.int32]
    rating: NDArray[np.float64]
    time: NDArray[np.int64] | None = None
    held_out: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.user), len(self.item), len(self.rating)}
        lengths |= {len(column) for column in (self.time, self.held_out) if column is not None}
        if len(lengths) > 1:
            raise InputError("the columns of ratings must have one length.")
        pairs = self.user.astype(np.int64) * len(self.items) + self.item
        if (pairs[1:] <= pairs[:-1]).any():
            raise InputError("ratings must be sorted by (user, item), each pair once.")
        if not np.isfinite(self.rating).all():
            raise InputError("ratings must be finite.")

    def __len__(self) -> int:
        return len(self.user)

    def select(self, kept: NDArray[np.bool_]) -> Ratings:
        """Keep some ratings over the same numbering."""
        return replace(
            self,
            user=self.user[kept],
            item=self.item[kept],
            rating=self.rating[kept],
            time=None if self.time is None else self.time[kept],
            held_out=None if self.held_out is None else self.held_out[kept],
        )

    def at_least(self, lowest: float) -> Ratings:
        """Keep the ratings from one on, over the same numbering."""
        return self.select(self.rating >= lowest)

    def item_counts(self) -> NDArray[np.intp]:
        """Count the ratings of every item, of shape (n_items,)."""
        return np.bincount(self.item, minlength=len(self.items))

    def user_counts(self) -> NDArray[np.intp]:
        """Count the ratings of every user, of shape (n_users,)."""
        return np.bincount(self.user, minlength=len(self.users))

    def matrix(self, dtype: type[np.floating] = np.float64) -> csr_array:
        """Give the ratings as a sparse matrix of shape (n_users, n_items)."""
        from scipy.sparse import csr_array

        shape = (len(self.users), len(self.items))
        return csr_array((self.rating.astype(dtype), (self.user, self.item)), shape=shape)


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
        if self.train.users is not self.test.users or self.train.items is not self.test.items:
            raise InputError("train and test must share one numbering.")

    @property
    def test_users(self) -> NDArray[np.int32]:
        """Numbers of the users with at least one test rating, rising."""
        return np.unique(self.test.user)

    @property
    def topics(self) -> Numbering:
        """The test users as the topics of the evaluation: row t of a run is topic t."""
        return self.train.users.select(self.test_users)
