"""What each user was shown and accepted: all that a click-through rate needs to know of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tallies:
    """Lists shown and accepted, one row for each user, arm and period that has any.

    Users, arms and periods are numbers, the latter two of the names given; lists shown and accepted
    are int64, all of shape (n_rows,). In general what is accepted is the sum of some credit of each
    list, which may be negative.
    """

    arms: tuple[str, ...]
    periods: tuple[str, ...]
    user: NDArray[np.int64]
    arm: NDArray[np.int64]
    period: NDArray[np.int64]
    n_slates: NDArray[np.int64]
    n_accepted: NDArray[np.int64]

    def sums(self) -> Floats:
        """Add up users, lists shown and lists accepted, of shape (3, n_arms, n_periods)."""
        shape = (len(self.arms), len(self.periods))
        cell = self.arm * shape[1] + self.period
        columns = (None, self.n_slates, self.n_accepted)
        sums = [np.bincount(cell, column, minlength=shape[0] * shape[1]) for column in columns]
        return np.array(sums, dtype=np.float64).reshape(3, *shape)

    def in_period(self, number: int) -> Tallies:
        """Keep the rows of one period."""
        kept = self.period == number
        return replace(
            self,
            periods=(self.periods[number],),
            user=self.user[kept],
            arm=self.arm[kept],
            period=np.zeros(np.count_nonzero(kept), dtype=np.int64),
            n_slates=self.n_slates[kept],
            n_accepted=self.n_accepted[kept],
        )


def tally(
    accepted: NDArray[Any],
    *,
    user: NDArray[np.integer],
    arm: NDArray[np.integer],
    arms: Sequence[str],
    period: NDArray[np.integer] | None = None,
    periods: Sequence[str] = ("all",),
) -> Tallies:
    """Count the lists that were shown to each user in each arm and period, and the accepted ones.

    Columns have the shape (n_slates,); acceptance may also be whole numbers, credits of lists.
    """
    when = np.zeros(len(accepted), dtype=np.int64) if period is None else period.astype(np.int64)
    n_cells = len(arms) * len(periods)
    keys = user.astype(np.int64) * n_cells + arm * len(periods) + when
    rows, row = np.unique(keys, return_inverse=True)
    return Tallies(
        tuple(arms),
        tuple(periods),
        user=rows // n_cells,
        arm=rows % n_cells // len(periods),
        period=rows % len(periods),
        n_slates=np.bincount(row, minlength=len(rows)),
        n_accepted=np.bincount(row, accepted, minlength=len(rows)).astype(np.int64),
    )
