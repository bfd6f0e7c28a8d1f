"""Item sets: which distinct items users had, and which users had an item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class ItemSets:
    """Who had what, from both sides, over one numbering of items.

    Parameters
    ----------
    user_starts, items
        Where the items of each user begin, of shape (n_users + 1,), and all of them.
    item_starts, users
        Where the users of each item begin, of shape (n_items + 1,), and all of them.
    """

    user_starts: NDArray[np.int64]
    items: NDArray[np.int32]
    item_starts: NDArray[np.int64]
    users: NDArray[np.int32]

    @classmethod
    def of(cls, events: Interactions) -> ItemSets:
        """Take the distinct items of users."""
        first = events.is_first
        user, item = events.user[first], events.item[first]
        return cls(
            _starts(user, len(events.users)),
            item,
            _starts(item, len(events.items)),
            user[np.argsort(item, kind="stable")],
        )

    @classmethod
    def load(cls, folder: Path) -> ItemSets:
        """Read them back, no more of them than is looked at."""
        return cls(
            *(np.load(folder / f"{name}.npy", mmap_mode="r") for name in cls.__annotations__)
        )

    def save(self, folder: Path) -> None:
        """Write a file for each array."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, column in vars(self).items():
            np.save(folder / f"{name}.npy", column)

    @property
    def user_counts(self) -> NDArray[np.int64]:
        """Users of each item, of shape (n_items,)."""
        return np.diff(self.item_starts)

    def pairs_at_most(self) -> NDArray[np.int64]:
        """Bound the items with which each shares a user, of shape (n_items,), by their users'."""
        sizes = np.diff(self.user_starts)[self.users]
        return np.diff(np.append(0, np.cumsum(sizes))[self.item_starts])

    def common_users(self, first: int, last: int) -> csr_array[Any]:
        """Count the users that some items share with every item; int32 (last - first, n_items)."""
        begin, end = self.item_starts[[first, last]]
        n_users, n_items = len(self.user_starts) - 1, len(self.item_starts) - 1
        starts = self.item_starts[first : last + 1] - begin
        some = _pattern(starts, self.users[begin:end], (last - first, n_users))
        shared: csr_array[Any] = some @ _pattern(self.user_starts, self.items, (n_users, n_items))
        return shared


def _starts(rising_or_not: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(np.bincount(rising_or_not, minlength=n)))


def _pattern(
    starts: NDArray[np.int64], columns: NDArray[np.int32], shape: tuple[int, int]
) -> csr_array[Any]:
    from scipy.sparse import csr_array

    ones = np.ones(len(columns), dtype=np.int32)
    return csr_array((ones, columns, starts.astype(np.int32)), shape=shape)


def blocks_of(bounds: NDArray[np.int64], *, most: int) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks whose bounds add up to no more than that, or of one row.

    Examples
    --------
    >>> list(blocks_of(np.array([3, 1, 9, 2, 2]), most=4))
    [(0, 2), (2, 3), (3, 5)]
    """
    first, room = 0, most
    for row, bound in enumerate(bounds.tolist()):
        if bound > room and row > first:
            yield first, row
            first, room = row, most
        room -= bound
    if len(bounds):
        yield first, len(bounds)
