"""A run: what one system recommends to every user, in order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Floats, Ints, Masks, Numbers
from runs.shared.arrow import arrow_stream
from runs.shared.errors import InputError

NO_ITEM = np.int32(-1)


@dataclass(frozen=True, eq=False)
class Run:
    """Ranked lists of one system: the order of the items, without scores.

    Parameters
    ----------
    system
        Name of the system, which is the tag of the TREC run file.
    items
        Item numbers, int32 of shape (n_users, depth); column 0 is rank 1. A shorter list ends with
        -1.
    tied
        Whether the item at each rank has the same score as the next, of the shape of ``items``;
        None where scores are not known.

    Raises
    ------
    InputError
        If the array has another type or shape, a list has a gap, or names an item twice.

    Examples
    --------
    >>> run = Run("popularity", np.array([[7, 3], [7, -1]], dtype=np.int32))
    >>> run.lengths
    array([2, 1])
    """

    system: str
    items: Ints
    tied: Masks | None = None

    def __post_init__(self) -> None:
        """Raise InputError for items of another type or shape, a list with a gap, or an item twice.

        Items are numbers, int32 of shape (n_users, depth), -1 at the end of shorter lists.
        """
        if self.items.ndim != 2 or self.items.dtype != np.int32:
            raise InputError(
                f"the items of a run must be int32 of shape (n_users, depth), got "
                f"{self.items.dtype} of shape {self.items.shape}."
            )
        is_absent = self.items < 0
        begins_a_gap = is_absent[:, :-1] & ~is_absent[:, 1:]
        if begins_a_gap.any():
            row = int(begins_a_gap.any(axis=1).argmax())
            raise InputError(f"the list of user number {row} of {self.system!r} has a hole.")
        sorted_items = np.sort(self.items, axis=1)
        equals_previous = sorted_items[:, 1:] == sorted_items[:, :-1]
        is_repeated = equals_previous & (sorted_items[:, 1:] >= 0)
        if is_repeated.any():
            row, column = np.argwhere(is_repeated)[0]
            raise InputError(
                f"the list of user number {row} of {self.system!r} names item number "
                f"{sorted_items[row, column]} twice."
            )

    def __repr__(self) -> str:
        """Print the size, and the first 10 items of the first 5 users."""
        size = f"{self.n_users:,} users, depth {self.depth}"
        first_items = self.items[:5, :10]
        return f"Run {self.system!r}: {size}; the first items of the first users:\n{first_items}"

    @property
    def n_users(self) -> int:
        """Number of lists."""
        return self.items.shape[0]

    @property
    def depth(self) -> int:
        """Number of ranks, the length of the longest possible list."""
        return self.items.shape[1]

    @cached_property
    def lengths(self) -> Numbers:
        """Number of items recommended to each user, of shape (n_users,)."""
        return np.count_nonzero(self.items >= 0, axis=1)

    def with_ties_by(self, tie_breakers: Floats) -> Run:
        """Order items of equal score by falling tie-breakers; other items keep their ranks.

        Parameters
        ----------
        tie_breakers
            A number for the item at each rank, of shape (n_users, depth). Items that are equal in
            this, too, keep their order.

        Returns
        -------
        The run in its new order; the run as it is where ties are not known.

        Examples
        --------
        >>> run = Run("s", np.array([[7, 3, 5]], dtype=np.int32), np.array([[True, False, False]]))
        >>> run.with_ties_by(np.array([[0.0, 1.0, 2.0]])).items
        array([[3, 7, 5]], dtype=int32)
        """
        if self.tied is None:
            tied_with_next = np.zeros(self.items.shape, dtype=np.bool_)
        else:
            tied_with_next = self.tied
        # A group of equal scores begins where the rank before is not tied with this one. Rank 1
        # gets the value of the last rank, which does not matter: groups are only compared.
        begins_a_group = np.roll(~tied_with_next, 1, axis=1)
        group_numbers = np.cumsum(begins_a_group, axis=1)
        order = np.lexsort((-tie_breakers, group_numbers))
        reordered_items = np.take_along_axis(self.items, order, axis=1)
        return Run(self.system, reordered_items, self.tied)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand out the lists as Arrow: columns user and item (numbers), and rank, from 1."""
        users, columns = np.nonzero(self.items >= 0)
        listed: dict[str, NDArray[np.integer]] = {
            "user": users,
            "item": self.items[users, columns],
            "rank": columns + 1,
        }
        return arrow_stream(listed, requested_schema=requested_schema)


def top_items(scores: NDArray[np.floating], *, depth: int) -> Ints:
    """Order items by score: the one place where ties are settled.

    Higher scores first, equal scores by item number, lower first. Scores are compared as
    float32, as LensKit's lists hold them. NaN and minus infinity mean "not a candidate".

    Parameters
    ----------
    scores
        Scores of all items, of shape (n_users, n_items).
    depth
        Number of ranks to fill.

    Returns
    -------
    Item numbers by rank, int32 of shape (n_users, depth), -1 at the end of short lists.

    Examples
    --------
    Items 1 and 2 tie; item 3 is no candidate:

    >>> top_items(np.array([[0.1, 0.5, 0.5, -np.inf]]), depth=4)
    array([[ 1,  2,  0, -1]], dtype=int32)
    """
    from runs.top_items_loop import fill_highest

    items = np.full((len(scores), depth), NO_ITEM, dtype=np.int32)
    if depth:
        fill_highest(np.ascontiguousarray(scores), items[:, : scores.shape[1]])
    return items
