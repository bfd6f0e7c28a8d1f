"""Counting clicks: the lists of a log that count, with their arm, period and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.checks import Stickiness, stickiness
from analyses.online.clicks.click_question import Question, in_words
from analyses.online.clicks.click_result import EVERYONE, PEOPLE, Clicks, Group, Known
from analyses.online.clicks.daily_rates import DailyRates
from analyses.online.clicks.matching import MatchedLog, intake_of, match_in_shards
from analyses.online.clicks.off_policy import off_policy, read_target
from analyses.online.clicks.rates import click_through, click_through_by_period
from analyses.online.clicks.sample_ratio import sample_ratio
from analyses.online.clicks.tallies import Tallies, tally
from analyses.online.logs import Logs, read_logs
from analyses.online.logs.read_log import open_tables
from analyses.online.logs.slates import MILLISECONDS_PER_DAY, Flags, busy_users
from qrels.interactions.shards import Reading
from runs import InputError
from runs.shared.progress import Progress

WHOLE_LOG = ("all",)
"""The one period of a log that names no versions."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists that count, as columns of shape (n_lists,): users, arms and periods are numbers."""

    arms: tuple[str, ...]
    periods: tuple[str, ...]
    user: NDArray[np.int32]
    arm: NDArray[np.int64]
    period: NDArray[np.int64]
    time: NDArray[np.int64]
    accepted: Flags

    def __len__(self) -> int:
        return len(self.user)

    def select(self, kept: Flags) -> Lists:
        """Keep some lists."""
        columns: dict[str, Any] = {
            n: c[kept] for n, c in vars(self).items() if isinstance(c, np.ndarray)
        }
        return replace(self, **columns)

    def tallies(self) -> Tallies:
        """Count what each user was shown and accepted."""
        return self._tallied(self.period, self.periods)

    def by_day(self) -> DailyRates | None:
        """Estimate the rates of each day (UTC), if there are several."""
        dates, day = np.unique(self.time // MILLISECONDS_PER_DAY, return_inverse=True)
        if len(dates) == 1:
            return None
        names = np.datetime_as_string(dates.astype("datetime64[D]")).tolist()
        return DailyRates(click_through_by_period(self._tallied(day, names)))

    def _tallied(self, period: NDArray[np.int64], periods: Sequence[str]) -> Tallies:
        who: dict[str, Any] = {"user": self.user, "arm": self.arm, "arms": self.arms}
        return tally(self.accepted, **who, period=period, periods=periods)


def study_log(
    recommendations: Path,
    interactions: Path,
    question: Question,
    *,
    reading: Reading | None = None,
    progress: Progress,
) -> Clicks:
    """Estimate the click-through rates of a log's arms, and all that makes them credible.

    The files are those of `analyses.online.logs.read_logs`; what breaks a rule, or makes no sense
    for this log, is refused. The arms are those of the planned shares, if there are any. Whatever
    the reading says, what is found is the same.
    """
    reading = reading or Reading(shards=1)
    beside: dict[str, Any] = {"models": question.models, "assignment": question.assignment}
    tables = open_tables(recommendations, interactions, **beside)
    n_shards = reading.n_shards(tables["recommendations"], tables["interactions"])
    if n_shards > 1:
        log = match_in_shards(tables, question, reading, n_shards=n_shards, progress=progress)
        _check(log, question)
        return _estimate(log, None, question, progress=progress, known=None)
    with progress("Reading the log", 1) as bar:
        logs = read_logs(recommendations, interactions, **beside, intake=intake_of(question))
        bar.advance()
    return count_clicks(logs, question, progress=progress)


def count_clicks(
    logs: Logs, question: Question, *, progress: Progress, known: Known | None = None
) -> Clicks:
    """Estimate the rates of a log that was read, with what is known of it besides."""
    _check(logs, question)
    with progress("Matching clicks with lists", 1) as bar:
        log = MatchedLog.of(logs, question)
        bar.advance()
    return _estimate(log, logs, question, progress=progress, known=known)


def _estimate(
    log: MatchedLog,
    logs: Logs | None,
    question: Question,
    *,
    progress: Progress,
    known: Known | None,
) -> Clicks:
    """Estimate rates of a log that was matched; what is asked of its lists needs the whole log."""
    users = arms_of_users(log)
    lists = counted_lists(log, users, question)
    members = _members(log, question)
    with progress("Estimating rates", len(members)) as bar:
        groups = {}
        for name, is_member in members.items():
            groups[name] = _group(lists, users, is_member, question)
            bar.advance()
    chosen = lists.select([*members.values()][-1][lists.user])
    return Clicks(
        accepted_when=question.accepted_when(),
        window="" if question.window is None else in_words(question.window),
        per_day=question.robots,
        planned=question.shares is not None,
        fate=question.fate_of_crossing(),
        facts=log.facts,
        n_crossed=int(users.crossed.sum()),
        n_lists=len(lists),
        groups=groups,
        periods={} if chosen.periods == WHOLE_LOG else click_through_by_period(chosen.tallies()),
        hours=_hours(log, chosen),
        daily=chosen.by_day(),
        policy=None
        if question.policy is None or logs is None
        else off_policy(logs.slates, read_target(question.policy, logs.slates)),
        known=known or Known(),
    )


def counted_lists(log: MatchedLog, users: Stickiness, question: Question) -> Lists:
    """Find the lists that count: of users of one arm, shown while a version was live."""
    shown = log.shown
    counts, arm = users.settle(shown.user, crossing=question.crossing)
    periods, period = periods_of(log)
    lists = Lists(
        arms=shown.arms,
        periods=periods,
        user=shown.user,
        arm=arm,
        period=period,
        time=shown.time,
        accepted=log.accepted,
    ).select(counts & (period >= 0))
    if len(lists) == 0:
        raise InputError(
            "no list counts: all users were shown lists by two arms (see --crossing), or no "
            "version of a model was live."
        )
    return lists


def arms_of_users(log: MatchedLog) -> Stickiness:
    """Find the arm of every user: as assigned, where the log says so, else of the first list.

    A user whose lists are not all of that arm has crossed.
    """
    shown = log.shown
    found = stickiness(shown.user, shown.arm, shown.time)
    if log.assigned is None:
        return found
    assigned = log.assigned[found.users]
    arm = np.where(assigned >= 0, assigned, found.first_arm)
    return replace(found, first_arm=arm, crossed=found.crossed | (arm != found.first_arm))


def periods_of(log: MatchedLog) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Name the periods, and give that of every list; -1 where no version was live.

    Period k is that of the k-th version of each arm in the table of models, called as the version
    if all arms call theirs so; without such a table it is the version that lists name.
    """
    shown = log.shown
    if log.models is not None:
        versions = log.models
        numbers = versions.numbers
        alike = [set(versions.names[numbers == k].tolist()) for k in range(numbers.max() + 1)]
        are_named = all(len(names) == 1 for names in alike)
        named = [min(names) if are_named else str(k + 1) for k, names in enumerate(alike)]
        return tuple(named), np.append(numbers, -1)[versions.at(shown.arm, shown.time)]
    if shown.version is not None:
        return shown.versions, shown.version.astype(np.int64)
    return WHOLE_LOG, np.zeros(len(shown), dtype=np.int64)


def _hours(log: MatchedLog, lists: Lists) -> NDArray[np.float64]:
    """Say how long each version was live, or showed lists, in hours: (n_arms, n_periods)."""
    hours = np.full((len(lists.arms), len(lists.periods)), np.nan)
    if (models := log.models) is not None:
        hours[models.arm, models.numbers] = (models.valid_to - models.valid_from) / 3_600_000
        return hours
    first, last = np.full_like(hours, np.inf), np.full_like(hours, -np.inf)
    np.minimum.at(first, (lists.arm, lists.period), lists.time / 3_600_000)
    np.maximum.at(last, (lists.arm, lists.period), lists.time / 3_600_000)
    return np.where(first <= last, last - first, hours)


def _check(logs: Logs | MatchedLog, question: Question) -> None:
    """Refuse what cannot be answered, before anything slow."""
    has_periods = logs.models is not None or logs.shown.version is not None
    if question.over_time == "thesis" and not has_periods:
        raise InputError(
            "--over-time thesis averages over periods: it needs --models, or a column "
            "'model_version' in the recommendations."
        )


def _members(log: MatchedLog, question: Question) -> Mapping[str, Flags]:
    """Tell which users of the numbering are in each group."""
    shown, n_users = log.shown, len(log.shown.users)
    groups = {EVERYONE: np.ones(n_users, dtype=np.bool_)}
    if question.robots is not None:
        groups[PEOPLE] = ~busy_users(
            shown.user, shown.time, per_day=question.robots, n_users=n_users
        )
    return groups


def _group(lists: Lists, users: Stickiness, is_member: Flags, question: Question) -> Group:
    kept = lists.select(is_member[lists.user])
    if len(kept) == 0:
        raise InputError(f"`--robots {question.robots}` leaves nobody: take a larger number.")
    rates = click_through(kept.tallies(), over_time=question.over_time)
    members = users.select(is_member[users.users])
    split = (
        sample_ratio(members, arms=lists.arms, shares=question.shares)
        if len(lists.arms) > 1
        else None
    )
    return Group(rates, split)
