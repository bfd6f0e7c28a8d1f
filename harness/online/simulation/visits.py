"""Visits: when users come in a period, what they ask for, look at unasked, and know by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.online.simulation.click_world import MINUTE, ClickWorld
from runs.shared.streams import random_uniforms

if TYPE_CHECKING:
    from analyses.online.logs.slates import Events
    from scipy.sparse import csr_array

    from harness.online.simulation.simulation_settings import SimulationSettings
    from qrels.interactions.interactions import Interactions

LIST_EVERY: Final = 2 * MINUTE
"""How long a list is looked at before the next."""

LISTS_PER_VISIT, VIEWS_PER_VISIT = 2.0, 1.0
"""Means; views are interactions without a list."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Actions:
    """What users did, as columns of one length: nothing is said of their order.

    Users, items, types and the lists that led to them (-1 for none) are numbers; times are
    milliseconds since 1970 in UTC.
    """

    user: Ints
    item: Ints
    time: Ints
    type: Ints
    slate: Ints

    @classmethod
    def of(
        cls,
        user: NDArray[np.integer],
        item: NDArray[np.integer],
        time: NDArray[np.integer],
        type: NDArray[np.integer],
        slate: NDArray[np.integer] | None = None,
    ) -> Actions:
        """Take columns; without lists by default."""
        named = np.full(len(user), -1) if slate is None else slate
        return cls(*(np.asarray(column, np.int64) for column in (user, item, time, type, named)))

    @classmethod
    def joined(cls, parts: list[Actions]) -> Actions:
        """Put columns one after the other."""
        return cls(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))

    def select(self, kept: NDArray[np.bool_] | NDArray[np.integer] | slice) -> Actions:
        """Keep some rows."""
        return Actions(*(column[kept] for column in vars(self).values()))


def profiles_before(
    log: Events | Interactions | Actions,
    users: NDArray[np.integer],
    before: NDArray[np.integer],
    *,
    n_items: int,
) -> csr_array[Any]:
    """Give the distinct items that users had before a time, itself excluded, as rows of ones.

    The log may be in any order. Users rise strictly, and like times are of shape (n,); the rows are
    of shape (n, n_items).

    Examples
    --------
    User 4 had item 1 at time 7, and item 0 at time 9, which is too late:

    >>> log = Actions.of(*np.array([[4, 4], [1, 0], [7, 9], [0, 0]]))
    >>> profiles_before(log, np.array([4]), np.array([9]), n_items=3).toarray()
    array([[0., 1., 0.]])
    """
    from scipy.sparse import csr_array

    shape = (len(users), n_items)
    if len(users) == 0:
        return csr_array(shape)
    row = np.minimum(np.searchsorted(users, log.user), len(users) - 1)
    kept = (users[row] == log.user) & (log.time < before[row])
    pairs = np.unique(row[kept] * n_items + log.item[kept])
    starts = np.searchsorted(pairs, np.arange(len(users) + 1) * n_items)
    return csr_array((np.ones(len(pairs)), pairs % n_items, starts), shape=shape)


@dataclass(frozen=True, eq=False)
class Visits:
    """All that does not depend on what is recommended.

    Requests for a list, users and times of shape (n_requests,), are sorted; views are what users
    look at without a list.
    """

    user: Ints
    time: Ints
    views: Actions

    @property
    def turn(self) -> Ints:
        """Place of each request among those of its user, from 0."""
        return np.arange(len(self.user)) - np.searchsorted(self.user, self.user)


def plan_visits(
    world: ClickWorld, settings: SimulationSettings, people: Ints, period: int
) -> Visits:
    """Draw visits of people, numbers of users, of a random length in a period (from 0).

    In a visit lists and views follow each other.
    """
    key = (settings.seed, "visits", period)
    counts = poisson_counts(random_uniforms(people, *key), settings.visits)
    user = np.repeat(people, counts)
    number = _counted(counts)
    luck = _by_number(user, number, *key)
    start, end = settings.span(period)
    begin = start + (luck[:, 0] * (end - start)).astype(np.int64)
    n_lists = 1 + poisson_counts(luck[:, 1], LISTS_PER_VISIT - 1)
    n_views = poisson_counts(luck[:, 2], VIEWS_PER_VISIT)
    owner = np.repeat(np.arange(len(user)), n_lists)
    places = user * (number.max(initial=0) + 1) + number
    views = _views(world, user, n_views, places, begin, n_lists * LIST_EVERY, (*key, "views"))
    asks, time = user[owner], begin[owner] + _counted(n_lists) * LIST_EVERY
    order = np.lexsort((time, asks))
    order = order[time[order] < end]
    return Visits(asks[order], time[order], views.select(views.time < end))


def _counted(sizes: Ints) -> Ints:
    """Count from 0 in groups of these sizes, of shape (sum,)."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _by_number(user: Ints, number: Ints, *key: int | str) -> NDArray[np.float64]:
    """Draw three uniform numbers for each visit, by its number among those of its user."""
    luck = np.empty((len(user), 3))
    for chosen in range(int(number.max(initial=-1)) + 1):
        rows = np.flatnonzero(number == chosen)
        places = (user[rows, None] * 3 + np.arange(3)).ravel()
        luck[rows] = random_uniforms(places, *key, chosen).reshape(-1, 3)
    return luck


def _views(
    world: ClickWorld,
    user: Ints,
    n_views: Ints,
    places: Ints,
    begin: Ints,
    length: Ints,
    key: tuple[int | str, ...],
) -> Actions:
    """Let visitors choose items as they did in their history, with the taste of now."""
    item, luck = world.choose(world.tastes(user), n_views, places=places, key=repr(key))
    owner = np.repeat(np.arange(len(user)), n_views)
    time = begin[owner] + (luck[:, 0] * length[owner]).astype(np.int64)
    return Actions.of(user[owner], item, time, world.types_of(luck[:, 1]))


def poisson_counts(luck: NDArray[np.float64], mean: float) -> Ints:
    """Turn uniform numbers into Poisson counts, by inversion."""
    from scipy.stats import poisson

    return poisson.ppf(luck, mean).astype(np.int64)
