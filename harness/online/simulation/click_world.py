"""A world of clicks: users with drifting tastes, items more or less exposed, chances known.

What users did is missing not at random: they meet what is exposed and take what they like. What
they click of a list depends on what they like now, on its place in the list, and on whether they
know it already.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
from analyses.online.logs.slates import Events
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.special import expit

from qrels.interactions.interactions import TYPE_VALUES, Interactions
from runs import Numbering
from runs.shared.members import Section
from runs.shared.streams import random_uniforms

Floats = NDArray[np.float64]

DAY: Final = 86_400_000
MINUTE: Final = 60_000
NOW: Final = 1_767_571_200_000
"""Monday, 5 January 2026, 0:00 UTC, in milliseconds: histories end and experiments begin."""

TYPES: Final = ("view", "cart", "purchase")
SCATTER: Final = 0.5
"""Length of the noise around the centre of a topic, whose own length is 1."""

FIRST_TOPIC_FADES: Final = 0.8
"""How much of a user's first topic has gone by now."""

DIMENSIONS: Final = 16
QUALITY_SPREAD, EXPOSURE_SPREAD = 0.6, 1.3
"""Standard deviations of the items' quality and log exposure."""

HISTORY, SESSION = 90 * DAY, 30 * MINUTE
MEAN_EVENTS, EVENTS_SPREAD = 18.0, 0.9
"""Mean of a user's events, before they are cut to limits, and deviation of their logarithm."""

CARTS, PURCHASES = 0.06, 0.03
"""Shares of events that are no views."""

USERS_PER_BLOCK: Final = 16_384


