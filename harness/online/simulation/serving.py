"""Serving: an arm's model answers the requests of a period, and users click."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.events import Events
from harness.online.simulation.arms import Arm, Lottery, Recommender, assign, recommended
from harness.online.simulation.click_world import MINUTE, ClickWorld, interactions_of
from harness.online.simulation.profiles import profiles_before
from harness.online.simulation.simulation_settings import SimulationSettings
from harness.online.simulation.visits import Actions, Visits, plan_visits
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

    Then who comes when.
    """

    number: int
    learnt: Interactions
    log: Actions
    visits: Visits


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
    """An arm's period: its model, and lists with clicks (numbered from the first)."""

    policy: Recommender | Lottery
    rounds: list[tuple[Shown, Actions]]

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

    Arms are in the order of their names, with planned shares that add up to 1. The arm of each user
    is of shape (n_users,), -1 for users who may not come.
    """

    world: ClickWorld
    arms: tuple[Arm, ...]
    settings: SimulationSettings
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
        """Assign all who may come to an arm."""
        by_name = tuple(sorted(arms, key=lambda arm: arm.name))
        weights = np.array([arm.weight for arm in by_name], dtype=np.float64)
        shares = weights / weights.sum()
        luck = random_uniforms(np.arange(world.settings.n_users), settings.seed, "online")
        assigned = assign(world.users, shares, salt=settings.salt)
        assigned[luck >= settings.online_share] = -1
        return cls(world, by_name, settings, assigned, shares, test_users, block_users)

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
        visits = plan_visits(self.world, self.settings, online, number)
        return Period(number, learnt, log, visits)

    def events(self, actions: Actions) -> Events:
        """Name users, items and types; ``slate`` as it is."""
        events = self.world.events(actions.user, actions.item, actions.time, actions.type)
        return replace(events, slate=actions.slate)

    def serve(self, arm: int, period: Period) -> Served:
        """Let an arm learn and serve its users for a period."""
        model = self.arms[arm].model
        policy = model if isinstance(model, Lottery) else model.fit(period.learnt)
        rounds: list[tuple[Shown, Actions]] = []
        came = np.unique(period.visits.user)
        mine = came[self.assigned[came] == arm]
        for start in range(0, len(mine), self.block_users):
            chosen = np.zeros(len(self.assigned), dtype=np.bool_)
            chosen[mine[start : start + self.block_users]] = True
            rounds += self._rounds(arm, policy, period, chosen)
        return Served(policy, rounds)

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
            shift = self.settings.readiness.at(time)
            chances = self.world.click_chance(user, items, shift=shift)
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
            n_items, key_of_lists = profiles.shape[1], (self.settings.seed, "lists", *key)
            items = policy.draw(user, n_items=n_items, depth=depth, key=key_of_lists)
            return items, np.full(items.shape, 1 / n_items)
        items = recommended(policy, profiles, depth=depth, arm=self.arms[arm].name)
        return items, np.ones(items.shape)

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
