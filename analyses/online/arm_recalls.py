"""How many hidden items the models of an experiment's arms find, under every exponent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.agreement.measure_names import Parametrisation
from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.both_sides import BothSides, ExperimentWork
from analyses.online.arms.frame_tables import frame_table
from analyses.online.arms.offline_values import Place
from analyses.recall.hidden_parts import VALIDATIONS
from analyses.recall.recall import RecallGrid, measure_recall
from analyses.recall.recall_curves import draw_recall_over_time, draw_recalls
from analyses.shared.analysis import analysis
from analyses.shared.drawing import axes_or_new
from analyses.shared.result import Result, figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

REACH = 1.96
"""Standard deviations to either side of a value that hold 95 %."""


@analysis(
    "arm_recalls", source="Kasalický (2021), section 4.3", needs=["experiment"], on_request=True
)
def arm_recalls(work: ExperimentWork, settings: ArmSettings) -> ArmRecalls:
    """Measure the recall of every arm's model in every period, with intervals over users."""
    with work.progress("Measuring recall", 1) as bar:
        sides = work.sides(settings)
        grids = sides.measured.grids
        found = ArmRecalls(
            arms=sides.measured.arms,
            names=sides.experiment.measures,
            values=sides.experiment.values,
            rates=sides.experiment.rates,
            places=tuple(grids),
            starts=np.array([sides.record.starts[place] for place in grids]),
            grids=tuple(grids.values()),
            shown=tuple(sides.shown),
            at_highest=tuple(_at_highest(sides)),
        )
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class ArmRecalls(Result):
    """Offline values of the arms of an experiment.

    Parameters
    ----------
    arms
        Those that were measured.
    names
        Of all measures: the recall variants, then others.
    values
        Means over the periods, of shape (n_measures, n_arms).
    rates
        Click-through rates, of shape (n_arms,).
    places
        Arms and periods (from 0) of the grids.
    starts
        When the model of each place became live, in milliseconds since 1970 in UTC.
    grids
        Recalls, by place.
    shown
        Numbers of the measures that are followed over the periods.
    at_highest
        Rows of the table of recalls at the highest of the shown exponents; see `frames`.
    """

    arms: tuple[str, ...]
    names: tuple[str, ...]
    values: Floats
    rates: Floats
    places: tuple[Place, ...]
    starts: NDArray[np.int64]
    grids: tuple[RecallGrid, ...]
    shown: tuple[int, ...]
    at_highest: tuple[Mapping[str, Any], ...]

    @property
    def panels(self) -> tuple[str, ...]:
        """Validations by the arms that were clicked most, in the middle and least."""
        order = np.argsort(-self.rates, kind="stable")
        places = sorted({0, len(order) // 2, len(order) - 1})
        arms = [self.arms[order[place]] for place in places]
        return tuple(f"{arm}, {way}" for way, arm in product(VALIDATIONS, arms))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name.

        Returns
        -------
        ``values``, a row for each arm, as `harness online` reads it; ``recall``, every recall in
        every period with what it rests on; ``recall_by_period``, the shown ones; and
        ``recall_of_arms`` (table 4.3): columns arm, measure, recall; low and high, 1.96 standard
        deviations over resampled users to either side; ceiling, the most that the validation lets
        a model reach; and without_first, the recall if first items are not hidden, of leave last
        one out.
        """
        import pandas as pd

        values = pd.DataFrame(self.values.T, columns=list(self.names))
        values.insert(0, "model", list(self.arms))
        parts = list(zip(self.places, self.grids, strict=True))
        rows = [
            (arm, period + 1, self.names[number], grid.values.ravel()[number])
            for (arm, period), grid in parts
            for number in self.shown
        ]
        return {
            "values": values,
            "recall": pd.concat(
                [
                    grid.to_frame().assign(arm=arm, period=period + 1)
                    for (arm, period), grid in parts
                ],
                ignore_index=True,
            ),
            "recall_by_period": pd.DataFrame(rows, columns=["arm", "period", "measure", "value"]),
            "recall_of_arms": pd.DataFrame(self.at_highest),
        }

    def caption(self) -> str:
        """Say what was measured, and that its level says nothing."""
        return (
            f"Recall of hidden items by the models of {len(self.arms)} arms, measured anew "
            "whenever they learnt; the test users are the same in all periods, so that points are "
            "not independent. Over the exponent: means over the periods of the arms that were "
            "clicked most, in the middle and least, a line for each cut-off. Above: the effective "
            "share of the hidden items. The level of a recall says nothing about its worth."
        )

    recall_of_arms_table = frame_table("recall_of_arms", "recall of the arms (table 4.3)")

    @figure("recall_over_time", "Recall over time (figure 4.6)")
    def plot_over_time(self, ax: Axes | None = None) -> Axes:
        """Draw one recall variant of every arm over the periods."""
        number = self.shown[-1]
        recalls, times = {}, {}
        for arm in self.arms:
            rows = [n for n, place in enumerate(self.places) if place[0] == arm]
            rows.sort(key=lambda n: self.places[n])
            recalls[arm] = np.array([self.grids[n].values.ravel()[number] for n in rows])
            times[arm] = self.starts[rows].astype("datetime64[ms]")
        return draw_recall_over_time(recalls, times, label=self.names[number], ax=ax)

    @figure(
        "recall_over_beta",
        "Recall over the exponent of popularity (figures 4.7 to 4.11)",
        panels="panel",
    )
    def plot_over_beta(self, ax: Axes | None = None, *, panel: str) -> Axes:
        """Draw the mean recall of an arm over the exponent, a line for each cut-off."""
        arm, _, validation = panel.rpartition(", ")
        side, first = VALIDATIONS.index(validation), self.grids[0]
        own = [
            g.values for g, place in zip(self.grids, self.places, strict=True) if place[0] == arm
        ]
        shares = np.mean([grid.effective_shares for grid in self.grids], axis=0)
        ax = draw_recalls(
            axes_or_new(ax),
            np.mean(own, axis=0)[side],
            betas=first.betas,
            cutoffs=first.cutoffs,
            effective_shares=shares[side],
        )
        ax.set_ylabel("recall")
        ax.set_title(panel)
        return ax


def _at_highest(sides: BothSides) -> Iterator[Mapping[str, Any]]:
    """Give recall at the highest of the shown exponents, by validation and arm."""
    measured, again = sides.measured, sides.values_again
    shown = [n for n in sides.shown if measured.parametrisations[n].beta > 0]
    highest = max((measured.parametrisations[n].beta for n in shown), default=0.0)
    for number in shown:
        each = measured.parametrisations[number]
        if each.beta != highest:
            continue
        place = measured.settings.betas.index(each.beta)
        side = VALIDATIONS.index(each.validation)
        for column, arm in enumerate(measured.arms):
            value = measured.of_arm(arm)[number]
            sd = again[:, number, column].std(ddof=1)
            grids = [grid for at, grid in measured.grids.items() if at[0] == arm]
            yield {
                "arm": arm,
                "measure": str(each),
                "recall": float(value),
                "low": float(value - REACH * sd),
                "high": float(value + REACH * sd),
                "ceiling": float(np.mean([grid.ceilings[side, place] for grid in grids])),
                "without_first": _without_first(sides, each, arm),
            }


def _without_first(sides: BothSides, asked: Parametrisation, arm: str) -> float:
    """Measure a recall under leave last one out without the items that no model can find."""
    if asked.validation == "LOO":
        return float("nan")
    skipping = replace(sides.settings.stratification, first_item="skip")
    values = [
        measure_recall(
            ranks,
            sides.counts[place],
            validations=["LLOO"],
            betas=[asked.beta],
            cutoffs=[asked.cutoff],
            stratification=skipping,
        ).values.item()
        for place, ranks in sides.record.ranks.items()
        if place[0] == arm
    ]
    return float(np.mean(values))
