"""Result of a log: click-through rates of its arms, their differences, findings and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from analyses.online.thesis_tables import frame_of, thesis_table
from analyses.shared.drawing import colours, draw_band, explain
from analyses.shared.estimate import Estimate
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure
from analyses.shared.sentences import format_p_value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ALPHA: Final = 0.05
"""Significance level of a difference between arms."""

DECIMALS: Final = 5


@dataclass(frozen=True, eq=False)
class Clicks(Result):
    """Click-through rates of the arms of a log.

    Tables by name, the arms, an alarm if users are not split as planned (else empty), what the
    rates are, and remarks.
    """

    tables: Mapping[str, pd.DataFrame]
    arms: tuple[str, ...]
    alarm: str
    note: str
    remarks: tuple[str, ...]

    @property
    def daily(self) -> pd.DataFrame | None:
        """Rates by day, if there are several."""
        return self.tables.get("days")

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Return all tables in full, by name; those of what is not known or asked are missing."""
        return self.tables

    def caption(self) -> str:
        """Describe the rates, and when a list is accepted; an alarm comes first."""
        return f"{self.alarm} {self.note}".strip()

    def caption_of(self, part: str) -> str:
        """Describe the figure over time, by week or day; every part has this caption."""
        unit = self._time_unit
        return f"{self.alarm} Click-through rates of each arm by {unit} (UTC).".strip()

    @property
    def _time_unit(self) -> str:
        """The unit of time of the figure: "week" if there are rates by week, else "day"."""
        return "week" if "weeks" in self.tables else "day"

    def findings(self) -> Sequence[str]:
        """State which arm has the highest rate, if users are split as planned, else the alarm.

        The tables "arms" and "differences" hold the rates and their differences.
        """
        if self.alarm:
            return [self.alarm, "No arm is called best, as users are not split as planned."]
        return [verdict(self.tables["arms"], self.tables["differences"])]

    def cautions(self) -> Sequence[str]:
        """State what weakens the rates, and the remarks on the models."""
        return self.remarks

    clicks_rates = frame_of(
        "clicks_rates", "click-through rates of the arms", frame="arms", decimals=DECIMALS
    )
    clicks_differences = frame_of(
        "clicks_differences",
        "differences of the arms' click-through rates",
        "Intervals are for each pair alone; p_holm is adjusted for all pairs (Holm's method).",
        frame="differences",
        decimals=DECIMALS,
    )
    clicks_split = frame_of(
        "clicks_split",
        "users per arm against the plan",
        "Chi-square test; users are counted in the arm of their first list.",
        frame="split",
    )
    clicks_periods = frame_of(
        "clicks_periods",
        "click-through rates by version of the model",
        "A period is the time in which a version of an arm's model was live.",
        frame="periods",
        decimals=DECIMALS,
    )
    thesis2021_table4_1 = thesis_table("4.1", "settings of the arms' models")
    thesis2021_table4_2 = thesis_table("4.2", "periods, users and lists of the arms")

    @figure(
        "thesis2021-figure4.1",
        "Click-through rates over time (figures 4.1 to 4.5 of Kasalický 2021)",
        panels="arm",
        part="daily",
    )
    def plot_over_time(self, ax: Axes, *, arm: str) -> None:
        """Draw the rates of an arm by day, with their intervals, before those of the others.

        By week, if the tables have rates by week. Days are numbered from the first, which is 1. An
        alarm is written above the figure.
        """
        unit = self._time_unit
        rates = self.tables[f"{unit}s"]
        if unit == "day":
            dates = rates["day"].to_numpy().astype("datetime64[D]")
            days = (dates - dates[0]).astype(np.int64) + 1
            rates = rates.assign(day=days)
        rates = rates.astype({unit: int})
        curves = rates.pivot(index=unit, columns="arm", values="rate")
        draw_among(ax, curves, arm)
        arm_rates = rates[rates["arm"] == arm]
        positions = arm_rates[unit].to_numpy()
        style = {"color": colours()[0]}
        low = arm_rates["low"].to_numpy()
        high = arm_rates["high"].to_numpy()
        draw_band(
            ax,
            positions,
            (low, high),
            style,
            label=arm,
            explanation=f"Bands: 95 % intervals over the users of a {unit}.",
        )
        # The same in all panels, so that none is cut off.
        highest = rates[["rate", "high"]].max().max()
        # Where all rates are 0, matplotlib chooses the limit.
        ax.set_ylim(0, 1.05 * highest or None)
        ax.locator_params(axis="x", integer=True)
        ax.set(xlabel=unit, ylabel="click-through rate")
        if self.alarm and ax.figure is not None:
            text = "Sample-ratio mismatch (p < .001)"
            ax.figure.suptitle(text, color="#C00000", fontweight="bold")


def draw_among(axes: Axes, curves: pd.DataFrame, arm: str) -> None:
    """Draw the curve of an arm in colour, and those of the others grey behind it.

    ``curves``: a column for each arm; the index is the horizontal axis.
    """
    for other_arm in curves.columns.drop(arm):
        (line,) = axes.plot(curves.index, curves[other_arm], color="0.85", linewidth=0.7, zorder=0)
        explain(line, "Grey: the other arms.")
    axes.plot(curves.index, curves[arm], color=colours()[0], linewidth=1.4)
    axes.set_title(arm)


def verdict(rates: pd.DataFrame, pairs: pd.DataFrame) -> str:
    """State which arm has the highest rate, if it is significantly higher.

    An arm is named best if its rate is significantly above that of each other arm, by Holm's method
    over all pairs, and then the nearest other arm is named; else the nearest that it is not
    significantly above. ``rates``: columns arm and rate; ``pairs``: the table of `differences`,
    with the columns arm_a, arm_b, difference (a less b), low, high and p_holm. Another sentence
    says that a log has one arm.
    """
    if len(rates) < 2:
        return "The log has only one arm, so no rates are compared."
    best = rates["arm"].iloc[int(rates["rate"].argmax())]
    comparisons = _comparisons_of(best, pairs)
    is_significant = comparisons["p_holm"] < ALPHA
    if is_significant.all():
        row = comparisons.iloc[0]
        opening = f"Arm {best} has the highest click-through rate"
    else:
        row = comparisons[~is_significant].iloc[0]
        opening = "No arm has a significantly higher click-through rate than all others"
    # The pair is chosen: its interval, for one pair alone, stands in the table of differences.
    pair = Estimate(float(row["difference"]), float(row["low"]), float(row["high"]))
    gap = rounded(pair.value, pair.decimals)
    p = format_p_value(float(row["p_holm"]))
    other_arm = row["arm_b"]
    return f"{opening}: the rate of {best} is {gap} above that of {other_arm} ({p}, Holm's method)."


def _comparisons_of(arm: str, pairs: pd.DataFrame) -> pd.DataFrame:
    """Select the differences of an arm less each other arm, the smallest first.

    ``pairs``: the table of `differences`, each pair once; columns stay.
    """
    import pandas as pd

    swapped = pairs.rename(
        columns={"arm_a": "arm_b", "arm_b": "arm_a", "low": "high", "high": "low"}
    )
    swapped[["difference", "low", "high"]] *= -1
    both_directions = pd.concat([pairs, swapped]).sort_values("difference")
    return both_directions[both_directions["arm_a"] == arm]
