"""What a study says of its report measures in one figure: every number they have, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np

from analyses.shared.drawing import COLOURS, axes_or_new, chosen_panel
from analyses.shared.estimate import Estimates
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LINES_FROM, LINES_APART = 1.03, 0.035
"""Where the lines that join measures stand beside a panel, as shares of its width."""


@dataclass(frozen=True, eq=False)
class Answer(Result):
    """The values by which report measures are compared, with intervals.

    Parameters
    ----------
    every
        Of each quantity, the number of the report measures, from the best.
    """

    every: tuple[Estimates, ...]

    @classmethod
    def of(cls, every: Iterable[Estimates]) -> Answer:
        """Keep what estimates say of the report measures that have a number."""
        return cls(tuple(some for each in every if (some := each.in_order()).measures))

    @property
    def subjects(self) -> tuple[str, ...]:
        """What the quantities are about."""
        return tuple(each.subject for each in self.every)

    @property
    def shown(self) -> Answer | None:
        """What is shown: this, unless no measure has a number."""
        return self if self.every else None

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``answer``.

        Returns
        -------
        One row per quantity and measure, from the best: columns quantity, metric, cutoff, value,
        low, high (95 %), and groups: a letter for each group of measures of which none differs from
        another beyond noise; empty where that is not known.
        """
        import pandas as pd

        found = [_frame(each) for each in self.every]
        return {"answer": pd.concat(found, ignore_index=True)} if found else {}

    @table("answer", "the numbers that compare report measures, with intervals", alias="areas")
    def table(self) -> Table:
        """Tabulate the numbers with their intervals: measures down, quantities across."""
        found = [dict(zip(e.measures, e.of(e.measures).values(), strict=True)) for e in self.every]
        measures = dict.fromkeys(measure for each in found for measure in each)
        rows: list[list[Cell]] = [
            [
                str(m),
                *(c for e in found for c in ((e[m].value, e[m].interval) if m in e else (nan, ""))),
            ]
            for m in measures
        ]
        headings = ["measure", *(heading for each in self.every for heading in (each.name, "95 %"))]
        best = {1 + 2 * n: min if e.lower_is_better else max for n, e in enumerate(self.every)}
        return Table("answer", "Report measures", self.caption(), headings, rows, best)

    @figure(
        "answer",
        "Report measures in order, and how sure that is",
        number=0,
        panels="subject",
        comparable=False,
        roomy=True,
        of="shown",
    )
    def plot(self, ax: Axes | None = None, *, subject: str | None = None) -> Axes:
        """Draw a point a measure with its interval, from the best; lines join groups."""
        ax, found = axes_or_new(ax), self.every[chosen_panel(self.subjects, subject)]
        rows = np.arange(len(found.measures))
        ax.hlines(rows, found.low, found.high, COLOURS[0], linewidth=1.2)
        ax.plot(found.values, rows, "o", color=COLOURS[0], markersize=4)
        beside = ax.get_yaxis_transform()
        joined = [(first, last) for first, last in found.groups() if last > first]
        for number, (first, last) in enumerate(joined):
            x = LINES_FROM + LINES_APART * number
            ends = [first - 0.2, last + 0.2]
            ax.plot([x, x], ends, "0.4", linewidth=2, transform=beside, clip_on=False)
        ax.set_yticks(rows, found.measures.reported.labels)
        ax.invert_yaxis()
        ax.set_xlabel(found.quantity)
        ax.set_title(found.subject)
        return ax

    def caption(self) -> str:
        """Say what the figure shows."""
        falling = [each.quantity for each in self.every if each.lower_is_better]
        less = f" Of {' and '.join(falling)} less is better." if falling else ""
        return (
            f"The report measures, from the best, by every number that compares them.{less} "
            f"Intervals (95 %) are over {self.units}. Lines at the right join measures of which no "
            "two differ beyond noise, in intervals that hold for every two at once."
        )

    def findings(self) -> tuple[str, ...]:
        """Say nothing that the results do not say themselves."""
        return ()


def _frame(found: Estimates) -> pd.DataFrame:
    import pandas as pd

    letters = [""] * len(found.measures)
    for letter, (first, last) in zip(ascii_lowercase, found.groups(), strict=False):
        for place in range(first, last + 1):
            letters[place] += letter
    return pd.DataFrame(
        {
            "quantity": found.name,
            "metric": [measure.metric for measure in found.measures],
            "cutoff": found.measures.column,
            "value": found.values,
            "low": found.low,
            "high": found.high,
            "groups": letters,
        }
    )
