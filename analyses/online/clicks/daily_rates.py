"""Click-through rates by day: figures 4.1 to 4.5 of Kasalický (2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import ClickThrough
from analyses.shared.drawing import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class DailyRates:
    """Rates of the arms by day (UTC), in order: days on which no list was shown have none."""

    by_day: Mapping[str, ClickThrough]

    def plot(self, ax: Axes | None = None, *, arm: str) -> Axes:
        """Draw the rates of one arm, with their intervals, before those of the others in grey."""
        axes, dates = axes_or_new(ax), np.array([*self.by_day], dtype="datetime64[D]")
        days = (dates - dates[0]).astype(np.int64) + 1
        found = [*self.by_day.values()]
        number = found[0].arms.index(arm)
        rates = np.array([each.rates for each in found])
        low, high = (np.array(ends) for ends in zip(*(each.limits for each in found), strict=True))
        draw_among(axes, days, rates.T, number)
        axes.fill_between(days, low[:, number], high[:, number], color="#0072B2", alpha=0.15, lw=0)
        # The same in all panels, so that none is cut off.
        axes.set_ylim(0, 1.05 * np.nanmax(high))
        axes.set_title(arm)
        axes.set_xlabel("day")
        axes.set_ylabel("click-through rate")
        return axes

    def caption(self) -> str:
        """Say what the days are."""
        return (
            f"Click-through rates on {len(self.by_day):,} days (UTC), each arm before the others; "
            "bands: 95 % by the delta method over the users of the day."
        )


def draw_among(
    axes: Axes, places: NDArray[np.generic], curves: NDArray[np.float64], number: int
) -> None:
    """Draw curves of shape (n_curves, n_places): one in colour, the others grey behind it."""
    for other in np.delete(curves, number, axis=0):
        axes.plot(places, other, color="0.85", linewidth=0.7, zorder=0)
    axes.plot(places, curves[number], color="#0072B2", linewidth=1.4)
