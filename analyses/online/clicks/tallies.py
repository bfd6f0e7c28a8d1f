"""What each user was shown and accepted: all that a click-through rate needs to know of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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

    @cached_property
    def cell(self) -> NDArray[np.int64]:
        """Number of each row's arm and period together, of shape (n_rows,)."""
        return self.arm * len(self.periods) + self.period

    def add_up(self, values: NDArray[Any]) -> Floats:
        """Sum one value of each row over the users, of shape (n_arms, n_periods)."""
        shape = (len(self.arms), len(self.periods))
        sums = np.bincount(self.cell, values, minlength=shape[0] * shape[1])
        return sums.reshape(shape).astype(np.float64)

    def sums(self, weights: NDArray[Any] | float = 1.0) -> Floats:
        """Add up over users, weighted by row: users, lists shown, lists accepted.

        Returns
        -------
        Of shape (3, n_arms, n_periods): exact for whole weights, and so are sums of such sums
        over chunks of users.
        """
        columns = (np.ones(len(self.user)), self.n_slates, self.n_accepted)
        return np.stack([self.add_up(weights * column) for column in columns])

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
