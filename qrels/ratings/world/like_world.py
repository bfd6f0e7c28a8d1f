"""Simulated worlds that are like real ratings: their settings, and how they are fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import Field

from qrels.ratings.ratings import Ratings, renumber
from qrels.ratings.world.drawn_world import (
    Appeal,
    Exposure,
    PopularityBands,
    rate_pairs,
    signed_power,
    unit_norm,
)
from qrels.ratings.world.moments import (
    DIMENSIONS,
    LEAST_RATINGS,
    NEIGHBOURS,
    Moments,
    popularity_terms,
)
from qrels.ratings.world.truth import Observation, Preferences, Truth, World
from qrels.ratings.world.world_settings import Liking, SharedSettings
from runs import InputError
from runs.shared.arrays import Floats, Ints, Numbers
from runs.shared.ids import padded_ids
from runs.shared.settings import check_settings


class LikeSettings(SharedSettings):
    """What the ratings do not tell of the world that they came from.

    Who rates what is all that there is to learn from: strong liking of what is rated, and strong
    familiarity with it, leave much the same ratings. `liking` is therefore stated; all else is
    fitted given its value.
    """

    liking: Liking = Field(
        1.0,
        description="Effect of preference on which ratings are observed, per standard deviation of "
        "ratings: 0 (none) to 5. It cannot be estimated from the ratings: try several values.",
    )
    familiarity: float = Field(
        1.0,
        ge=0.0,
        le=2.0,
        description="Multiple of the fitted effect of familiarity: 0 (none) to 2.",
    )

    @property
    def is_usual(self) -> bool:
        """Whether as much is rated, as selectively, as all is fitted for."""
        return self.exposure == self.familiarity == self.strength == self.fill == 1


def like_settings(changes: Mapping[str, Any]) -> LikeSettings:
    """Check the settings of a world that is like real ratings."""
    return check_settings("the world", LikeSettings, changes)


NEIGHBOURHOOD_SIZE = 25
# Items of a neighbourhood are of about the same popularity: spread in logarithms.
POPULARITY_SPREAD = 0.7
LEAST_USERS = 20
MOST_RATING_VALUES = 100
# Six gigabytes, as five float64 are kept for each pair of user and item.
MOST_CELLS = 150_000_000
ROUNDS = 5
FIRST_SWEEPS, SWEEPS = 8, 5
# Noise has this share of the variance of ratings at least.
LEAST_NOISE = 0.1
FURTHEST_STEP = 2.0
# How far a strength is moved when its moment is off: a moment that is a square moves twice as fast.
STEPS = {"interest": 1.5, "tails": 0.65, "taste": 0.7, "agreement": 0.5}
# Strengths that may be negative are moved by so much of what their moment is short of.
GAINS = {"trend": 1.0, "bend": 1.0, "decay": 1.5, "affinity": 2.0}


@dataclass(frozen=True)
class Strengths:
    """How much of everything there is in a world, each fitted to the moment of the same name.

    Those of preference are standard deviations where that of the ratings is 1; those of
    familiarity are in units of log odds, to which `liking` times preference adds.
    """

    interest: float = 3.8
    decay: float = 1.0
    tails: float = 1.7
    neighbours: float = 1.6
    generosity: float = 0.3
    quality: float = 0.4
    trend: float = 0.2
    bend: float = 0.0
    taste: float = 0.45
    affinity: float = 0.02
    agreement: float = 0.2

    @property
    def weights(self) -> Floats:
        """How much each dimension of taste and interest weighs, of sum of squares 1."""
        return unit_norm(np.arange(1.0, DIMENSIONS + 1) ** -self.decay)

    def places(self, deviates: Floats) -> Floats:
        """Raise normal deviates to the power of ``tails``, signs kept, and scale them to 1."""
        return signed_power(deviates, self.tails)

    def moved(self, wanted: Moments, reached: Moments) -> Strengths:
        """Give the strengths with which the moments should come nearer to what is wanted."""
        return Strengths(**{name: self._moved(name, wanted, reached) for name in vars(self)})

    def _moved(self, name: str, wanted: Moments, reached: Moments) -> float:
        if name in GAINS:
            missing = getattr(wanted, name) - getattr(reached, name)
            return float(getattr(self, name) + GAINS[name] * missing)
        goal, now = (max(getattr(moments, name), 0.0) for moments in (wanted, reached))
        ratio = FURTHEST_STEP if goal > 0 and now == 0 else goal / now if now else 1.0
        step = min(max(ratio, 1 / FURTHEST_STEP), FURTHEST_STEP)
        return float(getattr(self, name) * step ** STEPS.get(name, 1.0))


@dataclass(frozen=True, eq=False)
class FittedWorld:
    """A world, and how it was fitted.

    ``world``: ratings and truth; ``strengths``: what was fitted; ``wanted``, ``reached``: the
    moments of the real ratings, and of a world where `exposure`, `familiarity`, `strength` and
    `fill` are 1.
    """

    world: World
    strengths: Strengths
    wanted: Moments
    reached: Moments


def fit_world(ratings: Ratings, settings: LikeSettings) -> FittedWorld:
    """Make a world like real ratings.

    The numbers of ratings of each user, in each band of items' popularity (`PopularityBands`), and
    of each item are taken as they are, and so is the histogram of ratings. Items are drawn by
    Gumbel top-k with weights ``exp(popularity + leaning + liking * preference + familiarity)``;
    popularity and leaning are found by alternation (`Exposure`), so that users' counts are met
    exactly and those of items but for a few in a thousand. Each strength is fitted by its own
    moment (`Moments`): five times the world is drawn with the same deviates, and every strength is
    multiplied by a power of what its moment is short of.
    """
    ratings = renumber(replace(ratings, held_out=None))
    _check(ratings)
    wanted = Moments.of(ratings)
    draft = _Draft(ratings, settings, _Deviates(ratings, settings.seed))
    strengths, popularity = Strengths(), np.log(ratings.item_counts().astype(np.float64))
    sweeps = FIRST_SWEEPS
    for attempt in range(ROUNDS):
        exposure = draft.exposure(strengths, popularity, sweeps=sweeps)
        popularity, world = exposure.popularity, draft.world(strengths, exposure)
        reached = Moments.of(world.ratings)
        if attempt < ROUNDS - 1:
            strengths, sweeps = strengths.moved(wanted, reached), SWEEPS
    if not settings.is_usual:
        world = draft.observed_otherwise(world, strengths, exposure)
    return FittedWorld(world, strengths, wanted, reached)


def _check(ratings: Ratings) -> None:
    """Refuse what no world can be fitted to."""
    n_users, n_items = len(ratings.users), len(ratings.items)
    n_compared = int(np.count_nonzero(ratings.item_counts() >= LEAST_RATINGS))
    n_values = len(np.unique(ratings.rating))
    if n_users < LEAST_USERS or n_compared <= NEIGHBOURS:
        raise InputError(
            f"a world can only be fitted to {LEAST_USERS} users and {NEIGHBOURS + 1} items of "
            f"{LEAST_RATINGS} ratings at least, got {n_users:,} users and {n_compared:,} such "
            "items."
        )
    if not 2 <= n_values <= MOST_RATING_VALUES:
        raise InputError(
            f"a world can only be fitted to ratings of 2 to {MOST_RATING_VALUES} different values, "
            f"got {n_values:,}."
        )
    if n_users * n_items > MOST_CELLS:
        raise InputError(
            f"a world can only be fitted to {MOST_CELLS:,} pairs of user and item (6 GB), got "
            f"{n_users * n_items:,}: take a k-core or a sample of the ratings."
        )


class _Deviates:
    """All that is drawn, the same in all attempts: each part from a random stream of its own."""

    def __init__(self, ratings: Ratings, seed: int) -> None:
        n_users, n_items = len(ratings.users), len(ratings.items)
        streams = np.random.SeedSequence(seed).spawn(8)
        self.luck = streams.pop(5)
        places, interests, local, tastes, biases, *last = map(np.random.default_rng, streams)
        self.items = places.standard_normal((n_items, DIMENSIONS))
        self.neighbourhood = _neighbourhoods(ratings.item_counts(), places)
        n_neighbourhoods = int(self.neighbourhood.max()) + 1
        self.interests = interests.standard_normal((n_users, DIMENSIONS))
        self.known = interests.standard_normal((n_users, n_neighbourhoods))
        self.local = local.standard_normal((n_users, n_neighbourhoods))
        self.tastes = tastes.standard_normal((n_users, DIMENSIONS))
        self.generosity = biases.standard_normal(n_users)
        self.quality = biases.standard_normal(n_items)
        self.noise_seed, self.times_seed = (int(stream.integers(2**62)) for stream in last)


def _neighbourhoods(counts: Numbers, rng: np.random.Generator) -> Numbers:
    """Put items of about the same popularity together."""
    order = np.argsort(np.log(counts) + POPULARITY_SPREAD * rng.standard_normal(len(counts)))
    found = np.empty(len(counts), dtype=np.intp)
    found[order] = np.arange(len(counts)) // NEIGHBOURHOOD_SIZE
    return found


@dataclass(frozen=True)
class _Draft:
    """Real ratings and deviates, of which strengths make a world."""

    ratings: Ratings
    settings: LikeSettings
    deviates: _Deviates

    @cached_property
    def _counts(self) -> tuple[Numbers, Numbers]:
        return self.ratings.user_counts(), self.ratings.item_counts()

    @cached_property
    def _bands(self) -> PopularityBands:
        return PopularityBands.of(self.ratings)

    def exposure(self, strengths: Strengths, popularity: Floats, *, sweeps: int) -> Exposure:
        """Find with what exposure users and items have the ratings that they have."""
        nothing = Exposure(np.zeros(len(popularity)), np.zeros(self._bands.rated.shape))
        appeal = Appeal(self._observation(strengths, nothing), self.deviates.luck)
        whole = np.concatenate([block for _, block in appeal.blocks()])
        return Exposure.fitted(whole, self._bands, popularity, sweeps=sweeps)

    def world(self, strengths: Strengths, exposure: Exposure) -> World:
        """Draw the ratings of a world of these strengths, with the histogram of the real ones."""
        observation = self._observation(strengths, exposure)
        user, item = Appeal(observation, self.deviates.luck).chosen(self._counts[0])
        liked = observation.preferences.pairs(user, item)
        noise = float(np.sqrt(3 * max(1.0 - liked.var(), LEAST_NOISE)) / np.pi)
        scale, counts = np.unique(self.ratings.rating, return_counts=True)
        cuts = np.sort(self._felt(liked, noise))[np.cumsum(counts)[:-1]]
        users, items = map(padded_ids, "ui", map(len, self._counts))
        preferences, popularity = observation.preferences, exposure.popularity
        truth = Truth(users, items, preferences, popularity, cuts, noise, scale)
        return World(self._rated(truth, user, item), truth, observation)

    def observed_otherwise(self, world: World, strengths: Strengths, exposure: Exposure) -> World:
        """Observe what is true of a world as its settings say."""
        settings = self.settings
        met = settings.exposure_strength
        exposure = replace(exposure, popularity=met * settings.exposure * exposure.popularity)
        observed = self._observation(strengths, exposure, familiarity=met * settings.familiarity)
        observation = replace(observed, liking=settings.liking_strength * settings.liking)
        of_users, of_items = self._counts
        wanted = np.rint(settings.fill * of_users).astype(np.intp)
        pairs = Appeal(observation, self.deviates.luck).chosen(np.clip(wanted, 1, len(of_items)))
        return World(self._rated(world.truth, *pairs), world.truth, observation)

    def _felt(self, liked: Floats, noise: float) -> Floats:
        rng = np.random.default_rng(self.deviates.noise_seed)
        return liked + rng.logistic(scale=noise, size=len(liked))

    def _rated(self, truth: Truth, user: Ints, item: Ints) -> Ratings:
        """Have the pairs rated."""
        felt = self._felt(truth.preferences.pairs(user, item), truth.noise)
        return rate_pairs(truth, user, item, felt, np.random.default_rng(self.deviates.times_seed))

    def _preferences(self, strengths: Strengths) -> Preferences:
        drawn = self.deviates
        interests, items = strengths.places(drawn.interests), strengths.places(drawn.items)
        logs, squares = popularity_terms(self._counts[1])
        return Preferences(
            user_factors=strengths.weights
            * (strengths.taste * drawn.tastes + strengths.affinity * interests),
            item_factors=items,
            generosity=strengths.generosity * drawn.generosity,
            quality=strengths.quality * drawn.quality
            + strengths.trend * logs
            + strengths.bend * squares,
            local=strengths.agreement * drawn.local,
            neighbourhood=drawn.neighbourhood,
        )

    def _observation(
        self, strengths: Strengths, exposure: Exposure, *, familiarity: float = 1.0
    ) -> Observation:
        drawn = self.deviates
        interests = strengths.interest * strengths.weights * strengths.places(drawn.interests)
        in_band = np.eye(exposure.leaning.shape[1])[self._bands.band]
        known = Preferences(
            user_factors=familiarity * np.column_stack([interests, exposure.leaning]),
            item_factors=np.column_stack([strengths.places(drawn.items), in_band]),
            generosity=np.zeros(len(interests)),
            quality=exposure.popularity,
            local=familiarity * strengths.neighbours * drawn.known,
            neighbourhood=drawn.neighbourhood,
        )
        return Observation(self._preferences(strengths), self.settings.liking, known)
