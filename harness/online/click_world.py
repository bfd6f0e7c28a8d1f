"""A world of clicks: users with drifting tastes, items more or less exposed, chances known.

What users did is missing not at random: they meet what is exposed and take what they like. What
they click of a list depends on what they like now, on its place in the list, and on whether they
know it already.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from pydantic import Field

from qrels.interactions.interactions import TYPE_VALUES, Interactions
from recommenders.kernels.embeddings import unit_rows
from runs import Numbering
from runs.shared.arrays import Floats, Integers, Longs
from runs.shared.settings import Section

if TYPE_CHECKING:
    import pandas as pd


DAY: Final = 86_400_000
MINUTE: Final = 60_000
NOW: Final = 1_767_571_200_000
"""Monday, 5 January 2026, 0:00 UTC, in milliseconds: histories end and experiments begin."""

TYPES: Final = ("view", "cart", "purchase")
TYPE_SHARES: Final = (0.91, 0.06, 0.03)

DIMENSIONS: Final = 16
SCATTER: Final = 0.5
"""Length of the noise around the centre of a topic, whose own length is 1."""

FIRST_TOPIC_FADES: Final = 0.8
"""How much of a user's first topic has gone by now."""

QUALITY_SPREAD, EXPOSURE_SPREAD = 0.6, 1.3
"""Standard deviations of the items' quality and log exposure."""

HISTORY: Final = 90 * DAY
LEAST_EVENTS, MEAN_EVENTS, EVENTS_SPREAD = 2, 18.0, 0.9
"""Mean of a user's events, before they are cut to limits, and deviation of their logarithm."""

CELLS_AT_ONCE: Final = 5_000_000
"""Pairs of an event and an item whose odds are in memory."""


class ClickWorldSettings(Section):
    """What a world of clicks is made from; equal settings give equal worlds."""

    n_users: int = Field(10_000, ge=2, le=10**7, description="Number of users.")
    n_items: int = Field(1_500, ge=2, le=10**5, description="Number of items.")
    topics: int = Field(40, ge=2, description="Number of topics of items and tastes.")
    selectivity: float = Field(6.0, ge=0.0, le=12.0, description="Effect of taste on choices (s).")
    exposure: float = Field(
        1.0,
        ge=0.0,
        le=2.0,
        description="Effect of item exposure on the history (eta); 0: the history depends on taste "
        "and quality only.",
    )
    familiarity: float = Field(
        0.0,
        ge=-5.0,
        le=5.0,
        description="Effect of item exposure on clicks (gamma); above 0, users prefer "
        "unknown items; below 0, known items.",
    )
    position: float = Field(1.0, ge=0.0, le=5.0, description="Decay of attention with rank (rho).")
    reluctance: float = Field(
        4.5, ge=-20.0, le=20.0, description="Reluctance to click at all (c0)."
    )
    most_events: int = Field(300, ge=2, description="Maximum number of events per user.")
    seed: int = Field(1, ge=0, description="Random seed of the world.")


