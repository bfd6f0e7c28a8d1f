"""Interactions: which user interacted with which item, when, and how much it counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings
from runs import InputError, Numbering
from runs.shared.arrays import Floats, Integers, Ints, Longs, Masks, Numbers

TYPE_VALUES: Mapping[str, float] = {"view": 0.25, "cart": 0.5, "bookmark": 0.5, "purchase": 1.0}
"""What an interaction counts by its type: the usual values of Kasalický (2021)."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """Events as columns, sorted by (user, time, item); the same event may occur again.

    ``users``, ``items``: the ids behind the numbers; ids without an event may be among them;
    ``user``, ``item``: numbers, int32 of shape (n_events,); ``time``: milliseconds since 1970 in
    UTC, int64 of shape (n_events,); ``value``: what the event counts, float64 of shape (n_events,),
    finite and not negative.
    """

    users: Numbering
    items: Numbering
    user: Ints
    item: Ints
    time: Longs
    value: Floats

    @classmethod
    def of(
        cls,
        users: Numbering,
        items: Numbering,
        *,
        user: Iterable[int] | Integers,
        item: Iterable[int] | Integers,
        time: Iterable[int] | Integers,
        value: Iterable[float] | NDArray[np.floating] | None = None,
    ) -> Interactions:
        """Sort columns, of shape (n_events,), by user, time and item.

        ``user`` and ``item`` are numbers, ``time`` is in milliseconds since 1970 in UTC. Events
        equal in user, time and item stay in the order they are given. Every event counts 1 by
        default. Raises InputError if the columns differ in length, or a value is negative or not
        finite.
        """
        user_column = np.asarray(user, dtype=np.int32)
        item_column = np.asarray(item, dtype=np.int32)
        time_column = np.asarray(time, dtype=np.int64)
        values = np.ones(len(user_column)) if value is None else value
        value_column = np.asarray(values, dtype=np.float64)
        columns = (user_column, item_column, time_column, value_column)
        if len({column.shape for column in columns}) > 1:
            raise InputError("the columns of interactions must have one length.")
        order = np.lexsort((item_column, time_column, user_column))
        return cls(
            users=users,
            items=items,
            user=user_column[order],
            item=item_column[order],
            time=time_column[order],
            value=value_column[order],
        )

    def __post_init__(self) -> None:
        """Raise InputError if events are not sorted, or a value is negative or not finite."""
        # From the last sort key to the first: a row may equal the next one in earlier keys only.
        is_sorted = self.item[1:] >= self.item[:-1]
        for column in (self.time, self.user):
            rises = column[1:] > column[:-1]
            stays = column[1:] == column[:-1]
            is_sorted = rises | (stays & is_sorted)
        if not is_sorted.all():
            raise InputError("interactions must be sorted by (user, time, item).")
        is_valid = np.isfinite(self.value) & (self.value >= 0)
        is_invalid = ~is_valid
        if is_invalid.any():
            row = int(is_invalid.argmax())
            raise InputError(
                "values of interactions must be finite and not negative, got "
                f"{self.value[row]:g} in row {row} by user, time and item."
            )

    def __len__(self) -> int:
        return len(self.user)

    def select(self, rows: Masks | slice) -> Interactions:
        """Keep the events in a mask of shape (n_events,), or a slice, over the same numbering."""
        return replace(
            self,
            user=self.user[rows],
            item=self.item[rows],
            time=self.time[rows],
            value=self.value[rows],
        )

    @cached_property
    def starts(self) -> Longs:
        """Row of the first event of every user, and last the number of events, (n_users + 1,)."""
        user_numbers = np.arange(len(self.users) + 1)
        return np.searchsorted(self.user, user_numbers)

    @cached_property
    def is_first(self) -> Masks:
        """Mark the first event of every pair of a user and an item, of shape (n_events,)."""
        return _first_marker()(self.user, self.item, len(self.items))

    def distinct_item_counts(self) -> Numbers:
        """Count the distinct items of every user, of shape (n_users,)."""
        user_of_pairs = self.user[self.is_first]
        return np.bincount(user_of_pairs, minlength=len(self.users))

    def event_counts(self) -> Numbers:
        """Count the events on every item, repeats too, of shape (n_items,)."""
        return np.bincount(self.item, minlength=len(self.items))

    def totals(self) -> Ratings:
        r"""Add up the values of every user's events on an item: :math:`r_{ui}`, (1.6).

        ``self.user``, ``self.item`` and ``self.value`` are columns of shape (n_events,). There is
        one rating for each pair with a positive sum, without times.
        """
        n_items = np.int64(max(len(self.items), 1))
        # One number for each pair, which `divmod` takes apart again.
        pairs = self.user * n_items + self.item
        distinct_pairs, pair_numbers = np.unique(pairs, return_inverse=True)
        sums = np.bincount(pair_numbers, self.value, minlength=len(distinct_pairs))
        is_positive = sums > 0
        user, item = np.divmod(distinct_pairs[is_positive], n_items)
        positive_sums = sums[is_positive].astype(np.float64)
        return Ratings(
            users=self.users,
            items=self.items,
            user=user.astype(np.int32),
            item=item.astype(np.int32),
            rating=positive_sums,
        )


@cache
def _first_marker() -> Any:
    """Compile a function that marks the first event of each pair of a user and an item.

    It takes the numbers of user and item of each event, (n_events,), sorted by user, and the number
    of items. It returns a mask of shape (n_events,).
    """
    from runs.shared.compiled import jit

    @jit()
    def mark_first(user: Ints, item: Ints, n_items: int) -> Masks:
        """Mark the first row of each pair of a user and an item, of shape (n_events,).

        Rows are sorted by user: an item whose latest user is this one has an earlier row.
        """
        latest_user = np.full(n_items, -1, dtype=np.int32)
        is_first = np.empty(len(user), dtype=np.bool_)
        for row in range(len(user)):
            is_first[row] = latest_user[item[row]] != user[row]
            latest_user[item[row]] = user[row]
        return is_first

    return mark_first
