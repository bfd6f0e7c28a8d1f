"""Serving: an arm's model answers the requests of a period, and users click."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.events import Events
from harness.online.simulation.arms.arms import Arm, assign, recommended
from harness.online.simulation.arms.logging_policy import Lottery
from harness.online.simulation.arms.served_models import Recommender
from harness.online.simulation.world.click_world import (
    MINUTE,
    ClickWorld,
    interactions_of,
    user_ids,
)
from harness.online.simulation.world.exact_rates import exact_rates
from harness.online.simulation.world.profiles import profiles_before
from harness.online.simulation.world.simulation_settings import SimulationSettings
from harness.online.simulation.world.traffic import shift_nodes
from harness.online.simulation.world.visits import Actions, Visits, plan_visits
from qrels.interactions.interactions import Interactions
from qrels.interactions.test_users import split_users
from runs import Numbering
from runs.shared.streams import random_uniforms

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Lists = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Period:
    """A period at its beginning: its number (from 0), what models may learn from, what was done.

    Then who comes when, and the people among them with what they know.
    """

    number: int
    learnt: Interactions
    log: Actions
    visits: Visits
    people: Ints
    profiles: csr_array[Any]


@dataclass(frozen=True, eq=False)
class Shown:
    """Lists as columns: users, times, arms and periods of shape (n,), the rest (n, depth)."""

    user: Ints
    time: Ints
    arm: Ints
    period: Ints
    items: Lists
    clicked: NDArray[np.bool_]
    chances: Floats
    propensities: Floats

    @classmethod
    def joined(cls, parts: Sequence[Shown]) -> Shown:
        """Put columns one after the other."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def __len__(self) -> int:
        return len(self.user)


