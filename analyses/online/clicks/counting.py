"""Counting clicks: the lists of a log that count, with their arm, period and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.checks import Halves, Placebo, Stickiness, halves, placebo, stickiness
from analyses.online.clicks.click_question import Question
from analyses.online.clicks.click_result import EVERYONE, PEOPLE, Clicks, Group, Known
from analyses.online.clicks.cycles import PERIODS, Periodicity, periodicity
from analyses.online.clicks.durations import in_words
from analyses.online.clicks.local_time import wall_clock
from analyses.online.clicks.off_policy import items_instead, off_policy, read_target
from analyses.online.clicks.rates import click_through, click_through_by_period
from analyses.online.clicks.sample_ratio import sample_ratio
from analyses.online.clicks.tallies import Tallies, tally
from analyses.online.logs import Logs, read_logs
from analyses.online.logs.acceptance import accepted_by_type, explicit_clicks, followed
from analyses.online.logs.slates import MILLISECONDS_PER_DAY, Flags, busy_users
from runs import InputError
from runs.shared.progress import Progress
from runs.shared.streams import id_hashes

WHOLE_LOG = ("all",)
"""The one period of a log that names no versions."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists that count, as columns of shape (n_lists,): users, arms and periods are numbers.

    The slate is the number of each in the log, rising; acceptance is given by type, too, if asked.
    """

    arms: tuple[str, ...]
    periods: tuple[str, ...]
    slate: NDArray[np.intp]
    user: NDArray[np.int32]
    arm: NDArray[np.int64]
    period: NDArray[np.int64]
    time: NDArray[np.int64]
    accepted: Flags
    by_type: Mapping[str, Flags]

    def __len__(self) -> int:
        return len(self.user)

    def select(self, kept: Flags) -> Lists:
        """Keep some lists."""
        columns: dict[str, Any] = {
            n: c[kept] for n, c in vars(self).items() if isinstance(c, np.ndarray)
        }
        by_type = {name: accepted[kept] for name, accepted in self.by_type.items()}
        return replace(self, by_type=by_type, **columns)

    def tallies(self, accepted: Flags | None = None) -> Tallies:
        """Count what each user was shown and accepted; accepted as by one type, if given."""
        return tally(
            self.accepted if accepted is None else accepted,
            user=self.user,
            arm=self.arm,
            arms=self.arms,
            period=self.period,
            periods=self.periods,
        )

    def cycles(self, question: Question) -> Periodicity | None:
        """Fit cycles of day and week, if the lists are of two days at least."""
        if int(np.ptp(self.time)) < 2 * PERIODS[0] / 24 * MILLISECONDS_PER_DAY:
            return None
        columns: dict[str, Any] = {"time": self.time, "arm": self.arm, "arms": self.arms}
        return periodicity(self.accepted, **columns, zone=question.zone, seed=question.seed)


def study_log(
    recommendations: Path, interactions: Path, question: Question, *, progress: Progress
) -> Clicks:
    """Estimate the click-through rates of a log's arms, and all that makes them credible.

    The files are those of `analyses.online.logs.read_logs`; what breaks a rule, or makes no sense
    for this log, is refused. The arms are those of the planned shares, if there are any.
    """
    with progress("Reading the log", 1) as bar:
        logs = read_logs(
            recommendations,
            interactions,
            models=question.models,
            assignment=question.assignment,
            arms=None if question.shares is None else [*question.shares],
            values=None,
            merged=question.merged,
            types=question.rename,
            strict=question.strict,
        )
        bar.advance()
    return count_clicks(logs, question, progress=progress)[0]


def count_clicks(
    logs: Logs, question: Question, *, progress: Progress, known: Known | None = None
) -> tuple[Clicks, Tallies]:
    """Estimate the rates of a log that was read; give also what each user was shown and accepted.

    What is known of an experiment beside its log is kept with its rates.
    """
    _check(logs, question)
    users = arms_of_users(logs)
    with progress("Matching clicks with lists", 1) as bar:
        lists = counted_lists(logs, users, question)
        bar.advance()
    members = _members(logs, question)
    with progress("Estimating rates", len(members)) as bar:
        groups = {}
        for name, is_member in members.items():
            groups[name] = _group(lists, users, is_member, question)
            bar.advance()
    chosen = lists.select([*members.values()][-1][lists.user])
    tallies = chosen.tallies()
    found = Clicks(
        accepted_when=question.accepted_when(),
        window="" if question.window is None else in_words(question.window),
        per_day=question.robots,
        planned=question.shares is not None,
        fate=question.fate_of_crossing(),
        facts=logs.facts,
        n_crossed=int(users.crossed.sum()),
        n_lists=len(lists),
        groups=groups,
        periods={} if chosen.periods == WHOLE_LOG else click_through_by_period(tallies),
        hours=_hours(logs, chosen),
        cycles=chosen.cycles(question),
        halves=_halves(logs, chosen, question),
        policy=None
        if question.policy is None
        else off_policy(logs.slates, read_target(question.policy, logs.slates)),
        placebo=_placebo(logs, chosen, question),
        known=known or Known(),
    )
    return found, tallies


def counted_lists(logs: Logs, users: Stickiness, question: Question) -> Lists:
    """Find the lists that count: of users of one arm, shown while a version was live."""
    slates = logs.slates
    counts, arm = users.settle(slates.user, crossing=question.crossing)
    periods, period = periods_of(logs)
    by_type = _accepted_by_type(logs, question) if question.types else {}
    lists = Lists(
        arms=slates.arms,
        periods=periods,
        slate=np.arange(len(slates)),
        user=slates.user,
        arm=arm,
        period=period,
        time=slates.time,
        accepted=(
            np.logical_or.reduce([*by_type.values()])
            if by_type and question.window is not None
            else _accepted(logs, question)
        ),
        by_type=by_type,
    ).select(counts & (period >= 0))
    if len(lists) == 0:
        raise InputError(
            "no list counts: all users were shown lists by two arms (see --crossing), or no "
            "version of a model was live."
        )
    return lists


def arms_of_users(logs: Logs) -> Stickiness:
    """Find the arm of every user: as assigned, where the log says so, else of the first list.

    A user whose lists are not all of that arm has crossed.
    """
    slates = logs.slates
    found = stickiness(slates.user, slates.arm, slates.time)
    if logs.assigned is None:
        return found
    assigned = logs.assigned[found.users]
    arm = np.where(assigned >= 0, assigned, found.first_arm)
    return replace(found, first_arm=arm, crossed=found.crossed | (arm != found.first_arm))


def periods_of(logs: Logs) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Name the periods, and give that of every list; -1 where no version was live.

    Period k is that of the k-th version of each arm in the table of models, called as the version
    if all arms call theirs so; without such a table it is the version that lists name.
    """
    slates = logs.slates
    if logs.models is not None:
        versions = logs.models
        numbers = versions.numbers
        alike = [set(versions.names[numbers == k].tolist()) for k in range(numbers.max() + 1)]
        are_named = all(len(names) == 1 for names in alike)
        named = [min(names) if are_named else str(k + 1) for k, names in enumerate(alike)]
        return tuple(named), np.append(numbers, -1)[versions.at(slates.arm, slates.time)]
    if slates.version is not None:
        return slates.versions, slates.version.astype(np.int64)
    return WHOLE_LOG, np.zeros(len(slates), dtype=np.int64)


