"""Lists of recommendations that were shown, to whom, when, and what users did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from runs import InputError, Numbering

Flags = NDArray[np.bool_]
MILLISECONDS_PER_DAY = 86_400_000

Values = TypeVar("Values", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Shown:
    """Lists without their items: all that rates need, once it is known which were accepted.

    Users may be more than were shown lists. User, arm and version are numbers, int32, the time is
    in milliseconds since 1970 in UTC, int64, all of shape (n_slates,); versions may be unknown.
    """

    users: Numbering
    arms: tuple[str, ...]
    user: NDArray[np.int32]
    arm: NDArray[np.int32]
    time: NDArray[np.int64]
    versions: tuple[str, ...] = ()
    version: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.user)


def join_shown(parts: Sequence[Shown]) -> Shown:
    """Put lists of different users together, over the numberings of all."""
    users = Numbering.of(np.concatenate([part.users.ids for part in parts]))
    arms, versions = (
        Numbering.of([name for part in parts for name in getattr(part, names)])
        for names in ("arms", "versions")
    )
    version = [
        versions.numbers(part.versions)[part.version] for part in parts if part.version is not None
    ]
    return Shown(
        users,
        tuple(arms.ids.tolist()),
        np.concatenate([users.numbers(part.users.ids)[part.user] for part in parts]),
        np.concatenate([arms.numbers(part.arms)[part.arm] for part in parts]),
        np.concatenate([part.time for part in parts]),
        tuple(versions.ids.tolist()),
        np.concatenate(version) if version else None,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Slates(Shown):
    """Lists with their items, none of them empty or with an item twice.

    What is known of every place in every list is one flat array, list after list: the places of
    list s are ``first[s]`` to ``first[s + 1]``, and ``position`` counts them from 1.

    Lists have ids, each once, and items numbers; there may be more items than were shown. What was
    clicked, as the log itself says, and the propensity, with which the log's policy put the item
    there, in (0, 1], are of shape (n_places,), as items are, or None.

    Examples
    --------
    >>> slates = Slates.of([["a", "b"], ["b"]], user=["u", "v"], arm=["A", "B"], time=[0, 5])
    >>> slates.position.tolist(), slates.slate.tolist(), slates.lengths.tolist()
    ([1, 2, 1], [0, 0, 1], [2, 1])
    """

    items: Numbering
    ids: NDArray[np.str_]
    first: NDArray[np.int64]
    item: NDArray[np.int32]
    clicked: Flags | None = None
    propensity: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls, lists: list[list[str]], *, user: list[str], arm: list[str], time: list[int]
    ) -> Slates:
        """Number a few lists that are written out; their ids are "1", "2", ..."""
        shown = [item for items_shown in lists for item in items_shown]
        users, items, arms = map(Numbering.of, (user, shown, arm))
        return cls(
            users,
            tuple(arms.ids.tolist()),
            users.numbers(user),
            arms.numbers(arm),
            np.array(time, dtype=np.int64),
            items=items,
            ids=np.array([str(number + 1) for number in range(len(lists))], dtype=np.str_),
            first=np.cumsum([0, *map(len, lists)], dtype=np.int64),
            item=items.numbers(shown),
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Items in each list, of shape (n_slates,)."""
        return np.diff(self.first)

    @cached_property
    def slate(self) -> NDArray[np.int64]:
        """Number of the list that each place belongs to, of shape (n_places,)."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def position(self) -> NDArray[np.int64]:
        """Position of each place in its list, from 1, of shape (n_places,)."""
        return np.arange(len(self.item)) - self.first[self.slate] + 1

    @property
    def shown(self) -> Shown:
        """The lists without their items."""
        return Shown(*(getattr(self, field.name) for field in fields(Shown)))

    def any_place(self, marked: Flags) -> Flags:
        """Tell which lists, (n_slates,), have a marked place, (n_places,)."""
        if len(self) == 0:
            return np.zeros(0, dtype=np.bool_)
        return np.logical_or.reduceat(marked, self.first[:-1])


@dataclass(frozen=True, eq=False)
class Events:
    """Interactions as columns, in the order of the log.

    Users and items are those of the slates, so that both can be matched; types have names, such as
    "view" and "purchase". All columns have the shape (n_events,): numbers, int32; milliseconds
    since 1970 in UTC, int64; what each is worth for training, float64; and the number of the list
    that led to it by its own account, int64, -1 for none (None if the log never says).
    """

    users: Numbering
    items: Numbering
    types: tuple[str, ...]
    user: NDArray[np.int32]
    item: NDArray[np.int32]
    type: NDArray[np.int32]
    time: NDArray[np.int64]
    value: NDArray[np.float64]
    slate: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.user)


def busy_users(
    user: NDArray[np.int32], time: NDArray[np.int64], *, per_day: int, n_users: int
) -> Flags:
    """Find users who were shown more lists on some day of UTC than a person looks at.

    The rule does not look at the arm, so that it cannot favour one. User and time are those of each
    list, of shape (n_slates,); the result is of shape (n_users,).
    """
    if per_day < 1:
        raise InputError(f"`per_day` must be at least 1 list, got {per_day}.")
    day = time // MILLISECONDS_PER_DAY
    day = day - day.min(initial=0)
    days, n_lists = np.unique(user * (day.max(initial=0) + 1) + day, return_counts=True)
    busy = np.zeros(n_users, dtype=np.bool_)
    busy[days[n_lists > per_day] // (day.max(initial=0) + 1)] = True
    return busy