@dataclass(frozen=True, eq=False)
class Served:
    """An arm's period: its model, lists with clicks (numbered from the first), and the truth."""

    policy: Recommender | Lottery
    rounds: list[tuple[Shown, Actions]]
    earned: tuple[float, float]

    def clicks(self, n_before: int) -> list[Actions]:
        """Give the clicks, with their lists numbered from the first of the experiment."""
        counts = [len(shown) for shown, _ in self.rounds]
        firsts = n_before + np.cumsum([0, *counts])
        return [
            replace(made, slate=made.slate + first)
            for (_, made), first in zip(self.rounds, firsts[:-1], strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Stage:
    """What does not change between periods; see `harness.online.simulation.simulation.simulate`.

    Arms are in the order of their names, with planned shares that add up to 1. Robots come after
    the users of the world. The arm of each user is of shape (n_users,), -1 for users who may not
    come.
    """

    world: ClickWorld
    arms: tuple[Arm, ...]
    settings: SimulationSettings
    users: Numbering
    assigned: NDArray[np.int32]
    shares: Floats
    test_users: Numbering | None
    block_users: int

    @classmethod
    def of(
        cls,
        world: ClickWorld,
        arms: Sequence[Arm],
        settings: SimulationSettings,
        test_users: Numbering | None,
        block_users: int,
    ) -> Stage:
        """Add robots to the users and assign all who may come to an arm."""
        n_users = world.settings.n_users
        users = Numbering(user_ids(0, n_users + settings.robots))
        by_name = tuple(sorted(arms, key=lambda arm: arm.name))
        weights = np.array([arm.weight for arm in by_name], dtype=np.float64)
        shares = weights / weights.sum()
        luck = random_uniforms(np.arange(n_users), settings.seed, "online")
        online = np.append(luck < settings.online_share, np.ones(settings.robots, dtype=np.bool_))
        assigned = assign(users, shares, salt=settings.salt)
        assigned[~online] = -1
        return cls(world, by_name, settings, users, assigned, shares, test_users, block_users)

    @property
    def is_robot(self) -> NDArray[np.bool_]:
        """Mark the robots, of shape (n_users,)."""
        return np.arange(len(self.users)) >= self.world.settings.n_users

    @property
    def history(self) -> Actions:
        """What users did before the experiment."""
        events = self.world.history()
        return Actions.of(events.user, events.item, events.time, events.type)

    def period(self, log: Actions, number: int) -> Period:
        """Plan a period: models do not learn from test users."""
        begin, _ = self.settings.span(number)
        learnt = interactions_of(self.events(log.select(log.time < begin)))
        if self.test_users is not None:
            learnt, _ = split_users(learnt, self.test_users)
        online = np.flatnonzero(self.assigned >= 0)
        is_robot = self.is_robot[online]
        visits = plan_visits(self.world, self.settings, online[~is_robot], online[is_robot], number)
        users = np.unique(visits.user)
        people = users[~self.is_robot[users]]
        profiles = profiles_before(
            log, people, np.full(len(people), begin), n_items=len(self.world.items)
        )
        return Period(number, learnt, log, visits, people, profiles)

    def events(self, actions: Actions) -> Events:
        """Name users, items and types; ``slate`` as it is."""
        events = self.world.events(actions.user, actions.item, actions.time, actions.type)
        return replace(events, users=self.users, slate=actions.slate)

    def serve(self, arm: int, period: Period) -> Served:
        """Let an arm learn and serve its users for a period."""
        policy = self.arms[arm].model.fit(period.learnt)
        rounds: list[tuple[Shown, Actions]] = []
        came = np.unique(period.visits.user)
        mine = came[self.assigned[came] == arm]
        for start in range(0, len(mine), self.block_users):
            chosen = np.zeros(len(self.users), dtype=np.bool_)
            chosen[mine[start : start + self.block_users]] = True
            rounds += self._rounds(arm, policy, period, chosen)
        return Served(policy, rounds, self._earned(arm, policy, period))

    def _rounds(
        self, arm: int, policy: Recommender | Lottery, period: Period, chosen: NDArray[np.bool_]
    ) -> Iterator[tuple[Shown, Actions]]:
        """Answer the first request of every chosen user, then the second, and so on."""
        visits, log = period.visits.of_users(chosen), period.log
        pool = Actions.joined([log.select(chosen[log.user]), period.visits.views])
        turn = visits.turn
        for number in range(int(turn.max(initial=-1)) + 1):
            asks = turn == number
            user, time = visits.user[asks], visits.time[asks]
            pool = pool.select(np.isin(pool.user, user))
            profiles = profiles_before(pool, user, time, n_items=len(self.world.items))
            key = (period.number, number)
            items, propensities = self._lists(arm, policy, user, profiles, key)
            chances = self._chances(user, time, items)
            luck = self._luck(user, "clicks", *key)
            columns = (np.full(len(user), arm), np.full(len(user), period.number))
            clicked = luck[:, :, 0] < chances
            lists = Shown(user, time, *columns, items, clicked, chances, propensities)
            made = self._clicks(lists, luck)
            yield lists, made
            pool = Actions.joined([pool, made])

    def _lists(
        self,
        arm: int,
        policy: Recommender | Lottery,
        user: Ints,
        profiles: csr_array[Any],
        key: tuple[int, int],
    ) -> tuple[Lists, Floats]:
        """Make lists, and say how likely they were."""
        depth = self.settings.depth
        if isinstance(policy, Lottery):
            items = policy.draw(user, depth=depth, key=(self.settings.seed, "lists", *key))
            return items, policy.propensities(depth)[items]
        items = recommended(policy, profiles, depth=depth, arm=self.arms[arm].name)
        return items, np.ones(items.shape)

    def _chances(self, user: Ints, time: Ints, items: Lists) -> Floats:
        """Give the chances of clicks, which for robots are all one."""
        chances = self.world.click_chance(user, items, shift=self.settings.readiness.at(time))
        chances[self.is_robot[user]] = self.settings.robot_click_chance
        return chances

    def _luck(self, user: Ints, *key: int | str) -> Floats:
        """Draw three uniform numbers for each place of each user's list."""
        n_numbers = self.settings.depth * 3
        places = user[:, None] * n_numbers + np.arange(n_numbers)
        luck = random_uniforms(places.ravel(), self.settings.seed, *key)
        return luck.reshape(len(user), -1, 3)

    def _clicks(self, lists: Shown, luck: Floats) -> Actions:
        """Turn clicks into actions within the next minute."""
        row, column = np.nonzero(lists.clicked)
        chosen = luck[row, column]
        time = lists.time[row] + 1 + (chosen[:, 1] * (MINUTE - 1)).astype(np.int64)
        types = self.world.types_of(chosen[:, 2])
        return Actions.of(lists.user[row], lists.items[row, column], time, types, row)

    def _earned(
        self, arm: int, policy: Recommender | Lottery, period: Period
    ) -> tuple[float, float]:
        """Give the true click-through rate and clicks per list among all who come."""
        n_people, name = len(period.people), self.arms[arm].name
        if isinstance(policy, Lottery) or not n_people:
            return np.nan, np.nan
        begin, end = self.settings.span(period.number)
        nodes = shift_nodes(self.settings.traffic, self.settings.readiness, begin=begin, end=end)
        rates, clicks = np.empty((2, n_people))
        for start in range(0, n_people, self.block_users):
            rows = slice(start, start + self.block_users)
            known = period.profiles[rows]
            items = recommended(policy, known, depth=self.settings.depth, arm=name)
            rates[rows], clicks[rows] = exact_rates(self.world, period.people[rows], items, *nodes)
        return float(rates.mean()), float(clicks.mean())