@dataclass(frozen=True, eq=False)
class ClickWorld:
    """Items and users of a world.

    Unit vectors of the items are of shape (n_items, dimensions), quality and log exposure of shape
    (n_items,), and the first and the second taste of every user of shape (n_users, dimensions).
    """

    settings: ClickWorldSettings
    vectors: Floats
    quality: Floats
    log_exposure: Floats
    first_taste: Floats
    second_taste: Floats

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
        return (self.log_exposure - self.log_exposure.mean()) / self.log_exposure.std()

    def tastes(self, users: Integers, *, moment: float | Floats = 1.0) -> Floats:
        """Give unit vectors of what users like, from 0 (the begin of the history) to 1 (now)."""
        fading = FIRST_TOPIC_FADES * np.broadcast_to(moment, users.shape)[:, None]
        return unit_rows((1 - fading) * self.first_taste[users] + fading * self.second_taste[users])

    def click_chance(self, users: Integers, items: Integers) -> Floats:
        r"""Give the exact chance of each click.

        .. math:: P(\text{click on } i \text{ at } k) = k^{-\rho}
                  \sigma(s \langle \theta_u, v_i \rangle + b_i - c_0 - \gamma z(e_i))

        Users are numbers of shape (n,), lists of items of shape (n, k), rank 1 first, as are the
        chances.
        """
        from scipy.special import expit

        settings = self.settings
        # A sum, not a product of matrices: rows do not depend on how many there are.
        inner = (self.tastes(users)[:, None, :] * self.vectors[items]).sum(axis=2)
        novelty = -settings.familiarity * self.familiarity[items]
        liking = settings.selectivity * inner + self.quality[items]
        chances: Floats = expit(liking + novelty - settings.reluctance)
        return np.arange(1.0, items.shape[1] + 1) ** -settings.position * chances

    def choose(self, tastes: Floats, rng: np.random.Generator) -> Longs:
        """Let users choose an item each, by exp(s <taste, v> + quality + eta * log exposure).

        Tastes are of shape (n, dimensions), the items of shape (n,).
        """
        settings, luck = self.settings, rng.random(len(tastes))
        lure = self.quality + settings.exposure * self.log_exposure
        items = np.empty(len(tastes), dtype=np.int64)
        size = max(CELLS_AT_ONCE // len(lure), 1)
        for first in range(0, len(tastes), size):
            some = slice(first, first + size)
            odds = np.exp(settings.selectivity * (tastes[some] @ self.vectors.T) + lure)
            sums = np.cumsum(odds, axis=1)
            items[some] = (sums <= luck[some, None] * sums[:, -1:]).sum(axis=1)
        return np.minimum(items, len(lure) - 1)

    def history(self) -> pd.DataFrame:
        """Draw what all users did before now, at any time in 90 days, with the taste of then."""
        settings, rng = self.settings, np.random.default_rng([self.settings.seed, 1])
        location = np.log(MEAN_EVENTS) - EVENTS_SPREAD**2 / 2
        activity = np.rint(rng.lognormal(location, EVENTS_SPREAD, settings.n_users))
        counts = np.clip(activity, LEAST_EVENTS, settings.most_events).astype(np.int64)
        user = np.repeat(np.arange(settings.n_users), counts)
        moment = rng.random(len(user))
        item = self.choose(self.tastes(user, moment=moment), rng)
        time = NOW - HISTORY + (moment * HISTORY).astype(np.int64)
        return actions_of(user, item, time, draw_types(len(user), rng), np.full(len(user), -1))

    def interactions(self, actions: pd.DataFrame) -> Interactions:
        """Sort actions for training."""
        columns = {name: actions[name].to_numpy() for name in ("user", "item", "time")}
        return Interactions.of(self.users, self.items, **columns, value=values_of(actions))


def actions_of(user: Longs, item: Longs, time: Longs, type: Longs, led_by: Longs) -> pd.DataFrame:
    """Put together what users did, in any order.

    Users, items, types and the lists that led to them (-1 for none) are numbers; times are
    milliseconds since 1970 in UTC; all are int64.
    """
    import pandas as pd

    return pd.DataFrame({"user": user, "item": item, "time": time, "type": type, "led_by": led_by})


def values_of(actions: pd.DataFrame) -> Floats:
    """Say what each action counts."""
    return np.array([TYPE_VALUES[name] for name in TYPES])[actions["type"]]


def draw_types(n: int, rng: np.random.Generator) -> Longs:
    """Draw types of events."""
    return rng.choice(len(TYPES), n, p=TYPE_SHARES)


def make_click_world(settings: ClickWorldSettings) -> ClickWorld:
    """Draw the items and users of a world of clicks.

    Items lie around the centres of topics on the unit sphere; quality and log exposure are normal
    and independent. Users have two topics, the second of which takes the place of the first. A
    history follows taste, quality and (eta) exposure; clicks follow taste, quality and, against
    it, familiarity (gamma).

    Notes
    -----
    Our own design, after the simulation of Kasalický's question in which he had only logs: there
    is ground truth, and no evidence about real users.
    """
    rng, n_topics = np.random.default_rng([settings.seed, 0]), settings.topics

    def around(topics: Longs) -> Floats:
        noise = SCATTER / np.sqrt(DIMENSIONS) * rng.normal(size=(len(topics), DIMENSIONS))
        return unit_rows(centres[topics] + noise)

    centres = unit_rows(rng.normal(size=(n_topics, DIMENSIONS)))
    vectors = around(rng.integers(n_topics, size=settings.n_items))
    quality = QUALITY_SPREAD * rng.normal(size=settings.n_items)
    log_exposure = EXPOSURE_SPREAD * rng.normal(size=settings.n_items)
    first = rng.integers(n_topics, size=settings.n_users)
    second = (first + rng.integers(1, n_topics, size=settings.n_users)) % n_topics
    return ClickWorld(settings, vectors, quality, log_exposure, around(first), around(second))
