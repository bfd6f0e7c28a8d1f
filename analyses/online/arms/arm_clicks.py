"""The online side of an experiment: who was shown what, what was accepted, and the rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.arm_truth import Truth
from analyses.online.arms.frame_tables import frame_table
from analyses.online.arms.record import Record
from analyses.online.clicks.checks.crossing import stickiness
from analyses.online.clicks.checks.robots import Robots, robots
from analyses.online.clicks.checks.sample_ratio import SampleRatio, sample_ratio
from analyses.online.clicks.cycles.cycles import Periodicity
from analyses.online.clicks.durations import milliseconds
from analyses.online.clicks.lists import Lists, accepted_lists
from analyses.online.clicks.rates import ClickThrough, click_through, click_through_by_period
from analyses.online.clicks.tallies import Tallies
from analyses.online.logs import LogFacts, Logs
from analyses.online.logs.slates import busy_users
from analyses.shared.result import Result, part_figure

if TYPE_CHECKING:
    import pandas as pd

Rows = tuple[Mapping[str, Any], ...]


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


def count_clicks(record: Record, settings: ArmSettings, *, seed: int) -> tuple[ArmRates, Tallies]:
    """Count who was shown what by which arm, and what was accepted: rates, and counts by user."""
    logs, slates, told = record.logs, record.logs.slates, settings.robots_per_day
    period = _periods_of(logs)
    live = period >= 0
    window = None if settings.window is None else milliseconds(settings.window)
    accepted = accepted_lists(
        logs, window=window, credit=settings.credit, asked='`clicks = "explicit"`'
    )
    lists = Lists(
        arms=slates.arms,
        periods=(),
        slate=np.arange(len(slates)),
        user=slates.user,
        arm=slates.arm.astype(np.int64),
        period=period,
        time=slates.time,
        accepted=accepted,
        by_type={},
    ).select(live)
    of_robots = None
    if told is not None:
        of_robots = robots(slates.select(live), lists.accepted, per_day=told)
        busy = busy_users(lists.user, lists.time, per_day=told, n_users=len(slates.users))
        lists = lists.select(~busy[lists.user])
    users = stickiness(lists.user, lists.arm, lists.time)
    sticks, _ = users.settle(lists.user, crossing="exclude")
    lists = lists.select(sticks)
    n_periods = int(lists.period.max()) + 1
    tallies = replace(lists, periods=tuple(str(n + 1) for n in range(n_periods))).tallies()
    found = ArmRates(
        settings=tuple(record.settings),
        overall=click_through(
            tallies, over_time=settings.over_time, replicates=settings.replicates, seed=seed
        ),
        by_period=click_through_by_period(tallies),
        ratio=sample_ratio(users, arms=slates.arms, shares=record.shares, zone=settings.zone),
        robots=of_robots,
        cycles=lists.cycles(least_days=3, zone=settings.zone, seed=seed),
        log=logs.facts,
        truth=record.truth,
        off_policy=tuple(record.off_policy),
        remarks=tuple(record.remarks),
    )
    return found, tallies


def _periods_of(logs: Logs) -> NDArray[np.int64]:
    """Number the live version of each list among those of its arm, from 0; -1 where none was."""
    slates = logs.slates
    if logs.models is None:
        return np.zeros(len(slates.user), dtype=np.int64)
    version = logs.models.at(slates.arm, slates.time)
    of_arm = [(logs.models.arm[:number] == arm).sum() for number, arm in enumerate(logs.models.arm)]
    return np.array([*of_arm, -1], dtype=np.int64)[version]
