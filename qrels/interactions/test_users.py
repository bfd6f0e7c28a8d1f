"""Test users, drawn once and never trained on; and robots, taken away before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from qrels.ratings.splits import id_hashes
from runs import InputError, Numbering

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

    Parameters
    ----------
    interactions
        Of all users.
    share
        About how many users are tested, above 0 and at most 1.
    most
        Test users at most.
    least_items
        Distinct items that a test user needs.
    seed
        Seed of the draw.

    Returns
    -------
    Ids of the test users. Keep them: a second draw from later interactions would also take users
    who had too few items before, and have been trained on since.

    Raises
    ------
    InputError
        If the share is out of range, or nobody is drawn.

    References
    ----------
    Kasalický (2021), (1.24).

    Examples
    --------
    >>> users = Numbering.of(["ann", "bob", "cid"])
    >>> events = Interactions.of(
    ...     users, Numbering.of("xy"), user=[0, 0, 1, 2, 2], item=[0, 1, 0, 0, 1], time=range(5)
    ... )
    >>> draw_test_users(events, share=1, seed=1).ids.tolist()
    ['ann', 'cid']
    """
    if not 0 < share <= 1:
        raise InputError(f"the share of test users must be above 0 and at most 1, got {share}.")
    words = id_hashes(interactions.users.ids, f"test users {seed}")
    fit = interactions.distinct_item_counts() >= least_items
    drawn = np.flatnonzero(fit & (words * 2.0**-64 < share))
    lowest = np.sort(drawn[np.argsort(words[drawn], kind="stable")[:most]])
    if len(lowest) == 0:
        raise InputError(
            f"there is no test user: of {len(fit)} users {np.count_nonzero(fit)} have at least "
            f"{least_items} distinct items, of whom a share of {share:g} was drawn."
        )
    return interactions.users.select(lowest)


def split_users(
    interactions: Interactions, test_ids: Numbering
) -> tuple[Interactions, Interactions]:
    """Part the events of test users from those of everybody else, who may have come later.

    Returns
    -------
    Training and test events over the same numbering.

    Examples
    --------
    >>> events = Interactions.of(
    ...     Numbering.of(["ann", "bob"]), Numbering.of("xy"), user=[0, 1], item=[0, 1], time=[1, 2]
    ... )
    >>> train, test = split_users(events, Numbering.of(["bob", "gone"]))
    >>> train.user.tolist(), test.user.tolist()
    ([0], [1])
    """
    tested = (test_ids.numbers(interactions.users.ids) >= 0)[interactions.user]
    return interactions.select(~tested), interactions.select(tested)


@dataclass(frozen=True)
class RobotRules:
    """Who is taken for a robot; a rule that is None is not applied.

    Parameters
    ----------
    most_per_day
        Events of a user on one day (of UTC) that a person may have.
    most_events
        Events of a user that a person may have.
    top_share
        Share of the users that have most events, who are robots: in [0, 1). A user with as many
        events as one who is not, is not.
    least_pause
        Median pause between events that a person needs, in milliseconds.
    least_variation
        Standard deviation of the pauses over their mean that a person has at least; pauses of
        a script are all alike.
    least_pauses
        Pauses without which a user is not judged by them.
    """

    most_per_day: int | None = None
    most_events: int | None = None
    top_share: float | None = None
    least_pause: float | None = None
    least_variation: float | None = None
    least_pauses: int = 20

    def __post_init__(self) -> None:
        if self.top_share is not None and not 0 <= self.top_share < 1:
            raise InputError(f"`top_share` must be at least 0 and below 1, got {self.top_share}.")
        for name in ("most_per_day", "most_events", "least_pause", "least_variation"):
            limit = getattr(self, name)
            if limit is not None and limit < 0:
                raise InputError(f"`{name}` must not be negative, got {limit}.")


@dataclass(frozen=True, eq=False)
class RobotFilter:
    """What is left without robots, and who went why.

    Parameters
    ----------
    kept
        Events of the others.
    broken
        By rule: mask over the users, of shape (n_users,), of those who broke it.
    n_events
        Events there were.
    """

    kept: Interactions
    broken: Mapping[str, NDArray[np.bool_]]
    n_events: int

    @property
    def robots(self) -> NDArray[np.bool_]:
        """Mark the users who broke a rule, of shape (n_users,)."""
        return _broke_any(self.broken, n_users=len(self.kept.users))

    @property
    def n_removed(self) -> int:
        """Events taken away."""
        return self.n_events - len(self.kept)

    def in_words(self) -> str:
        """Say how many users and events went, and by which rule."""
        by_rule = ", ".join(f"{name} {mask.sum():,}" for name, mask in self.broken.items())
        return (
            f"{self.robots.sum():,} robots with {self.n_removed:,} of {self.n_events:,} events "
            f"were removed (users by rule: {by_rule or 'none was given'})."
        )


