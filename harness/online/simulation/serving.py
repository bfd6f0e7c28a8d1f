"""Serving: an arm's model answers the requests of a period, and users click."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.events import Events
from harness.online.simulation.arms import Arm, assign, learn, recommended
from harness.online.simulation.click_world import (
    MINUTE,
    TYPES,
    ClickWorld,
    interactions_of,
    user_ids,
)
from harness.online.simulation.exact_rates import exact_rates
from harness.online.simulation.logging_policy import Lottery
from harness.online.simulation.profiles import profiles_before
from harness.online.simulation.served_models import Recommender
from harness.online.simulation.simulation_settings import SimulationSettings
from harness.online.simulation.traffic import shift_nodes
from harness.online.simulation.visits import Actions, Visits, plan_visits
from qrels.interactions.interactions import TYPE_VALUES, Interactions
from qrels.interactions.test_users import split_users
from runs import Numbering
from runs.shared.streams import random_uniforms

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Lists = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Standing:
    """People who come in a period, and what they know at its beginning."""

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
    """An arm's period: its model, lists, clicks (numbered from its first list), and the truth."""

    policy: Recommender | Lottery
    shown: list[Shown]
    clicks: list[Actions]
    earned: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Stage:
    """What does not change between periods.

    Parameters
    ----------
    world, settings, test_users, block_users
        As of `harness.online.simulation.simulation.simulate`.
    arms
        In the order of their names.
    users
        Users of the world, and robots after them.
    assigned
        Arm of each user, of shape (n_users,); -1 for users who may not come.
    shares
        Planned shares of the arms, adding up to 1.
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

    def span(self, period: int) -> tuple[int, int]:
        """Give where a period begins and ends."""
        begin, end = self.settings.boundaries[period : period + 2]
        return begin, end

    def visits(self, period: int) -> Visits:
        """Plan who comes in a period."""
        online = np.flatnonzero(self.assigned >= 0)
        is_robot = self.is_robot[online]
        people, robots = online[~is_robot], online[is_robot]
        return plan_visits(
            self.world, self.settings, people, robots, period=period, span=self.span(period)
        )

    def learnt_from(self, log: Actions, period: int) -> Interactions:
        """Give what models may learn from: what was done before, but not by test users."""
        earlier = log.select(log.time < self.span(period)[0])
        before = interactions_of(self.events(earlier))
        return before if self.test_users is None else split_users(before, self.test_users)[0]

    def standing(self, log: Actions, visits: Visits, period: int) -> Standing:
        """Find the people of a period."""
        users = np.unique(visits.user)
        people = users[~self.is_robot[users]]
        begins = np.full(len(people), self.span(period)[0])
        return Standing(people, profiles_before(log, people, begins, n_items=len(self.world.items)))

    def events(self, actions: Actions) -> Events:
        """Name users, items and types; ``slate`` as it is."""
        return Events(
            self.users,
            self.world.items,
            TYPES,
            user=actions.user.astype(np.int32),
            item=actions.item.astype(np.int32),
            type=actions.type.astype(np.int32),
            time=actions.time,
            value=np.array([TYPE_VALUES[name] for name in TYPES])[actions.type],
            slate=actions.slate,
        )

    def serve(
        self,
        arm: int,
        learnt: Interactions,
        log: Actions,
        visits: Visits,
        standing: Standing,
        period: int,
    ) -> Served:
        """Let an arm learn and serve its users for a period."""
        policy = learn(self.arms[arm].model, learnt, period)
        shown: list[Shown] = []
        clicks: list[Actions] = []
        came = np.unique(visits.user)
        mine = came[self.assigned[came] == arm]
        for start in range(0, len(mine), self.block_users):
            chosen = np.zeros(len(self.users), dtype=np.bool_)
            chosen[mine[start : start + self.block_users]] = True
            pool = Actions.joined([log.select(chosen[log.user]), visits.views])
            self._serve_block(arm, policy, pool, visits.of_users(chosen), period, shown, clicks)
        return Served(policy, shown, clicks, self._earned(arm, policy, standing, period))

    def _serve_block(
        self,
        arm: int,
        policy: Recommender | Lottery,
        pool: Actions,
        visits: Visits,
        period: int,
        shown: list[Shown],
        clicks: list[Actions],
    ) -> None:
        """Answer the first request of every user, then the second, and so on."""
        turn, n_shown = visits.turn, sum(map(len, shown))
        for number in range(int(turn.max(initial=-1)) + 1):
            asks = turn == number
            user, time = visits.user[asks], visits.time[asks]
            pool = pool.select(np.isin(pool.user, user))
            profiles = profiles_before(pool, user, time, n_items=len(self.world.items))
            items, propensities = self._lists(arm, policy, user, profiles, (period, number))
            chances = self._chances(user, time, items)
            luck = self._luck(user, "clicks", period, number)
            clicked = luck[:, :, 0] < chances
            columns = (np.full(len(user), arm), np.full(len(user), period))
            lists = Shown(user, time, *columns, items, clicked, chances, propensities)
            made = self._clicks(lists, luck, first_slate=n_shown)
            n_shown += len(lists)
            shown.append(lists)
            clicks.append(made)
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

    def _clicks(self, lists: Shown, luck: Floats, *, first_slate: int) -> Actions:
        """Turn clicks into actions within the next minute."""
        row, column = np.nonzero(lists.clicked)
        chosen = luck[row, column]
        time = lists.time[row] + 1 + (chosen[:, 1] * (MINUTE - 1)).astype(np.int64)
        types = self.world.types_of(chosen[:, 2])
        return Actions.of(lists.user[row], lists.items[row, column], time, types, row + first_slate)

    def _earned(
        self, arm: int, policy: Recommender | Lottery, standing: Standing, period: int
    ) -> tuple[float, float]:
        """Give the true click-through rate and clicks per list among all who come."""
        if isinstance(policy, Lottery):
            return np.nan, np.nan
        begin, end = self.span(period)
        nodes = shift_nodes(self.settings.traffic, self.settings.readiness, begin=begin, end=end)
        rates, clicks = np.empty((2, len(standing.people)))
        for start in range(0, len(standing.people), self.block_users):
            rows = slice(start, start + self.block_users)
            items = recommended(
                policy,
                standing.profiles[rows],
                depth=self.settings.depth,
                arm=self.arms[arm].name,
            )
            rates[rows], clicks[rows] = exact_rates(
                self.world, standing.people[rows], items, *nodes
            )
        return (float(rates.mean()), float(clicks.mean())) if len(rates) else (np.nan, np.nan)
