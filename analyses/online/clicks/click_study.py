"""The study of a log: rates of the arms, with and without robots, and whether to believe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.alternatives import items_instead
from analyses.online.clicks.checks.crossing import Stickiness
from analyses.online.clicks.checks.halves import Halves, halves
from analyses.online.clicks.checks.placebo import Placebo, placebo
from analyses.online.clicks.checks.sample_ratio import SampleRatio, sample_ratio
from analyses.online.clicks.click_question import Question
from analyses.online.clicks.click_result import EVERYONE, PEOPLE, Clicks, Group
from analyses.online.clicks.cycles.local_time import wall_clock
from analyses.online.clicks.lists import (
    WHOLE_LOG,
    Lists,
    arms_of_users,
    counted_lists,
)
from analyses.online.clicks.off_policy import off_policy
from analyses.online.clicks.rates import click_through, click_through_by_period
from analyses.online.logs import Logs, read_logs
from analyses.online.logs.acceptance import Credit, followed
from analyses.online.logs.slates import Flags, busy_users
from runs import InputError
from runs.shared.progress import Progress
from runs.shared.streams import id_hashes


def study_log(
    recommendations: Path,
    interactions: Path,
    question: Question,
    *,
    progress: Progress,
) -> Clicks:
    """Estimate the click-through rates of a log's arms, and all that makes them credible.

    The files are those of `analyses.online.logs.read_logs`; for lists that were not shown, to be
    evaluated off-policy or to see how often they seem accepted, see
    `analyses.online.clicks.alternatives.items_instead`. The arms are those of the planned shares,
    if there are any.

    Raises
    ------
    InputError
        If the files break a rule, or what is asked makes no sense for this log.
    """
    with progress("Reading the log", 1) as bar:
        logs = read_logs(
            recommendations,
            interactions,
            models=question.models,
            assignment=question.assignment,
            arms=None if question.shares is None else [*question.shares],
            values=None,
        )
        bar.advance()
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
    return Clicks(
        question=question,
        facts=logs.facts,
        users=users,
        n_lists=len(lists),
        groups=groups,
        periods={} if chosen.periods == WHOLE_LOG else click_through_by_period(chosen.tallies()),
        cycles=chosen.cycles(least_days=2, zone=question.zone, seed=question.seed),
        halves=_halves(logs, chosen, question),
        policy=None
        if question.policy is None
        else off_policy(logs.slates, items_instead(question.policy, logs.slates)),
        placebo=None
        if question.placebo is None or question.window is None
        else _placebo(
            question.placebo, logs, chosen, window=question.window, credit=question.credit
        ),
    )


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
    tallies = kept.tallies()
    rates = click_through(
        tallies,
        over_time=question.over_time,
        replicates=question.replicates,
        seed=question.seed,
    )
    pooled = rates if question.over_time == "pooled" else click_through(tallies)
    by_type = {
        name: click_through(kept.tallies(accepted), over_time=question.over_time)
        for name, accepted in kept.by_type.items()
    }
    return Group(rates, pooled, by_type, _split(lists.arms, users, is_member, question))


def _split(
    arms: tuple[str, ...], users: Stickiness, is_member: Flags, question: Question
) -> SampleRatio | None:
    if len(arms) < 2:
        return None
    members = users.select(is_member[users.users])
    return sample_ratio(members, arms=arms, shares=question.shares, zone=question.zone)


def _halves(logs: Logs, lists: Lists, question: Question) -> Halves | None:
    if question.halves is None:
        return None
    hashes: NDArray[np.uint64] = id_hashes(logs.slates.users.ids, "halves")
    return halves(lists.of_arm(question.halves).tallies(), hashes)


def _placebo(path: Path, logs: Logs, lists: Lists, *, window: int, credit: Credit) -> Placebo:
    """Compare the lists that count with others for the same users and times."""
    accept = partial(followed, events=logs.events, window=window, credit=credit)
    counts = np.zeros(len(logs.slates), dtype=np.bool_)
    counts[lists.slate] = True
    alternatives = logs.slates.showing(items_instead(path, logs.slates))
    shown, others = (
        replace(slates.select(counts), arm=lists.arm.astype(np.int32))
        for slates in (logs.slates, alternatives)
    )
    return placebo(shown, others, accept)
