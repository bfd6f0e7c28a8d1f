"""Serving: an arm's model answers the requests of a period, and users click."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from analyses.online.logs.slates import Events
from numpy.typing import NDArray

from harness.online.simulation.arms import Arm, Recommender, assign, recommended
from harness.online.simulation.click_world import MINUTE, ClickWorld, interactions_of
from harness.online.simulation.simulation_settings import SimulationSettings
from harness.online.simulation.visits import Actions, Visits, plan_visits, profiles_before
from qrels.interactions.held_out_users import split_users
from qrels.interactions.interactions import Interactions
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

    @classmethod
    def joined(cls, parts: Sequence[Shown]) -> Shown:
        """Put columns one after the other."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def __len__(self) -> int:
        return len(self.user)


@dataclass(frozen=True, eq=False)
class Served:
    """An arm's period: its model, its lists, and clicks, with the numbers of their lists."""

    model: Recommender
    shown: list[Shown]
    clicks: Actions

    @property
    def n_shown(self) -> int:
        """Number of the lists."""
        return sum(map(len, self.shown))


@dataclass(frozen=True, eq=False)
class Stage:
    """What does not change between periods; see `harness.online.simulation.simulation.simulate`.

    Arms are in the order of their names, with planned shares that add up to 1. The arm of each user
    is of shape (n_users,).
    """

    world: ClickWorld
    arms: tuple[Arm, ...]
    settings: SimulationSettings
    assigned: NDArray[np.int32]
    shares: Floats
    test_users: Numbering | None

    @classmethod
    def of(
        cls,
        world: ClickWorld,
        arms: Sequence[Arm],
        settings: SimulationSettings,
        test_users: Numbering | None,
    ) -> Stage:
        """Assign all users to an arm."""
        by_name = tuple(sorted(arms, key=lambda arm: arm.name))
        weights = np.array([arm.weight for arm in by_name], dtype=np.float64)
        shares = weights / weights.sum()
        assigned = assign(world.users, shares, salt=settings.salt)
        return cls(world, by_name, settings, assigned, shares, test_users)

    def period(self, log: Actions, number: int) -> Period:
        """Plan a period: models do not learn from test users."""
        begin, _ = self.settings.span(number)
        learnt = interactions_of(self.events(log.select(log.time < begin)))
        if self.test_users is not None:
            learnt, _ = split_users(learnt, self.test_users)
        everybody = np.arange(len(self.assigned))
        visits = plan_visits(self.world, self.settings, everybody, number)
        return Period(number, learnt, log, visits)

    def events(self, actions: Actions) -> Events:
        """Name users, items and types; ``slate`` as it is."""
        events = self.world.events(actions.user, actions.item, actions.time, actions.type)
        return replace(events, slate=actions.slate)

    def serve(self, arm: int, period: Period) -> Served:
        """Let an arm learn, and answer the first request of every user, then the second, ..."""
        model = self.arms[arm].model.fit(period.learnt)
        mine, visits, log = self.assigned == arm, period.visits, period.log
        views = visits.views
        pool = Actions.joined([log.select(mine[log.user]), views.select(mine[views.user])])
        turn = np.where(mine[visits.user], visits.turn, -1)
        parts: list[Shown] = []
        clicks, n_shown = [pool.select(slice(0))], 0
        for number in range(int(turn.max(initial=-1)) + 1):
            asks = turn == number
            user, time = visits.user[asks], visits.time[asks]
            pool = pool.select(np.isin(pool.user, user))
            profiles = profiles_before(pool, user, time, n_items=len(self.world.items))
            lists, made = self._answer(arm, model, user, time, profiles, (period.number, number))
            parts.append(lists)
            clicks.append(replace(made, slate=made.slate + n_shown))
            n_shown += len(user)
            pool = Actions.joined([pool, made])
        return Served(model, parts, Actions.joined(clicks))

    def _answer(
        self,
        arm: int,
        model: Recommender,
        user: Ints,
        time: Ints,
        profiles: csr_array[Any],
        key: tuple[int, int],
    ) -> tuple[Shown, Actions]:
        """Show a list to each user, and let them click within the next minute."""
        items = recommended(model, profiles, depth=self.settings.depth, arm=self.arms[arm].name)
        chances = self.world.click_chance(user, items)
        luck = self._luck(user, "clicks", *key)
        clicked = luck[:, :, 0] < chances
        columns = (np.full(len(user), arm), np.full(len(user), key[0]))
        shown = Shown(user, time, *columns, items, clicked, chances)
        row, column = np.nonzero(clicked)
        chosen = luck[row, column]
        later = time[row] + 1 + (chosen[:, 1] * (MINUTE - 1)).astype(np.int64)
        types = self.world.types_of(chosen[:, 2])
        return shown, Actions.of(user[row], items[row, column], later, types, row)

    def _luck(self, user: Ints, *key: int | str) -> Floats:
        """Draw three uniform numbers for each place of each user's list."""
        n_numbers = self.settings.depth * 3
        places = user[:, None] * n_numbers + np.arange(n_numbers)
        luck = random_uniforms(places.ravel(), self.settings.seed, *key)
        return luck.reshape(len(user), -1, 3)
