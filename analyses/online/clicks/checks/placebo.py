"""Placebo: how much of an implicit click-through rate would have been there without showing lists.

A user who looks at an item soon after it was recommended need not have seen the recommendation.
Lists that were *not* shown, made for the same users and times, are "accepted" by such views alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import ClickThrough, click_through, draw_both, with_limits
from analyses.online.clicks.tallies import tally
from analyses.online.logs.slates import Slates
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Accept = Callable[[Slates], NDArray[np.bool_]]
"""Tells which lists would count as accepted, of shape (n_slates,)."""


@dataclass(frozen=True, eq=False)
class Placebo:
    """Click-through rates of lists that were shown, and of others that were not.

    Parameters
    ----------
    shown, placebo
        Rates of both.
    excess
        Rates of the difference, list by list: the rate that showing the lists made, as far as the
        placebo tells. Its errors know that both come from the same users.
    """

    shown: ClickThrough
    placebo: ClickThrough
    excess: ClickThrough

    def to_frame(self) -> pd.DataFrame:
        """One row per arm.

        Columns arm, rate, placebo, excess, error, low and high (of the excess; 95 %, over users).
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "arm": self.shown.arms,
                "rate": self.shown.rates,
                "placebo": self.placebo.rates,
                "excess": self.excess.rates,
                **with_limits(self.excess.rates, self.excess.errors),
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both rates of every arm, with intervals over users."""
        return draw_both(ax, {"shown": self.shown, "placebo": self.placebo})

    def caption(self) -> str:
        """Say what the placebo is."""
        return (
            "Click-through rates beside those of a placebo: other lists for the same users and "
            "times, which were not shown. The excess is their difference, with 95 % intervals over "
            "users."
        )


def placebo(slates: Slates, alternatives: Slates, accept: Accept) -> Placebo:
    """Compare lists with others that could have been shown to the same users at the same times.

    Alternatives are in the same order, such as those that another arm's model makes; see
    `analyses.online.logs.slates.Slates.showing`. An item that both hold is accepted in both, so
    that the excess is that of what they do not share.

    Raises
    ------
    InputError
        If the alternatives are not for the same users, arms and times.
    """
    same = (slates.user, alternatives.user), (slates.arm, alternatives.arm)
    times = slates.time, alternatives.time
    if not all(np.array_equal(*pair) for pair in (*same, times)):
        raise InputError("a placebo must be for the users, arms and times of the lists shown.")
    accepted, by_chance = accept(slates).astype(np.int64), accept(alternatives).astype(np.int64)
    rates = (
        click_through(tally(credits, user=slates.user, arm=slates.arm, arms=slates.arms))
        for credits in (accepted, by_chance, accepted - by_chance)
    )
    return Placebo(*rates)
