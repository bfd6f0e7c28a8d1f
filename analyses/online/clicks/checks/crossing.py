"""Stickiness: whether every user saw one arm alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from runs import InputError

Crossing = Literal["exclude", "first"]


@dataclass(frozen=True, eq=False)
class Stickiness:
    """The arms of users.

    Parameters
    ----------
    users
        Numbers of the users who were shown lists, rising, of shape (n_users,).
    first_arm
        The arm of each user's first list, of shape (n_users,).
    first_time
        When that was, of shape (n_users,).
    crossed
        Whether each user saw another arm too, of shape (n_users,).
    """

    users: NDArray[np.int64]
    first_arm: NDArray[np.int64]
    first_time: NDArray[np.int64]
    crossed: NDArray[np.bool_]

    def select(self, kept: NDArray[np.bool_]) -> Stickiness:
        """Keep some users."""
        return Stickiness(*(column[kept] for column in vars(self).values()))

    def settle(
        self, user: NDArray[np.integer], *, crossing: Crossing
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Say which lists count, and for which arm.

        Of users who saw two arms, lists do not count (``"exclude"``), or they all do for the first
        arm, whichever showed them (``"first"``).

        Returns
        -------
        Whether each list counts, and its arm, of shape (n_slates,) both.
        """
        if crossing not in get_args(Crossing):
            raise InputError(f"`crossing` must be 'exclude' or 'first', got {crossing!r}.")
        row = np.searchsorted(self.users, user)
        counts = ~self.crossed[row] if crossing == "exclude" else np.ones(len(user), dtype=np.bool_)
        return counts, self.first_arm[row]

    def caption(self) -> str:
        """Say how many users saw two arms."""
        n_crossed = int(self.crossed.sum())
        return f"{n_crossed:,} of {len(self.users):,} users were shown lists by more than one arm."


def stickiness(
    user: NDArray[np.integer], arm: NDArray[np.integer], time: NDArray[np.int64]
) -> Stickiness:
    """Find the first arm of every user, and who saw others; from columns of shape (n_slates,).

    Of lists shown at one time, the one that stands first is the first.
    """
    order = np.lexsort((time, user))
    users, heads = np.unique(user[order], return_index=True)
    firsts = order[heads]
    row = np.searchsorted(users, user)
    crossed = np.zeros(len(users), dtype=np.bool_)
    crossed[row[arm != arm[firsts][row]]] = True
    return Stickiness(
        users.astype(np.int64), arm[firsts].astype(np.int64), time[firsts].astype(np.int64), crossed
    )
