"""What the log of an experiment says of its arms: rates, users, cycles, and the truth if known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.both_sides import ExperimentWork
from analyses.online.arms.frame_tables import frame_table
from analyses.online.arms.truth import Truth
from analyses.online.clicks.checks.robots import Robots
from analyses.online.clicks.checks.sample_ratio import SampleRatio
from analyses.online.clicks.cycles.cycles import Periodicity
from analyses.online.clicks.rates import ClickThrough
from analyses.online.logs import LogFacts
from analyses.shared.analysis import analysis
from analyses.shared.result import Result, part_figure

if TYPE_CHECKING:
    import pandas as pd

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

    arms_table = frame_table("arms", "arms and their models (table 4.1)")
    rates_table = frame_table("rates", "click-through rates (table 4.2)")
    sample_ratio_table = frame_table(
        "sample_ratio", "users of the arms, against the planned shares"
    )
    robots_table = frame_table("robots", "rates with and without robots")
    log_table = frame_table("log", "how the tables of the log fit together")
    truth_table = frame_table("truth", "the truth of the simulated world")
    off_policy_table = frame_table(
        "off_policy", "clicks per list, estimated from the lists that an arm drew"
    )
    cycles_table = frame_table("cycles", "cycles of the rates by day and week")

    plot_rates = part_figure("rates", "Click-through rates of the arms", of="overall")
    plot_sample_ratio = part_figure(
        "sample_ratio", "Users of the arms, and the planned shares", of="ratio"
    )
    plot_rates_over_time = part_figure(
        "rates_over_time", "Click-through rates over time (figures 4.1 to 4.5)", of="cycles"
    )
    plot_day_profile = part_figure(
        "day_profile", "Click-through rates over the day", of="cycles", draw="plot_profile"
    )
