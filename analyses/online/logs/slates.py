"""Slates: lists of recommendations that were shown, to whom, when, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.shown import Shown
from runs import InputError, Numbering

Flags = NDArray[np.bool_]
MILLISECONDS_PER_DAY = 86_400_000

Values = TypeVar("Values", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Slates:
    """Lists of items as they were shown, each to one user at one time by one arm.

    What is known of every place in every list is one flat array, list after list: the places of
    list s are ``first[s]`` to ``first[s + 1]``, and ``position`` counts them from 1.

    Parameters
    ----------
    users, items
        The ids behind the numbers; they may hold more than was shown.
    arms
        Names of the arms of the experiment.
    ids
        What the log calls the lists, of shape (n_slates,), each once.
    user, arm
        Numbers, int32 of shape (n_slates,).
    time
        When they were shown, in milliseconds since 1970 in UTC, int64 of shape (n_slates,).
    first
        Where each list begins, and where the last ends, int64 of shape (n_slates + 1,).
    item
        Numbers of the items, int32 of shape (n_places,).
    clicked
        Whether each was clicked, as the log itself says, bool of shape (n_places,), or None.
    propensity
        Chance with which the log's policy put the item there, float64 of shape (n_places,), or
        None.
    versions, version
        Names of the models' versions, and the number of each list's, int32 of shape (n_slates,);
        or None.

    Raises
    ------
    InputError
        If columns differ in length, a list is empty or repeats an item, an id is duplicated, a
        number is not one of an arm, user or item, or a propensity is not in (0, 1].

    Examples
    --------
    >>> slates = Slates.of([["a", "b"], ["b"]], user=["u", "v"], arm=["A", "B"], time=[0, 5])
    >>> slates.position.tolist(), slates.slate.tolist(), slates.lengths.tolist()
    ([1, 2, 1], [0, 0, 1], [2, 1])
    """

    users: Numbering
    items: Numbering
    arms: tuple[str, ...]
    ids: NDArray[np.str_]
    user: NDArray[np.int32]
    arm: NDArray[np.int32]
    time: NDArray[np.int64]
    first: NDArray[np.int64]
    item: NDArray[np.int32]
    clicked: Flags | None = None
    propensity: NDArray[np.float64] | None = None
    versions: tuple[str, ...] = ()
    version: NDArray[np.int32] | None = None

    @classmethod
    def of(
        cls,
        lists: list[list[str]],
        *,
        user: list[str],
        arm: list[str],
        time: list[int],
    ) -> Slates:
        """Number a few lists that are written out; their ids are "1", "2", ..."""
        shown = [item for items_shown in lists for item in items_shown]
        users, items, arms = map(Numbering.of, (user, shown, arm))
        return cls(
            users,
            items,
            tuple(arms.ids.tolist()),
            np.array([str(number + 1) for number in range(len(lists))], dtype=np.str_),
            users.numbers(user),
            arms.numbers(arm),
            np.array(time, dtype=np.int64),
            np.cumsum([0, *map(len, lists)], dtype=np.int64),
            items.numbers(shown),
        )

    def __post_init__(self) -> None:
        self._check_lengths()
        self._check_numbers()
        self._check_lists()
        if self.propensity is not None:
            require_propensities(self.propensity)

    def __len__(self) -> int:
        return len(self.user)

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
        columns = (self.users, self.arms, self.user, self.arm, self.time)
        return Shown(*columns, self.versions, self.version)

    def any_place(self, marked: Flags) -> Flags:
        """Tell which lists, (n_slates,), have a marked place, (n_places,)."""
        if len(self) == 0:
            return np.zeros(0, dtype=np.bool_)
        return np.logical_or.reduceat(marked, self.first[:-1])

    def select(self, kept: Flags) -> Slates:
        """Keep some lists, as flags of shape (n_slates,) say, over the same numbering."""
        places = kept[self.slate]
        return replace(
            self,
            ids=self.ids[kept],
            user=self.user[kept],
            arm=self.arm[kept],
            time=self.time[kept],
            first=np.concatenate([[0], np.cumsum(self.lengths[kept])]),
            item=self.item[places],
            clicked=_kept(self.clicked, places),
            propensity=_kept(self.propensity, places),
            version=_kept(self.version, kept),
        )

    def showing(self, item: NDArray[np.int32]) -> Slates:
        """Show other items to the same users at the same times; nothing is known of their clicks.

        Items are given by their numbers, of shape (n_places,).
        """
        return replace(self, item=item, clicked=None, propensity=None)

    def _check_lengths(self) -> None:
        per_slate = {len(self.user), len(self.arm), len(self.time), len(self.ids)}
        if self.version is not None:
            per_slate.add(len(self.version))
        if per_slate != {len(self.first) - 1}:
            raise InputError("the columns of slates must have one value for each list.")
        per_place = [self.item, self.clicked, self.propensity]
        if {len(column) for column in per_place if column is not None} != {int(self.first[-1])}:
            raise InputError("clicks and propensities of slates must be given for every item.")

    def _check_numbers(self) -> None:
        for what, numbers, n in (
            ("user", self.user, len(self.users)),
            ("arm", self.arm, len(self.arms)),
            ("item", self.item, len(self.items)),
        ):
            if numbers.size and (numbers.min() < 0 or numbers.max() >= n):
                raise InputError(f"slates hold the number of an unknown {what}.")

    def _check_lists(self) -> None:
        if len(set(self.ids.tolist())) < len(self):
            raise InputError("the ids of slates must be unique.")
        if (self.lengths < 1).any():
            at = int((self.lengths < 1).argmax())
            raise InputError(f"a list must hold an item, but {str(self.ids[at])!r} is empty.")
        repeated = first_repetition(self.slate, self.item, n_items=len(self.items))
        if repeated is not None:
            id, item = str(self.ids[self.slate[repeated]]), str(self.items.ids[self.item[repeated]])
            raise InputError(f"a list must not repeat an item, but {id!r} has {item!r} twice.")


def _kept(column: NDArray[Values] | None, kept: Flags) -> NDArray[Values] | None:
    return None if column is None else column[kept]


def first_repetition(
    slate: NDArray[np.int64], item: NDArray[np.int32], *, n_items: int
) -> int | None:
    """Find a place whose item stands in its list a second time, or None.

    Examples
    --------
    >>> first_repetition(np.array([0, 0, 1, 1]), np.array([3, 4, 5, 5]), n_items=6)
    3
    """
    pairs = slate * n_items + item
    rising = np.sort(pairs)
    if not (rising[1:] == rising[:-1]).any():
        return None
    order = np.argsort(pairs, kind="stable")
    again = pairs[order][1:] == pairs[order][:-1]
    return int(order[1:][again].min())


def require_propensities(propensities: NDArray[np.float64]) -> None:
    """Refuse chances that are not in (0, 1].

    Raises
    ------
    InputError
        Naming the first of them.

    Examples
    --------
    >>> require_propensities(np.array([0.5, 0.0]))
    Traceback (most recent call last):
    runs.InputError: a propensity must be in (0, 1], got 0.0 at place 1.
    """
    wrong = ~((propensities > 0) & (propensities <= 1))
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(f"a propensity must be in (0, 1], got {propensities[at]} at place {at}.")


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
