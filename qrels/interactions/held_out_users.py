"""Test users, drawn once and never trained on; and robots, taken away before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from runs import InputError, Numbering
from runs.shared.streams import id_hashes

DAY = 86_400_000
"""Milliseconds."""


def draw_test_users(
    interactions: Interactions,
    *,
    share: float = 0.1,
    most: int = 100_000,
    least_items: int = 2,
    seed: int,
) -> Numbering:
    r"""Draw the users that models are tested on.

    A hash of seed and id gives every user a number in [0, 1); tested are those below ``share``
    with enough items, and of these the ``most`` with the lowest numbers. So whether a user is
    drawn does not depend on who else there is, as long as no more than ``most`` are.

    References
    ----------
    Kasalický (2021), (1.24).
    """
    if not 0 < share <= 1:
        raise InputError(f"the share of test users must be above 0 and at most 1, got {share}.")
    ids = interactions.users.ids
    words = id_hashes(ids, f"test users {seed}")
    fit = interactions.distinct_item_counts() >= least_items
    drawn = np.flatnonzero(fit & (words * 2.0**-64 < share))
    if len(drawn) == 0:
        raise InputError(
            f"there is no test user: of {len(ids)} users {np.count_nonzero(fit)} have at least "
            f"{least_items} distinct items, of whom a share of {share:g} was drawn."
        )
    lowest = np.argsort(words[drawn], kind="stable")[:most]
    return Numbering(ids[np.sort(drawn[lowest])])


def split_users(
    interactions: Interactions, test_ids: Numbering
) -> tuple[Interactions, Interactions]:
    """Part the events of test users from those of everybody else, who may have come later."""
    tested = (test_ids.numbers(interactions.users.ids) >= 0)[interactions.user]
    return interactions.select(~tested), interactions.select(tested)


@dataclass(frozen=True, eq=False)
class RobotFilter:
    """What is left without robots, their mask of shape (n_users,), and the events there were."""

    kept: Interactions
    robots: NDArray[np.bool_]
    n_events: int

    @property
    def removed(self) -> tuple[int, int, int]:
        """Robots, their events, and all events."""
        n_robots = int(np.count_nonzero(self.robots))
        return n_robots, self.n_events - len(self.kept), self.n_events


def removed_in_words(n_robots: int, n_removed: int, n_events: int) -> str:
    """Say how many users and events went, and by which rule."""
    return (
        f"{n_robots:,} robots with {n_removed:,} of {n_events:,} events were removed "
        f"(users by rule: most_per_day {n_robots:,})."
    )


def filter_robots(interactions: Interactions, *, most_per_day: int | None) -> RobotFilter:
    """Take away the events of users who have more on one day (of UTC) than a person may have.

    Without a limit, nobody is a robot.
    """
    if most_per_day is None:
        nobody = np.zeros(len(interactions.users), dtype=np.bool_)
        return RobotFilter(interactions, nobody, n_events=len(interactions))
    if most_per_day < 0:
        raise InputError(f"`most_per_day` must not be negative, got {most_per_day}.")
    robots = busiest_days(interactions) > most_per_day
    return RobotFilter(
        interactions.select(~robots[interactions.user]), robots, n_events=len(interactions)
    )


def busiest_days(events: Interactions) -> NDArray[np.intp]:
    """Count the events of every user on the day with most of them, of shape (n_users,)."""
    days = events.time // DAY
    is_new = np.ones(len(events), dtype=np.bool_)
    is_new[1:] = (events.user[1:] != events.user[:-1]) | (days[1:] != days[:-1])
    first = np.flatnonzero(is_new)
    most = np.zeros(len(events.users), dtype=np.intp)
    np.maximum.at(most, events.user[first], np.diff(first, append=len(events)))
    return most
