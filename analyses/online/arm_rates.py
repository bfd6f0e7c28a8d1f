"""What the log of an experiment says of its arms: rates, users, cycles, and the truth if known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.both_sides import ExperimentWork
from analyses.online.arms.frame_tables import table_of
from analyses.online.arms.truth import Truth
from analyses.online.clicks.checks.robots import Robots
from analyses.online.clicks.checks.sample_ratio import SampleRatio
from analyses.online.clicks.cycles.cycles import Periodicity
from analyses.online.clicks.rates import ClickThrough
from analyses.online.logs import LogFacts
from analyses.shared.analysis import analysis
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Rows = tuple[Mapping[str, Any], ...]


@analysis(
    "arm_rates", source="Kasalický (2021), section 4.2", needs=["experiment"], on_request=True
)
def arm_rates(work: ExperimentWork, settings: ArmSettings) -> ArmRates:
    """Count how often the lists of every arm are accepted, and by whom."""
    with work.progress("Counting clicks", 1) as bar:
        sides = work.sides(settings)
        clicks, record = sides.clicks, sides.record
        bar.advance()
    return ArmRates(
        settings=tuple(record.settings),
        overall=clicks.overall,
        by_period=clicks.by_period,
        ratio=clicks.ratio,
        robots=clicks.robots,
        cycles=clicks.cycles,
        log=record.logs.facts,
        truth=record.truth,
        off_policy=tuple(record.off_policy),
        remarks=tuple(record.remarks),
    )


@dataclass(frozen=True, eq=False)
class ArmRates(Result):
    """Click-through rates of the arms of an experiment.

    Parameters
    ----------
    settings
        Settings of the arms, a row each.
    overall, by_period, cycles
        Rates over all periods, in each, and by the hour, where the log is long enough.
    ratio, robots
        Users of the arms against the plan; rates with and without robots, if they are told.
    log
        How far the tables of the log fit together.
    truth
        Exact rates, of simulated worlds.
    off_policy
        Clicks per list as estimated from the lists of another arm, a row each.
    remarks
        What is to be said of the models.
    """

    settings: Rows
    overall: ClickThrough
    by_period: Mapping[str, ClickThrough]
    ratio: SampleRatio
    robots: Robots | None
    cycles: Periodicity | None
    log: LogFacts
    truth: Truth | None
    off_policy: Rows
    remarks: tuple[str, ...]

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name; those of what is not known are left out."""
        import pandas as pd

        by_period = [
            each.to_frame().assign(period=int(name)) for name, each in self.by_period.items()
        ]
        frames = {
            "arms": pd.DataFrame(self.settings),
            "rates": self.overall.to_frame(),
            "rate_differences": self.overall.differences(),
            "rates_by_period": pd.concat(by_period, ignore_index=True),
            "sample_ratio": self.ratio.to_frame(),
            "log": self.log.to_frame(),
        }
        if self.cycles is not None:
            frames |= {
                "cycles": self.cycles.to_frame(),
                "rates_by_hour": self.cycles.bins(),
                "day_profile": self.cycles.profile("day"),
            }
        if self.robots is not None:
            frames["robots"] = self.robots.to_frame()
        if self.truth is not None:
            frames["truth"] = self.truth.to_frame()
        if self.off_policy:
            frames["off_policy"] = pd.DataFrame(self.off_policy)
        return frames

    def caption(self) -> str:
        """Say what the rates and their intervals are."""
        return self.overall.caption()

    def findings(self) -> Sequence[str]:
        """Say whether users are split as planned."""
        return [self.ratio.caption()]

    def cautions(self) -> Sequence[str]:
        """Say what weakens the rates, and what is to be said of the models."""
        mismatch = (
            f"The arms do not have the planned shares of the users (p = {self.ratio.p:.2g}): "
            "nothing else should be believed before the reason is known, and no winner named."
        )
        return [*([mismatch] if self.ratio.mismatch else []), *self.remarks]

    def _table(self, name: str, title: str) -> Table:
        return table_of(name, title, self.frames().get(name))

    @table("arms", "arms and their models (table 4.1)")
    def arms_table(self) -> Table:
        """Tabulate the settings of the arms."""
        return self._table("arms", "Arms and their models (table 4.1)")

    @table("rates", "click-through rates of the arms (table 4.2)")
    def rates_table(self) -> Table:
        """Tabulate the rates over all periods."""
        return self._table("rates", "Click-through rates (table 4.2)")

    @table("sample_ratio", "users of the arms, against the planned shares")
    def ratio_table(self) -> Table:
        """Tabulate the users of the arms."""
        return self._table("sample_ratio", "Users of the arms, against the planned shares")

    @table("robots", "click-through rates with and without robots")
    def robots_table(self) -> Table:
        """Tabulate what robots do to the rates, if they were looked for."""
        return self._table("robots", "Rates with and without robots")

    @table("log", "how the tables of the log fit together")
    def log_table(self) -> Table:
        """Tabulate counts and shares of the log."""
        return self._table("log", "How the tables of the log fit together")

    @table("truth", "exact rates in the simulated world")
    def truth_table(self) -> Table:
        """Tabulate the exact rates, if they are known."""
        return self._table("truth", "The truth of the simulated world")

    @table("off_policy", "clicks per list, estimated from the lists that an arm drew")
    def policy_table(self) -> Table:
        """Tabulate off-policy estimates, if an arm drew its lists."""
        return self._table(
            "off_policy", "Clicks per list, estimated from the lists that an arm drew"
        )

    @table("cycles", "cycles of the rates by day and week")
    def cycles_table(self) -> Table:
        """Tabulate the cycles, if the log is long enough."""
        return self._table("cycles", "Cycles of the rates by day and week")

    @figure("rates", "Click-through rates of the arms")
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates; see `ClickThrough`."""
        return self.overall.plot(ax)

    @figure("sample_ratio", "Users of the arms, and the planned shares", of="ratio")
    def plot_ratio(self, ax: Axes | None = None) -> Axes:
        """Draw the users of each day; see `SampleRatio`."""
        return self.ratio.plot(ax)

    @figure("rates_over_time", "Click-through rates over time (figures 4.1 to 4.5)", of="cycles")
    def plot_over_time(self, ax: Axes | None = None) -> Axes:
        """Draw the rates over time; see `Periodicity`."""
        assert self.cycles is not None
        return self.cycles.plot(ax)

    @figure("day_profile", "Click-through rates over the day", of="cycles")
    def plot_day(self, ax: Axes | None = None) -> Axes:
        """Draw the rates over the day; see `Periodicity`."""
        assert self.cycles is not None
        return self.cycles.plot_profile("day", ax)