def filter_robots(interactions: Interactions, rules: RobotRules) -> RobotFilter:
    """Take away the events of users who break a rule.

    Examples
    --------
    >>> events = Interactions.of(
    ...     Numbering.of(["ann", "bot"]), Numbering.of("x"),
    ...     user=[0, 0, 1, 1, 1], item=[0] * 5, time=[0, DAY, 0, 1, 2],
    ... )
    >>> found = filter_robots(events, RobotRules(most_per_day=2))
    >>> found.kept.user.tolist(), found.in_words()
    ([0, 0], '1 robots with 3 of 5 events were removed (users by rule: most_per_day 1).')
    """
    broken = _broken_rules(interactions, rules)
    robot = _broke_any(broken, n_users=len(interactions.users))
    return RobotFilter(
        interactions.select(~robot[interactions.user]), broken, n_events=len(interactions)
    )


def _broke_any(broken: Mapping[str, NDArray[np.bool_]], *, n_users: int) -> NDArray[np.bool_]:
    return np.logical_or.reduce([np.zeros(n_users, dtype=np.bool_), *broken.values()])


def _broken_rules(events: Interactions, rules: RobotRules) -> dict[str, NDArray[np.bool_]]:
    """Mark, by rule that applies, the users who break it."""
    counts = np.diff(events.starts)
    broken: dict[str, NDArray[np.bool_]] = {}
    if rules.most_per_day is not None:
        broken["most_per_day"] = busiest_days(events) > rules.most_per_day
    if rules.most_events is not None:
        broken["most_events"] = counts > rules.most_events
    if rules.top_share is not None:
        broken["top_share"] = counts > _least_outside_top(counts, rules.top_share)
    if rules.least_pause is not None or rules.least_variation is not None:
        judged = counts > rules.least_pauses
        median, variation = _pauses(events)
        if rules.least_pause is not None:
            broken["least_pause"] = judged & (median < rules.least_pause)
        if rules.least_variation is not None:
            broken["least_variation"] = judged & (variation < rules.least_variation)
    return broken


def busiest_days(events: Interactions) -> NDArray[np.intp]:
    """Count the events of every user on the day with most of them, of shape (n_users,)."""
    days = events.time // DAY
    is_new = np.ones(len(events), dtype=np.bool_)
    is_new[1:] = (events.user[1:] != events.user[:-1]) | (days[1:] != days[:-1])
    first = np.flatnonzero(is_new)
    most = np.zeros(len(events.users), dtype=np.intp)
    np.maximum.at(most, events.user[first], np.diff(first, append=len(events)))
    return most


def _least_outside_top(counts: NDArray[np.int64], top_share: float) -> int:
    """Give the most events of a user, with any, who is not among the top share."""
    active = np.sort(counts[counts > 0])
    n_outside = len(active) - int(top_share * len(active))
    return int(active[n_outside - 1]) if len(active) else 0


def _pauses(events: Interactions) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give each user's median pause, and deviation over mean, NaN below one pause or mean 0."""
    same = events.user[1:] == events.user[:-1]
    pauses = np.diff(events.time)[same].astype(np.float64)
    users = events.user[1:][same]
    n_users = len(events.users)
    counts = np.bincount(users, minlength=n_users)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(users, pauses, minlength=n_users) / counts
        squares = np.bincount(users, (pauses - means[users]) ** 2, minlength=n_users) / counts
        variation = np.sqrt(squares) / means
    return _medians(users, pauses, counts), variation


def _medians(
    users: NDArray[np.int32], pauses: NDArray[np.float64], counts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Give the median of each user's pauses, NaN where there is none."""
    medians = np.full(len(counts), np.nan)
    some = counts > 0
    ordered = pauses[np.lexsort((pauses, users))]
    first = (np.cumsum(counts) - counts)[some]
    middle = counts[some]
    medians[some] = (ordered[first + (middle - 1) // 2] + ordered[first + middle // 2]) / 2
    return medians
