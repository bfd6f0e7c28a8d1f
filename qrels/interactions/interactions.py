"""Interactions: who did something with which item, when, and how much it counts."""

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
        """Sort columns; events equal in user, time and item stay in the order they are given.

        Every event counts 1 by default.
        """
        user_column = np.asarray(user, dtype=np.int32)
        item_column = np.asarray(item, dtype=np.int32)
        time_column = np.asarray(time, dtype=np.int64)
        values = np.ones(len(user_column)) if value is None else np.asarray(value, np.float64)
        columns = (user_column, item_column, time_column, values)
        if len({column.shape for column in columns}) > 1:
            raise InputError("the columns of interactions must have one length.")
        order = np.lexsort((item_column, time_column, user_column))
        return cls(users, items, *(column[order] for column in columns))  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        rises = self.item[1:] >= self.item[:-1]
        for column in (self.time, self.user):
            rises = (column[1:] > column[:-1]) | (column[1:] == column[:-1]) & rises
        if not rises.all():
            raise InputError("interactions must be sorted by (user, time, item).")
        wrong = ~(np.isfinite(self.value) & (self.value >= 0))
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                "values of interactions must be finite and not negative, got "
                f"{self.value[row]:g} in row {row} by user, time and item."
            )

    def __len__(self) -> int:
        return len(self.user)

    def select(self, kept: Masks | slice) -> Interactions:
        """Keep some events over the same numbering."""
        columns = ("user", "item", "time", "value")
        return replace(self, **{name: getattr(self, name)[kept] for name in columns})

    @cached_property
    def starts(self) -> Longs:
        """Row of the first event of every user, and the number of events: (n_users + 1,)."""
        return np.searchsorted(self.user, np.arange(len(self.users) + 1))

    @cached_property
    def is_first(self) -> Masks:
        """Mark the first event of every pair of a user and an item, of shape (n_events,)."""
        return _first_marker()(self.user, self.item, len(self.items))

    def distinct_item_counts(self) -> Numbers:
        """Count the distinct items of every user, of shape (n_users,)."""
        return np.bincount(self.user[self.is_first], minlength=len(self.users))

    def event_counts(self) -> Numbers:
        """Count the events on every item, repeats too, of shape (n_items,)."""
        return np.bincount(self.item, minlength=len(self.items))

    def totals(self) -> Ratings:
        r"""Add up the values of every user's events on an item: :math:`r_{ui}`, (1.6).

        There is one rating for each pair with a positive sum, without times.
        """
        n_items = np.int64(max(len(self.items), 1))
        distinct, group = np.unique(self.user * n_items + self.item, return_inverse=True)
        sums = np.bincount(group, self.value, minlength=len(distinct)).astype(np.float64)
        positive = sums > 0
        user, item = (n.astype(np.int32) for n in np.divmod(distinct[positive], n_items))
        return Ratings(self.users, self.items, user, item, sums[positive])


@cache
def _first_marker() -> Any:
    """Compile a loop that marks the first row of each pair; rows of a user are together."""
    from runs.shared.compiled import jit

    @jit()
    def mark_first(user: Ints, item: Ints, n_items: int) -> Masks:
        latest = np.full(n_items, -1, dtype=np.int32)
        first = np.empty(len(user), dtype=np.bool_)
        for row in range(len(user)):
            first[row] = latest[item[row]] != user[row]
            latest[item[row]] = user[row]
        return first

    return mark_first
