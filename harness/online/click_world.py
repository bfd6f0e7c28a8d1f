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
"""Types of events, and the share of each."""

DIMENSIONS: Final = 16
"""Length of the vectors of items and tastes."""

NOISE_LENGTH: Final = 0.5
"""Length of the noise around the centre of a topic, whose own length is 1."""

FIRST_TOPIC_LOSS: Final = 0.8
"""Share of a user's first topic that the second has replaced by now."""

QUALITY_DEVIATION: Final = 0.6
EXPOSURE_DEVIATION: Final = 1.3
"""Standard deviations of the items' quality and log exposure."""

HISTORY_LENGTH: Final = 90 * DAY

MIN_EVENTS: Final = 2
MEAN_EVENTS: Final = 18.0
EVENTS_DEVIATION: Final = 0.9
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

    Parameters
    ----------
    settings
        What the world is made from.
    vectors
        Unit vectors of the items, of shape (n_items, dimensions).
    quality, log_exposure
        Of the items, of shape (n_items,).
    first_taste, second_taste
        Unit vectors of what each user likes at first and later, of shape (n_users, dimensions).
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
        ids = [f"u{number:08}" for number in range(1, self.settings.n_users + 1)]
        return Numbering(np.array(ids))

    @cached_property
    def items(self) -> Numbering:
        """Ids of the items."""
        ids = [f"i{number:06}" for number in range(1, len(self.quality) + 1)]
        return Numbering(np.array(ids))

    @cached_property
    def familiarity(self) -> Floats:
        """Log exposure with mean 0 and standard deviation 1, of shape (n_items,)."""
        centred = self.log_exposure - self.log_exposure.mean()
        return centred / self.log_exposure.std()

    def tastes(self, users: Integers, *, moment: float | Floats = 1.0) -> Floats:
        """Compute unit vectors of what users like: (n, dimensions).

        ``users`` are numbers, of shape (n,); ``moment``, one or (n,), is from 0 (the begin of the
        history) to 1 (now). In this time the second of a user's two tastes takes the place of a
        share of the first, `FIRST_TOPIC_LOSS` (0.8) by now; both are of shape (n_all_users,
        dimensions).
        """
        moments = np.broadcast_to(moment, users.shape)
        fading = FIRST_TOPIC_LOSS * moments[:, np.newaxis]
        first_part = (1 - fading) * self.first_taste[users]
        second_part = fading * self.second_taste[users]
        return unit_rows(first_part + second_part)

    def click_chance(self, users: Integers, items: Integers) -> Floats:
        r"""Compute the exact chance of each click.

        .. math:: P(\text{click on } i \text{ at } k) = k^{-\rho}
                  \sigma(s \langle \theta_u, v_i \rangle + b_i - c_0 - \gamma z(e_i))

        Users are numbers of shape (n,), lists of item numbers of shape (n, k), rank 1 first, as are
        the chances. :math:`\theta_u` is the taste of now, (dimensions,), :math:`v_i` the vector and
        :math:`b_i` the quality of the item, :math:`z(e_i)` its standardised log exposure,
        ``self.familiarity``, (n_items,); the other symbols are settings of the world.
        """
        from scipy.special import expit

        settings = self.settings
        # A sum, not a product of matrices: rows do not depend on how many there are.
        tastes = self.tastes(users)[:, np.newaxis, :]
        similarities = (tastes * self.vectors[items]).sum(axis=2)
        liking = settings.selectivity * similarities + self.quality[items]
        novelty = -settings.familiarity * self.familiarity[items]
        chances_if_seen: Floats = expit(liking + novelty - settings.reluctance)
        ranks = np.arange(1.0, items.shape[1] + 1)
        attention = ranks**-settings.position
        return attention * chances_if_seen

    def choose(self, tastes: Floats, rng: np.random.Generator) -> Longs:
        """Draw an item for each user, by odds exp(s <taste, v> + quality + eta * log exposure).

        Tastes are unit vectors of shape (n, dimensions), the items numbers of shape (n,). Draws are
        independent: a user's later item may be the same again.
        """
        settings = self.settings
        random_numbers = rng.random(len(tastes))
        attraction = self.quality + settings.exposure * self.log_exposure
        items = np.empty(len(tastes), dtype=np.int64)
        users_at_once = max(CELLS_AT_ONCE // len(attraction), 1)
        for start in range(0, len(tastes), users_at_once):
            rows = slice(start, start + users_at_once)
            similarities = tastes[rows] @ self.vectors.T
            odds = np.exp(settings.selectivity * similarities + attraction)
            sums = np.cumsum(odds, axis=1)
            thresholds = random_numbers[rows, np.newaxis] * sums[:, -1:]
            # The number of items whose cumulative odds the threshold has passed.
            items[rows] = (sums <= thresholds).sum(axis=1)
        # Rounding may put a threshold at the sum of all odds.
        return np.minimum(items, len(attraction) - 1)

    def history(self) -> pd.DataFrame:
        """Draw what all users did before now, at any time in 90 days, by their taste at that time.

        The number of a user's events is log-normal, of mean 18, then cut to limits. Columns user,
        item and type (numbers), time (milliseconds) and led_by (-1), in no order of time; see
        `action_table`.
        """
        settings = self.settings
        rng = np.random.default_rng([settings.seed, 1])
        # So that the mean of the log-normal numbers is MEAN_EVENTS.
        location = np.log(MEAN_EVENTS) - EVENTS_DEVIATION**2 / 2
        activity = np.rint(rng.lognormal(location, EVENTS_DEVIATION, settings.n_users))
        n_events = np.clip(activity, MIN_EVENTS, settings.most_events).astype(np.int64)
        users = np.repeat(np.arange(settings.n_users), n_events)
        moments = rng.random(len(users))
        items = self.choose(self.tastes(users, moment=moments), rng)
        since_start = (moments * HISTORY_LENGTH).astype(np.int64)
        times = NOW - HISTORY_LENGTH + since_start
        types = draw_types(len(users), rng)
        return action_table(users, items, times, types)

    def interactions(self, actions: pd.DataFrame) -> Interactions:
        """Make interactions, which are sorted, of a table of actions."""
        return Interactions.of(
            self.users,
            self.items,
            user=actions["user"].to_numpy(),
            item=actions["item"].to_numpy(),
            time=actions["time"].to_numpy(),
            value=action_values(actions),
        )


def action_table(
    users: Longs, items: Longs, times: Longs, types: Longs, led_by: Longs | None = None
) -> pd.DataFrame:
    """Tabulate what users did, in any order: columns user, item, time, type, led_by.

    Arguments are int64 of shape (n,): numbers of users, items, types, and of the lists that led to
    the actions (-1, or None, for no list); times are milliseconds since 1970 in UTC.
    """
    import pandas as pd

    frame = pd.DataFrame({"user": users, "item": items, "time": times, "type": types})
    frame["led_by"] = np.full(len(users), -1) if led_by is None else led_by
    return frame


def action_values(actions: pd.DataFrame) -> Floats:
    """Look up what each action counts by its type, of shape (n,)."""
    values_by_type = np.array([TYPE_VALUES[name] for name in TYPES])
    return values_by_type[actions["type"]]


def draw_types(n: int, rng: np.random.Generator) -> Longs:
    """Draw the types of n events: numbers in `TYPES`, of shape (n,)."""
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
    rng = np.random.default_rng([settings.seed, 0])
    n_topics = settings.topics
    centres = unit_rows(rng.normal(size=(n_topics, DIMENSIONS)))

    def draw_vectors(topics: Longs) -> Floats:
        """Draw a unit vector around the centre of each topic: (n, dimensions)."""
        deviation = NOISE_LENGTH / np.sqrt(DIMENSIONS)
        noise = deviation * rng.normal(size=(len(topics), DIMENSIONS))
        return unit_rows(centres[topics] + noise)

    # The order in which numbers are drawn is part of the world.
    item_topics = rng.integers(n_topics, size=settings.n_items)
    vectors = draw_vectors(item_topics)
    quality = QUALITY_DEVIATION * rng.normal(size=settings.n_items)
    log_exposure = EXPOSURE_DEVIATION * rng.normal(size=settings.n_items)
    first_topics = rng.integers(n_topics, size=settings.n_users)
    steps = rng.integers(1, n_topics, size=settings.n_users)
    second_topics = (first_topics + steps) % n_topics
    return ClickWorld(
        settings,
        vectors,
        quality,
        log_exposure,
        first_taste=draw_vectors(first_topics),
        second_taste=draw_vectors(second_topics),
    )
