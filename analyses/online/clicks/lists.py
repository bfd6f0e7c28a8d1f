"""The lists of a log that count, with their arm, period and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.checks.crossing import Stickiness, stickiness
from analyses.online.clicks.click_question import Question
from analyses.online.clicks.cycles.cycles import Periodicity, periodicity
from analyses.online.clicks.tallies import Tallies, tally
from analyses.online.logs import Logs
from analyses.online.logs.acceptance import (
    Credit,
    accepted_by_type,
    explicit_clicks,
    followed,
)
from analyses.online.logs.slates import MILLISECONDS_PER_DAY, Flags
from runs import InputError

WHOLE_LOG = ("all",)
"""The one period of a log that names no versions."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists as columns, of shape (n_lists,) each.

    Parameters
    ----------
    arms, periods
        Names of what the numbers stand for; a period is a version of a model.
    slate
        Number of each list in the log, rising.
    user, arm, period
        Numbers.
    time
        Milliseconds since 1970 in UTC.
    accepted
        Whether each was accepted.
    by_type
        The same for each type of interaction, if that was asked.
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

    def cycles(self, *, least_days: int, zone: str, seed: int) -> Periodicity | None:
        """Fit cycles of day and week, if the lists are of so many days at least."""
        if not len(self) or int(np.ptp(self.time)) < least_days * MILLISECONDS_PER_DAY:
            return None
        return periodicity(
            self.accepted, time=self.time, arm=self.arm, arms=self.arms, zone=zone, seed=seed
        )

    def of_arm(self, arm: str) -> Lists:
        """Keep the lists of one arm, without periods."""
        chosen = self.select(self.arm == self.arms.index(arm))
        alone = np.zeros(len(chosen), dtype=np.int64)
        return replace(chosen, arms=(arm,), arm=alone, periods=WHOLE_LOG, period=alone)


def counted_lists(logs: Logs, users: Stickiness, question: Question) -> Lists:
    """Find the lists that count: of users of one arm, shown while a version was live.

    Raises
    ------
    InputError
        If there are none, or no click can name its list.
    """
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
            else accepted_lists(logs, window=question.window, credit=question.credit)
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

    A period is a version of the table of models, or else of the lists themselves.
    """
    slates = logs.slates
    if logs.models is not None:
        names, number = np.unique(logs.models.names, return_inverse=True)
        live = logs.models.at(slates.arm, slates.time)
        return tuple(names.tolist()), np.append(number, -1)[live].astype(np.int64)
    if slates.version is not None:
        return slates.versions, slates.version.astype(np.int64)
    return WHOLE_LOG, np.zeros(len(slates), dtype=np.int64)


def accepted_lists(
    logs: Logs, *, window: int | None, credit: Credit, asked: str = "--explicit"
) -> Flags:
    """Tell which lists were accepted, by an interaction of whichever type.

    Window and credit are those of `analyses.online.logs.acceptance.implicit_clicks`; without a
    window, clicks name their list, in one table or the other, as the user asked in such words.

    Raises
    ------
    InputError
        If no click can name its list.
    """
    slates, events = logs.slates, logs.events
    if window is not None:
        return followed(slates, events, window=window, credit=credit)
    if slates.clicked is None and events.slate is None:
        raise InputError(
            f"{asked} needs clicks that name their list: a column 'rec_id' in the interactions, "
            "or 'clicked' in the recommendations."
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
