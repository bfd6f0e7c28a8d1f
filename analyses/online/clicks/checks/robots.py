"""Robots: click-through rates with and without users whom no person could be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import ClickThrough, click_through, draw_both
from analyses.online.clicks.tallies import tally
from analyses.online.logs.slates import Slates, busy_users

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Robots:
    """Rates of all users, and of those who are not robots: with few enough lists on every day."""

    everyone: ClickThrough
    people: ClickThrough
    per_day: int

    def to_frame(self) -> pd.DataFrame:
        """One row per arm, with and without robots.

        Column users_counted ("all", "without robots") before those of
        `analyses.online.clicks.rates.ClickThrough.to_frame`, among them the mean of users.
        """
        import pandas as pd

        frames = {"all": self.everyone.to_frame(), "without robots": self.people.to_frame()}
        return pd.concat(frames, names=["users_counted"]).reset_index(level=0)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates of every arm with and without robots."""
        return draw_both(ax, {"all": self.everyone, "no robots": self.people})

    def caption(self) -> str:
        """Say who was taken for a robot, and how many."""
        removed = self.everyone.n_slates - self.people.n_slates
        n_users = int((self.everyone.n_users - self.people.n_users).sum())
        share = removed.sum() / max(self.everyone.n_slates.sum(), 1)
        return (
            f"{n_users:,} users with more than {self.per_day:,} lists on a day (UTC) are taken for "
            f"robots; they were shown {share:.1%} of all lists."
        )


def robots(slates: Slates, accepted: NDArray[np.bool_], *, per_day: int) -> Robots:
    """Estimate click-through rates with and without `busy_users`; acceptance is (n_slates,)."""
    busy = busy_users(slates.user, slates.time, per_day=per_day, n_users=len(slates.users))
    kept = ~busy[slates.user]
    everyone, people = (
        click_through(
            tally(accepted[rows], user=slates.user[rows], arm=slates.arm[rows], arms=slates.arms)
        )
        for rows in (np.ones(len(slates), dtype=np.bool_), kept)
    )
    return Robots(everyone, people, per_day)