def _hours(logs: Logs, lists: Lists) -> NDArray[np.float64]:
    """Say how long each version was live, or showed lists, in hours: (n_arms, n_periods)."""
    hours = np.full((len(lists.arms), len(lists.periods)), np.nan)
    if logs.models is not None:
        models = logs.models
        hours[models.arm, models.numbers] = (models.valid_to - models.valid_from) / 3_600_000
        return hours
    first, last = np.full_like(hours, np.inf), np.full_like(hours, -np.inf)
    np.minimum.at(first, (lists.arm, lists.period), lists.time / 3_600_000)
    np.maximum.at(last, (lists.arm, lists.period), lists.time / 3_600_000)
    return np.where(first <= last, last - first, hours)


def _accepted(logs: Logs, question: Question) -> Flags:
    """Tell which lists were accepted, by an interaction of whichever type."""
    slates, events = logs.slates, logs.events
    if question.window is not None:
        return followed(slates, events, window=question.window, credit=question.credit)
    if slates.clicked is None and events.slate is None:
        raise InputError(
            "explicit clicks (--explicit) must name their list: a column 'rec_id' in the "
            "interactions, or 'clicked' in the recommendations, is needed."
        )
    clicked = np.zeros(len(slates.item), dtype=np.bool_)
    if slates.clicked is not None:
        clicked |= slates.clicked
    if events.slate is not None:
        clicked |= explicit_clicks(slates, slate=events.slate, item=events.item)
    return slates.any_place(clicked)


