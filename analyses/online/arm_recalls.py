"""How many hidden items the models of an experiment's arms find, under every exponent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.arms import ArmSettings, ExperimentWork, Place
from analyses.online.clicks import draw_among
from analyses.recall.parametrisations import VALIDATIONS
from analyses.recall.recall import RecallGrid, draw_recalls
from analyses.shared.analysis import analysis
from analyses.shared.drawing import axes_or_new
from analyses.shared.result import Result, figure, table
from analyses.shared.spreads import REACH
from analyses.shared.table import Cell, Table, shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

MOST_PANELS = 5
"""Arms up to which all are drawn, as in the thesis."""


@analysis(
    "arm_recalls", source="Kasalický (2021), section 4.3", needs=["experiment"], on_request=True
)
def arm_recalls(work: ExperimentWork, settings: ArmSettings) -> ArmRecalls:
    """Measure the recall of every arm's model in every period, with intervals over users."""
    with work.progress("Measuring recall", 1) as bar:
        sides = work.sides(settings)
        whole = sides.experiment
        assert whole.value_errors is not None
        found = ArmRecalls(
            arms=sides.arms,
            names=whole.measures,
            values=whole.values,
            errors=whole.value_errors,
            rates=whole.rates,
            places=tuple(sides.grids),
            grids=tuple(sides.grids.values()),
            shown=tuple(sides.shown),
        )
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class ArmRecalls(Result):
    """Offline values of the arms of an experiment.

    Measures are the recall variants, then others; their means over the periods, and standard errors
    over users of differences between arms, are of shape (n_measures, n_arms), rates (n_arms,).
    There are recalls by arm and period (from 0). The measures shown, by number, stand in the table
    of recalls, and the last of them is followed over the periods.
    """

    arms: tuple[str, ...]
    names: tuple[str, ...]
    values: Floats
    errors: Floats
    rates: Floats
    places: tuple[Place, ...]
    grids: tuple[RecallGrid, ...]
    shown: tuple[int, ...]

    @property
    def panels(self) -> tuple[str, ...]:
        """Validations by arms: all of up to five, else the most, middling and least clicked."""
        order = np.argsort(-self.rates, kind="stable")
        places = {*range(len(order))}
        if len(order) > MOST_PANELS:
            places = {0, len(order) // 2, len(order) - 1}
        arms = [self.arms[order[place]] for place in sorted(places)]
        return tuple(f"{arm}, {way}" for way, arm in product(VALIDATIONS, arms))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name.

        Returns
        -------
        ``values`` (model, measure, value, error), as `harness online` reads it; and ``recall``,
        every recall in every period with what it rests on.
        """
        import pandas as pd

        model, measure = (axis.ravel() for axis in np.indices(self.values.T.shape))
        values = pd.DataFrame(
            {
                "model": np.array(self.arms, dtype=object)[model],
                "measure": np.array(self.names, dtype=object)[measure],
                "value": self.values.T.ravel(),
                "error": self.errors.T.ravel(),
            }
        )
        recall = [
            grid.to_frame().assign(arm=arm, period=period + 1)
            for (arm, period), grid in zip(self.places, self.grids, strict=True)
        ]
        return {
            "values": values,
            "recall": pd.concat(recall, ignore_index=True),
        }

    def caption(self) -> str:
        """Say what was measured, and that its level says nothing."""
        return (
            f"Recall of hidden items by the models of {len(self.arms)} arms, measured again "
            "whenever they learnt; the test users are the same in all periods, so that points are "
            "not independent. Over the exponent: means over the periods, a line for each cut-off; "
            "of more than five arms those that were clicked most, in the middle and least. Above: "
            "the effective share of the hidden items. The level of a recall says nothing about "
            "its worth."
        )

    @table("recall_of_arms", "recall of the arms (table 4.3)")
    def recall_of_arms_table(self) -> Table:
        """Tabulate recalls with low, middle and high exponents, by arm."""
        columns = [self.names[number] for number in self.shown]
        numbers = zip(self.values[[*self.shown]].T, self.errors[[*self.shown]].T, strict=True)
        rows: list[list[Cell]] = [
            [arm, *(f"{shown(value)} ± {shown(error)}" for value, error in zip(*both, strict=True))]
            for arm, both in zip(self.arms, numbers, strict=True)
        ]
        note = "With standard errors over users, of differences between the arms."
        return Table(
            "recall_of_arms", "Recall of the arms (table 4.3)", note, ["arm", *columns], rows
        )

    @figure("recall_over_time", "Recall over time (figure 4.6)", panels="arm")
    def plot_over_time(self, ax: Axes | None = None, *, arm: str) -> Axes:
        """Draw one recall variant of an arm over the periods, with errors, before all others."""
        ax, number = axes_or_new(ax), self.shown[-1]
        n_periods = 1 + max(period for _, period in self.places)
        curves = np.full((len(self.arms), n_periods), np.nan)
        for (name, period), grid in zip(self.places, self.grids, strict=True):
            curves[self.arms.index(name), period] = grid.values.ravel()[number]
        row, periods = self.arms.index(arm), np.arange(n_periods) + 1
        draw_among(ax, periods, curves, row)
        reach = REACH * self.errors[number, row]
        ax.fill_between(periods, curves[row] - reach, curves[row] + reach, alpha=0.15, linewidth=0)
        ax.locator_params(axis="x", integer=True)
        ax.set_title(arm)
        ax.set_xlabel("period")
        ax.set_ylabel(self.names[number])
        return ax

    @figure(
        "recall_over_beta",
        "Recall over the exponent of popularity (figures 4.7 to 4.11)",
        panels="panel",
    )
    def plot_over_beta(self, ax: Axes | None = None, *, panel: str) -> Axes:
        """Draw the mean recall of an arm over the exponent, a line for each cut-off."""
        arm, _, validation = panel.rpartition(", ")
        side, first = VALIDATIONS.index(validation), self.grids[0]
        own = [g.values for g, at in zip(self.grids, self.places, strict=True) if at[0] == arm]
        shares = np.mean([grid.effective_shares for grid in self.grids], axis=0)
        axes: dict[str, Any] = {"betas": first.betas, "cutoffs": first.cutoffs, "title": panel}
        means = np.mean(own, axis=0)[side]
        ax = draw_recalls(axes_or_new(ax), means, shares[side], **axes)
        ax.set_ylabel("recall")
        return ax
