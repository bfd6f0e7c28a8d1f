"""The online side of an experiment: who was shown what, what was accepted, and the rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.online.arms.arm_settings import ArmSettings, milliseconds
from analyses.online.clicks.checks.crossing import stickiness
from analyses.online.clicks.checks.robots import Robots, robots
from analyses.online.clicks.checks.sample_ratio import SampleRatio, sample_ratio
from analyses.online.clicks.cycles.cycles import Periodicity, periodicity
from analyses.online.clicks.lists import accepted_lists
from analyses.online.clicks.rates import (
    ClickThrough,
    click_through,
    click_through_by_period,
)
from analyses.online.clicks.tallies import Tallies, tally
from analyses.online.logs.read_log import Logs
from analyses.online.logs.slates import Slates, busy_users

Flags = NDArray[np.bool_]

DAY = 86_400_000


@dataclass(frozen=True, eq=False)
class ArmClicks:
    """The online side of an experiment.

    Parameters
    ----------
    ratio, robots
        Users of the arms against the plan; rates with and without robots, if they are told.
    overall, by_period, cycles
        Rates of the arms: over all periods, in each, and by the hour, where the log is long enough.
    tallies
        Counts by user, arm and period.
    """

    ratio: SampleRatio
    robots: Robots | None
    overall: ClickThrough
    by_period: Mapping[str, ClickThrough]
    cycles: Periodicity | None
    tallies: Tallies


def count_clicks(
    logs: Logs, settings: ArmSettings, *, shares: Mapping[str, float] | None, seed: int
) -> ArmClicks:
    """Count who was shown what by which arm, and what was accepted.

    Parameters
    ----------
    logs
        Lists, interactions and the models' versions.
    settings
        How clicks are counted.
    shares
        Planned shares of the arms, if they are known.
    seed
        Of the bootstrap.
    """
    period = _periods_of(logs)
    live = period >= 0
    window = None if settings.window is None else milliseconds(settings.window)
    clicked = accepted_lists(
        logs, window=window, credit=settings.credit, asked='`clicks = "explicit"`'
    )
    slates, period, accepted = logs.slates.select(live), period[live], clicked[live]
    told = settings.robots_per_day
    of_robots = None if told is None else robots(slates, accepted, per_day=told)
    kept = np.ones(len(slates.user), dtype=np.bool_)
    if told is not None:
        busy = busy_users(slates.user, slates.time, per_day=told, n_users=len(slates.users))
        kept &= ~busy[slates.user]
    users = stickiness(slates.user[kept], slates.arm[kept], slates.time[kept])
    sticks, _ = users.settle(slates.user[kept], crossing="exclude")
    kept[kept] = sticks
    slates, accepted, period = slates.select(kept), accepted[kept], period[kept]
    n_periods = int(period.max()) + 1
    tallies = tally(
        accepted,
        user=slates.user,
        arm=slates.arm,
        arms=slates.arms,
        period=period,
        periods=[str(number + 1) for number in range(n_periods)],
    )
    return ArmClicks(
        ratio=sample_ratio(users, arms=slates.arms, shares=shares, zone=settings.zone),
        robots=of_robots,
        overall=click_through(
            tallies, over_time=settings.over_time, replicates=settings.replicates, seed=seed
        ),
        by_period=click_through_by_period(tallies),
        cycles=_cycles(slates, accepted, settings, seed=seed),
        tallies=tallies,
    )


def _periods_of(logs: Logs) -> NDArray[np.int64]:
    """Number the live version of each list among those of its arm, from 0; -1 where none was."""
    slates = logs.slates
    if logs.models is None:
        return np.zeros(len(slates.user), dtype=np.int64)
    version = logs.models.at(slates.arm, slates.time)
    of_arm = [(logs.models.arm[:number] == arm).sum() for number, arm in enumerate(logs.models.arm)]
    return np.array([*of_arm, -1], dtype=np.int64)[version]


def _cycles(
    slates: Slates, accepted: Flags, settings: ArmSettings, *, seed: int
) -> Periodicity | None:
    """Fit cycles, if the log has three days at least."""
    if len(slates.time) == 0 or slates.time.max() - slates.time.min() < 3 * DAY:
        return None
    return periodicity(
        accepted,
        time=slates.time,
        arm=slates.arm,
        arms=slates.arms,
        zone=settings.zone,
        seed=seed,
    )