def _accepted_by_type(logs: Logs, question: Question) -> Mapping[str, Flags]:
    slates, events = logs.slates, logs.events
    if question.window is not None:
        return accepted_by_type(slates, events, window=question.window, credit=question.credit)
    if events.slate is None:
        raise InputError("--explicit with --types needs a column 'rec_id' in the interactions.")
    accepted = {}
    for number, name in enumerate(events.types):
        of_type = np.where(events.type == number, events.slate, -1)
        accepted[name] = slates.any_place(explicit_clicks(slates, slate=of_type, item=events.item))
    return accepted


def _check(logs: Logs, question: Question) -> None:
    """Refuse what cannot be answered, before anything slow."""
    wall_clock(np.zeros(1, dtype=np.int64), zone=question.zone)
    arms = logs.slates.arms
    if question.halves is not None and question.halves not in arms:
        raise InputError(f"`--halves`: the arms are {', '.join(arms)}, got {question.halves!r}.")
    if question.placebo is not None and question.explicit:
        raise InputError("--placebo needs a --window: no click names a list that was not shown.")
    has_periods = logs.models is not None or logs.slates.version is not None
    if question.over_time == "thesis" and not has_periods:
        raise InputError(
            "--over-time thesis averages over periods: it needs --models, or a column "
            "'model_version' in the recommendations."
        )


def _members(logs: Logs, question: Question) -> Mapping[str, Flags]:
    """Tell which users of the numbering are in each group."""
    slates, n_users = logs.slates, len(logs.slates.users)
    groups = {EVERYONE: np.ones(n_users, dtype=np.bool_)}
    if question.robots is not None:
        groups[PEOPLE] = ~busy_users(
            slates.user, slates.time, per_day=question.robots, n_users=n_users
        )
    return groups


def _group(lists: Lists, users: Stickiness, is_member: Flags, question: Question) -> Group:
    kept = lists.select(is_member[lists.user])
    if len(kept) == 0:
        raise InputError(f"`--robots {question.robots}` leaves nobody: take a larger number.")
    tallies, over_time = kept.tallies(), question.over_time
    drawn: dict[str, Any] = {"replicates": question.replicates, "seed": question.seed}
    rates = click_through(tallies, over_time=over_time, **drawn)
    pooled = rates if over_time == "pooled" else click_through(tallies)
    by_type = {
        name: click_through(kept.tallies(accepted), over_time=over_time)
        for name, accepted in kept.by_type.items()
    }
    members = users.select(is_member[users.users])
    split = (
        sample_ratio(members, arms=lists.arms, shares=question.shares, zone=question.zone)
        if len(lists.arms) > 1
        else None
    )
    return Group(rates, pooled, by_type, split)


def _halves(logs: Logs, lists: Lists, question: Question) -> Halves | None:
    if question.halves is None:
        return None
    own = lists.select(lists.arm == lists.arms.index(question.halves))
    alone = np.zeros(len(own), dtype=np.int64)
    own = replace(own, arms=(question.halves,), arm=alone, periods=WHOLE_LOG, period=alone)
    return halves(own.tallies(), id_hashes(logs.slates.users.ids, "halves"))


def _placebo(logs: Logs, lists: Lists, question: Question) -> Placebo | None:
    """Compare the lists that count with others for the same users and times."""
    if question.placebo is None or question.window is None:
        return None
    counts = np.zeros(len(logs.slates), dtype=np.bool_)
    counts[lists.slate] = True
    alternatives = logs.slates.showing(items_instead(question.placebo, logs.slates))
    shown, others = (
        replace(slates.select(counts), arm=lists.arm.astype(np.int32))
        for slates in (logs.slates, alternatives)
    )
    how: dict[str, Any] = {"window": question.window, "credit": question.credit}
    return placebo(shown, others, partial(followed, events=logs.events, **how))