class ClickWorldSettings(Section):
    """What a world of clicks is made from; equal settings give equal worlds."""

    n_users: int = Field(default=10_000, ge=2, le=10**8, description="Users, at least 2.")
    n_items: int = Field(default=1_500, ge=2, le=10**6, description="Items, at least 2.")
    topics: int = Field(default=40, ge=2, description="Topics of items and tastes, at least 2.")
    selectivity: float = Field(
        default=6.0,
        ge=0.0,
        le=12.0,
        description="How strongly users follow their taste (s), 0 to 12.",
    )
    exposure: float = Field(
        default=1.0,
        ge=0.0,
        le=2.0,
        description="How strongly the history follows the exposure of items (eta), 0 to 2. At 0 "
        "it depends on taste and quality alone.",
    )
    familiarity: float = Field(
        default=0.0,
        ge=-5.0,
        le=5.0,
        description="How strongly users avoid to click what is exposed (gamma), -5 to 5: above 0 "
        "they look for what they do not know, below 0 for what they do.",
    )
    position: float = Field(
        default=1.0, ge=0.0, le=5.0, description="How fast attention falls with rank (rho), 0 to 5."
    )
    reluctance: float = Field(
        default=4.5, ge=-20.0, le=20.0, description="How seldom users click at all (c0)."
    )
    sessions: int = Field(default=5, ge=1, le=100, description="Sessions of a history, 1 to 100.")
    least_events: int = Field(default=2, ge=0, description="Events of the least active user.")
    most_events: int = Field(default=300, ge=1, description="Events of the most active user.")
    seed: int = Field(default=1, ge=0, description="Seed of all that is drawn, at least 0.")

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        if self.least_events > self.most_events:
            raise ValueError(
                f"`least_events` must be at most `most_events`, got {self.least_events} and "
                f"{self.most_events}."
            )
        needed = 10 * -(-self.most_events // self.sessions)
        if self.n_items < needed:
            raise ValueError(
                f"`n_items` must be at least {needed:,}, ten times the events of the longest "
                f"session, got {self.n_items:,}."
            )
        return self


@dataclass(frozen=True, eq=False)
class ClickWorld:
    """Items as arrays, and users as streams: what is asked of a user is drawn when it is asked.

    Vectors of the items have length 1 and the shape (n_items, dimensions), as have the centres of
    the topics, (topics, dimensions); quality and log exposure are of shape (n_items,).

    Examples
    --------
    >>> world = make_click_world(ClickWorldSettings(n_users=50, n_items=200, most_events=60))
    >>> world.click_chance(np.array([7]), np.array([[3, 5]])).shape
    (1, 2)
    """

    settings: ClickWorldSettings
    vectors: Floats
    quality: Floats
    log_exposure: Floats
    centres: Floats

    @cached_property
    def users(self) -> Numbering:
        """Ids of the users."""
        return Numbering(np.array([f"u{n:08}" for n in range(1, self.settings.n_users + 1)]))

    @cached_property
    def items(self) -> Numbering:
        """Ids of the items."""
        return Numbering(np.array([f"i{number:06}" for number in range(1, len(self.quality) + 1)]))

    @cached_property
    def familiarity(self) -> Floats:
        """Log exposure with mean 0 and standard deviation 1, of shape (n_items,)."""
        centred = self.log_exposure - self.log_exposure.mean()
        spread = centred.std()
        return centred / spread if spread > 0 else centred

    @cached_property
    def lure(self) -> Floats:
        """Running sums of the shares in which items are met, by quality and exposure."""
        odds = np.exp(self.quality + self.settings.exposure * self.log_exposure)
        sums = np.cumsum(odds)
        return sums / sums[-1]

    def tastes(self, users: NDArray[np.integer], *, moment: float | Floats = 1.0) -> Floats:
        """Give unit vectors of what users like, from 0 (their first session) to 1 (now).

        Users are numbers of shape (n,); the moment is one for all or of shape (n,).
        """
        seed, n_topics = self.settings.seed, self.settings.topics
        first = (random_uniforms(users, seed, "first topic") * n_topics).astype(np.int64)
        steps = (random_uniforms(users, seed, "second topic") * (n_topics - 1)).astype(np.int64)
        second = (first + 1 + steps) % n_topics
        before, since = (
            _around(self.centres[topic], users, seed, name)
            for topic, name in ((first, "first taste"), (second, "second taste"))
        )
        fading = FIRST_TOPIC_FADES * np.broadcast_to(moment, users.shape)[:, None]
        return _unit((1 - fading) * before + fading * since)

    def likings(self, tastes: Floats, items: NDArray[np.integer]) -> Floats:
        """Give s <taste, v> + quality, of tastes (n, dimensions) and items of shape (n, k)."""
        # A sum, not a product of matrices: rows do not depend on how many there are.
        inner = (tastes[:, None, :] * self.vectors[items]).sum(axis=2)
        return self.settings.selectivity * inner + self.quality[items]

    def click_odds(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> Floats:
        """Give the log odds of a click on an item that is looked at, of shape (n, k)."""
        settings = self.settings
        novelty = -settings.familiarity * self.familiarity[items]
        likings = self.likings(self.tastes(users), items)
        return likings + novelty - settings.reluctance

    def click_chance(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> Floats:
        r"""Give the exact chance of each click.

        .. math:: P(\text{click on } i \text{ at } k) = k^{-\rho}
                  \sigma(s \langle \theta_u, v_i \rangle + b_i - c_0 - \gamma z(e_i))

        Users are numbers of shape (n,), lists of items of shape (n, k), rank 1 first, as are the
        chances.
        """
        chances: Floats = expit(self.click_odds(users, items))
        return np.arange(1.0, items.shape[1] + 1) ** -self.settings.position * chances

    def history(self, users: slice = slice(None)) -> Events:
        """Draw what a range of users did before now, in their order and that of time.

        What they did does not depend on who else is asked for.
        """
        chosen = np.arange(self.settings.n_users)[users]
        starts = range(USERS_PER_BLOCK, len(chosen), USERS_PER_BLOCK)
        blocks = [self._history_of(block) for block in np.split(chosen, starts)]
        columns = [np.concatenate(column) for column in zip(*blocks, strict=True)]
        return self.events(*columns)

    def events(
        self,
        user: NDArray[np.integer],
        item: NDArray[np.integer],
        time: NDArray[np.int64],
        type: NDArray[np.integer],
    ) -> Events:
        """Make columns events over the numbering of this world."""
        numbers = type.astype(np.int32)
        values = np.array([TYPE_VALUES[name] for name in TYPES])[numbers]
        columns = (user.astype(np.int32), item.astype(np.int32), numbers, time, values)
        return Events(self.users, self.items, TYPES, *columns)

    def choose(
        self, tastes: Floats, sizes: NDArray[np.integer], *, places: NDArray[np.integer], key: str
    ) -> tuple[NDArray[np.int32], Floats]:
        """Let sessions choose items, by exp(s <taste, v> + quality + eta * log exposure).

        Session k, of a taste of shape (dimensions,), chooses as many items as its size says,
        without replacement; its place is its number in the stream of the key. Given are items of
        shape (n_events,), session after session, and two uniform numbers for each.
        """
        from harness.online.simulation.simulation_loops import choose_items

        settings = self.settings
        seeds = (random_uniforms(places, settings.seed, key) * 2.0**53).astype(np.uint64)
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        seeds <<= np.uint64(11)
        return choose_items(tastes, first, seeds, self.vectors, self.lure, settings.selectivity)

    def types_of(self, luck: Floats) -> NDArray[np.int32]:
        """Turn uniform numbers into types of events."""
        ends = [1 - CARTS - PURCHASES, 1 - PURCHASES]
        return np.searchsorted(ends, luck, side="right").astype(np.int32)

    def _history_of(self, users: NDArray[np.int64]) -> tuple[NDArray[np.generic], ...]:
        """Draw columns user, item, time and type."""
        n_sessions = self.settings.sessions
        sizes = self._session_sizes(users).ravel()
        user = np.repeat(users, n_sessions)
        session = np.tile(np.arange(n_sessions), len(users))
        places = user * n_sessions + session
        tastes = self.tastes(user, moment=session / max(n_sessions - 1, 1))
        item, luck = self.choose(tastes, sizes, places=places, key="history")
        begin = self._session_begins(session, places)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        time = begin[owner] + (luck[:, 0] * SESSION).astype(np.int64)
        order = np.lexsort((time, owner))
        return user[owner], item[order], time[order], self.types_of(luck[order, 1])

    def _session_sizes(self, users: NDArray[np.int64]) -> NDArray[np.int64]:
        """Spread the events of each user evenly over sessions, of shape (n, sessions)."""
        settings = self.settings
        location = np.log(MEAN_EVENTS) - EVENTS_SPREAD**2 / 2
        spread = EVENTS_SPREAD * _normals(users, settings.seed, "activity")
        activity = np.rint(np.exp(location + spread))
        counts = np.clip(activity, settings.least_events, settings.most_events).astype(np.int64)
        ends = counts[:, None] * np.arange(settings.sessions + 1) // settings.sessions
        return np.diff(ends, axis=1)

    def _session_begins(
        self, session: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Begin each session at any time of its part of the history."""
        settings = self.settings
        part = HISTORY // settings.sessions
        free = part - SESSION
        wait = (random_uniforms(places, settings.seed, "session") * free).astype(np.int64)
        return NOW - (settings.sessions - session) * part + wait


def make_click_world(settings: ClickWorldSettings) -> ClickWorld:
    """Draw the items of a world of clicks; its users are drawn when they are asked for.

    Items lie around the centres of topics on the unit sphere; quality and log exposure are normal
    and independent. Users have two topics, the second of which takes the place of the first. A
    history follows taste, quality and (eta) exposure; clicks follow taste, quality and, against
    it, familiarity (gamma).

    Notes
    -----
    Our own design, after the simulation of Kasalický's question in which he had only logs: there
    is ground truth, and no evidence about real users.

    Examples
    --------
    >>> world = make_click_world(ClickWorldSettings(n_users=3, n_items=60, most_events=6))
    >>> events = world.history()
    >>> bool((np.bincount(events.user) >= 2).all()), bool((events.time < NOW).all())
    (True, True)
    """
    seed, n_items, d = settings.seed, settings.n_items, DIMENSIONS
    numbers = np.arange(n_items)
    topic = (random_uniforms(numbers, seed, "item topic") * settings.topics).astype(np.int64)
    centres = _unit(_normals(np.arange(settings.topics * d), seed, "centres").reshape(-1, d))
    return ClickWorld(
        settings,
        vectors=_around(centres[topic], numbers, seed, "item"),
        quality=QUALITY_SPREAD * _normals(numbers, seed, "quality"),
        log_exposure=EXPOSURE_SPREAD * _normals(numbers, seed, "exposure"),
        centres=centres,
    )


def interactions_of(events: Events) -> Interactions:
    """Sort events for training."""
    columns = {name: getattr(events, name) for name in ("user", "item", "time", "value")}
    return Interactions.of(events.users, events.items, **columns)


def _normals(places: NDArray[np.integer], *key: int | str) -> Floats:
    """Draw one normal deviate for each place of the stream of a key."""
    from scipy.special import ndtri

    # Of 0 it would be minus infinity.
    return np.asarray(ndtri(np.maximum(random_uniforms(places, *key), 2.0**-54)), dtype=np.float64)


def _around(centres: Floats, numbers: NDArray[np.integer], seed: int, name: str) -> Floats:
    """Scatter unit vectors around centres, each by the deviates of its number."""
    d = centres.shape[1]
    places = (numbers.astype(np.int64)[:, None] * d + np.arange(d)).ravel()
    noise = _normals(places, seed, name).reshape(-1, d)
    return _unit(centres + SCATTER / np.sqrt(d) * noise)


def _unit(vectors: Floats) -> Floats:
    return vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
