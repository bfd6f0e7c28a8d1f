"""Whether users stay in their arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.slates import Flags

Crossing = Literal["exclude", "first"]


@dataclass(frozen=True, eq=False)
class Stickiness:
    """Who was shown lists, by which arm first and when, and who by another arm, too.

    Numbers of the users, rising; the rest by user, all of shape (n_users,).
    """

    users: NDArray[np.int64]
    first_arm: NDArray[np.int64]
    first_time: NDArray[np.int64]
    crossed: Flags

    def select(self, kept: Flags) -> Stickiness:
        """Keep some users."""
        return Stickiness(*(column[kept] for column in vars(self).values()))

    def settle(
        self, user: NDArray[np.integer], *, crossing: Crossing
    ) -> tuple[Flags, NDArray[np.int64]]:
        """Say which lists count, and for which arm, both of shape (n_slates,).

        Of users who saw two arms, lists do not count (``"exclude"``), or they all do for the first
        arm, whichever showed them (``"first"``).
        """
        row = np.searchsorted(self.users, user)
        counts = ~self.crossed[row] if crossing == "exclude" else np.ones(len(user), dtype=np.bool_)
        return counts, self.first_arm[row]


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
