"""What an experiment with fewer arms would have shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.both_sides import BothSides, ExperimentWork
from analyses.online.arms.frame_tables import frame_table
from analyses.online.planning.arms_for_best import ArmsForBest, arms_for_best
from analyses.online.planning.arms_needed import ArmsNeeded, arms_needed
from analyses.shared.analysis import analysis
from analyses.shared.result import Result, figure, part_figure
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FEW = 5
"""Arms that experiments such as those of Kasalický (2021) have."""

FEW_REPLICATES, FEW_SUBSETS = 20, 50
"""Resampled rates and subsets of arms for the test of the best measure, which is slow."""

View = Literal["sign of the true rho", "best measure"]


@analysis("fewer_arms", source="Westfall & Young (1993)", needs=["experiment"], on_request=True)
def fewer_arms(work: ExperimentWork, settings: ArmSettings) -> FewerArms:
    """Take arms away at random, and look what is left of the findings."""
    with work.progress("Taking arms away", 1) as bar:
        sides = work.sides(settings)
        found = FewerArms(
            needed=_needed(sides),
            for_best=arms_for_best(
                sides.recalls.values,
                rates=sides.rates_again[:FEW_REPLICATES],
                subsets=min(settings.subsets, FEW_SUBSETS),
                seed=work.seed,
            ),
        )
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class FewerArms(Result):
    """What fewer arms would have shown of some measures, if the truth is known, and of the best."""

    needed: ArmsNeeded | None
    for_best: ArmsForBest

    @property
    def views(self) -> tuple[View, ...]:
        """Panels of the figure of what is true."""
        return ("sign of the true rho", "best measure")

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name; see `ArmsNeeded` and `ArmsForBest`."""
        frames = {"arms_for_best": self.for_best.to_frame()}
        if self.needed is not None:
            frames |= {"arms_needed": self.needed.to_frame(), "choices": self.needed.choices()}
        return frames

    def caption(self) -> str:
        """Say what was taken away, and what was looked at."""
        needed = "" if self.needed is None else f"{self.needed.caption()} "
        return f"{needed}{self.for_best.caption()}"

    def findings(self) -> Sequence[str]:
        """Say what so few arms as others have would show of some measures."""
        said: list[str] = []
        if self.needed is not None:
            for measure in self.needed.measures:
                with suppress(InputError):
                    said.append(self.needed.conclusion(measure, arms=FEW))
        return said

    arms_needed_table = frame_table("arms_needed", "what experiments with fewer arms would show")
    choices_table = frame_table(
        "choices", "the measure found best by fewer arms, as observed and in truth"
    )
    arms_for_best_table = frame_table(
        "arms_for_best", "how often the best measure of fewer arms stands the test"
    )

    plot_arms_for_best = part_figure(
        "arms_for_best",
        "How often the best measure of fewer arms stands the test",
        of="for_best",
    )

    @figure(
        "arms_needed",
        "What fewer arms would have shown",
        panels="view",
        comparable=False,
        of="needed",
    )
    def plot_needed(self, ax: Axes | None = None, *, view: View) -> Axes:
        """Draw how often fewer arms are right; see `ArmsNeeded`."""
        assert self.needed is not None
        draw = self.needed.plot if view == "sign of the true rho" else self.needed.plot_choices
        return draw(ax)


def _needed(sides: BothSides) -> ArmsNeeded | None:
    """Look what fewer arms would show of some measures, if the truth is known."""
    truth, recalls = sides.record.truth, sides.recalls
    if truth is None:
        return None
    rates, _ = truth.over_time()
    chosen = list(sides.shown)
    return arms_needed(
        recalls.values[chosen],
        true_rates=rates[[truth.arms.index(arm) for arm in recalls.models]],
        measures=[recalls.measures[number] for number in chosen],
        observed_rates=sides.rates_again,
        subsets=sides.settings.subsets,
        seed=sides.seed,
    )
