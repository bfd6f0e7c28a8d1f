"""Simulated worlds that are fitted to real ratings, and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
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
    LEAST_RATINGS,
    N_DIMENSIONS,
    N_NEIGHBOURS,
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
        """Whether all multiples are 1, as they are while strengths are fitted."""
        return self.exposure == self.familiarity == self.strength == self.fill == 1


def like_settings(changes: Mapping[str, Any]) -> LikeSettings:
    """Check the settings of a world that is like real ratings, by name.

    Raises InputError for the first that does not exist or breaks a rule.
    """
    return check_settings("the world", LikeSettings, changes)


NEIGHBOURHOOD_SIZE = 25
POPULARITY_SPREAD = 0.7
"""Standard deviation of log popularity among the items of a neighbourhood, about."""

LEAST_USERS = 20
MOST_RATING_VALUES = 100
MAX_PAIRS = 150_000_000
"""Largest number of pairs of user and item: five float64 are kept for each, which take 6 GB."""

N_ROUNDS = 5
FIRST_SWEEPS = 8
SWEEPS = 5
LEAST_NOISE = 0.1
"""Share of the variance of ratings that noise has at least."""

LARGEST_FACTOR = 2.0
"""Factor by which a strength is multiplied or divided in one round, at most."""

EXPONENTS = {"interest": 1.5, "tails": 0.65, "taste": 0.7, "agreement": 0.5}
"""A strength is multiplied by this power of the ratio of target and reached moment; default: 1."""

GAINS = {"trend": 1.0, "bend": 1.0, "decay": 1.5, "affinity": 2.0}
"""To strengths that may be negative, so much of the difference of the moments is added."""


@dataclass(frozen=True)
class Strengths:
    """How strong each effect is in a world, each fitted to the moment of the same name.

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
        """Weight of each dimension of taste and interest, of sum of squares 1, (8,)."""
        return unit_norm(np.arange(1.0, N_DIMENSIONS + 1) ** -self.decay)

    def heavy_tailed(self, deviates: Floats) -> Floats:
        """Raise normal deviates to the power of ``tails``, signs kept, and scale them to 1."""
        return signed_power(deviates, self.tails)

    def updated(self, target: Moments, reached: Moments) -> Strengths:
        """Compute strengths with which the moments should come nearer to the target."""
        names = [field.name for field in fields(self)]
        return Strengths(**{name: self._updated(name, target, reached) for name in names})

    def _updated(self, name: str, target: Moments, reached: Moments) -> float:
        """Compute a new value of one strength, so that its moment comes nearer to its target.

        ``name`` is that of the strength and of its moment, in ``target`` and as ``reached`` with
        the present strength. A strength in `GAINS` rises by its gain times the difference of the
        two moments. Others are multiplied by a power of their ratio, which is limited to 1/2 to 2;
        negative moments count as 0. The ratio is 2 if a positive moment was not reached at all, and
        1 if both are 0.
        """
        strength = getattr(self, name)
        if name in GAINS:
            missing = getattr(target, name) - getattr(reached, name)
            return float(strength + GAINS[name] * missing)
        target_moment = max(getattr(target, name), 0.0)
        reached_moment = max(getattr(reached, name), 0.0)
        if reached_moment:
            ratio = target_moment / reached_moment
        else:
            ratio = LARGEST_FACTOR if target_moment > 0 else 1.0
        factor = min(max(ratio, 1 / LARGEST_FACTOR), LARGEST_FACTOR)
        return float(strength * factor ** EXPONENTS.get(name, 1.0))


@dataclass(frozen=True, eq=False)
class FittedWorld:
    """A world, and how it was fitted.

    ``world``: ratings and truth; ``strengths``: what was fitted; ``target``, ``reached``: the
    moments of the real ratings, and of a world where `exposure`, `familiarity`, `strength` and
    `fill` are 1.
    """

    world: World
    strengths: Strengths
    target: Moments
    reached: Moments


def fit_world(ratings: Ratings, settings: LikeSettings) -> FittedWorld:
    """Make a world, of preferences that are known, with ratings like real ones.

    The numbers of ratings of each user, in each band of items' popularity (`PopularityBands`), and
    of each item are taken as they are, and so is the histogram of ratings. Items are drawn by
    Gumbel top-k with weights ``exp(popularity + leaning + liking * preference + familiarity)``;
    popularity and leaning are found by alternation (`Exposure`), so that users' counts are met
    exactly and those of items but for a few in a thousand. Each strength is fitted by its own
    moment (`Moments`): the world is drawn `N_ROUNDS` (5) times with the same deviates, and between
    two draws each strength is changed by what its moment lacks: multiplied by a power of the ratio
    of wanted to reached; or, if it may be negative, shifted in proportion to their difference.

    Raises
    ------
    InputError
        If there are too few users, items or ratings, too many pairs of them, or fewer than 2 or
        more than 100 different values.
    """
    ratings = renumber(replace(ratings, held_out=None))
    _check(ratings)
    target = Moments.of(ratings)
    draft = _Draft(ratings, settings, _Deviates(ratings, settings.seed))
    strengths = Strengths()
    popularity = np.log(ratings.item_counts().astype(np.float64))
    for attempt in range(N_ROUNDS):
        sweeps = FIRST_SWEEPS if attempt == 0 else SWEEPS
        exposure = draft.exposure(strengths, popularity, sweeps=sweeps)
        popularity = exposure.popularity
        world = draft.world(strengths, exposure)
        reached = Moments.of(world.ratings)
        if attempt < N_ROUNDS - 1:
            strengths = strengths.updated(target, reached)
    if not settings.is_usual:
        world = draft.observed_otherwise(world, strengths, exposure)
    return FittedWorld(world, strengths, target, reached)


def _check(ratings: Ratings) -> None:
    """Raise an InputError for ratings to which no world can be fitted.

    These have fewer than 20 users or than 11 items of 10 ratings, fewer than 2 or more than 100
    distinct values, or more than 150 million pairs of a user and an item.
    """
    n_users = len(ratings.users)
    n_items = len(ratings.items)
    n_pairs = n_users * n_items
    n_compared = int(np.count_nonzero(ratings.item_counts() >= LEAST_RATINGS))
    n_values = len(np.unique(ratings.rating))
    if n_users < LEAST_USERS or n_compared <= N_NEIGHBOURS:
        raise InputError(
            f"a world can only be fitted to {LEAST_USERS} users and {N_NEIGHBOURS + 1} items of "
            f"{LEAST_RATINGS} ratings at least, got {n_users:,} users and {n_compared:,} such "
            "items."
        )
    if not 2 <= n_values <= MOST_RATING_VALUES:
        raise InputError(
            f"a world can only be fitted to ratings of 2 to {MOST_RATING_VALUES} different values, "
            f"got {n_values:,}."
        )
    if n_pairs > MAX_PAIRS:
        raise InputError(
            f"a world can only be fitted to {MAX_PAIRS:,} pairs of user and item (6 GB), got "
            f"{n_pairs:,}: take a k-core or a sample of the ratings."
        )


class _Deviates:
    """All that is drawn, the same in all rounds: each part from a random stream of its own.

    Normal deviates: ``items``, ``interests`` and ``tastes`` in 8 dimensions, ``familiarity`` and
    ``local`` of users for neighbourhoods of items, ``generosity`` of users, ``quality`` of items.
    Seeds: ``gumbel_seed``, ``noise_seed`` and ``times_seed``. ``neighbourhood``: that of each item.
    """

    def __init__(self, ratings: Ratings, seed: int) -> None:
        """Draw standard normal deviates for the users and items of ratings.

        Each user and item has at least one rating. Those of users are of shape (n_users, 8) or, one
        for each neighbourhood of items, (n_users, n_neighbourhoods); those of items of shape
        (n_items, 8); biases of shapes (n_users,) and (n_items,). Each kind has a random stream of
        its own.
        """
        n_users = len(ratings.users)
        n_items = len(ratings.items)
        streams = np.random.SeedSequence(seed).spawn(8)
        self.gumbel_seed = streams.pop(5)
        generators = [np.random.default_rng(stream) for stream in streams]
        item_rng, interest_rng, local_rng, taste_rng, bias_rng, noise_rng, time_rng = generators
        self.items = item_rng.standard_normal((n_items, N_DIMENSIONS))
        self.neighbourhood = _neighbourhoods(ratings.item_counts(), item_rng)
        n_neighbourhoods = int(self.neighbourhood.max()) + 1
        self.interests = interest_rng.standard_normal((n_users, N_DIMENSIONS))
        self.familiarity = interest_rng.standard_normal((n_users, n_neighbourhoods))
        self.local = local_rng.standard_normal((n_users, n_neighbourhoods))
        self.tastes = taste_rng.standard_normal((n_users, N_DIMENSIONS))
        self.generosity = bias_rng.standard_normal(n_users)
        self.quality = bias_rng.standard_normal(n_items)
        self.noise_seed = int(noise_rng.integers(2**62))
        self.times_seed = int(time_rng.integers(2**62))


def _neighbourhoods(counts: Numbers, rng: np.random.Generator) -> Numbers:
    """Put items of about the same popularity together, 25 in a neighbourhood.

    Items are sorted by log popularity plus normal noise, of standard deviation 0.7. ``counts``:
    number of ratings of each item, at least 1, of shape (n_items,). The result, of the same shape,
    holds numbers of neighbourhoods, from 0.
    """
    deviates = rng.standard_normal(len(counts))
    order = np.argsort(np.log(counts) + POPULARITY_SPREAD * deviates)
    neighbourhood = np.empty(len(counts), dtype=np.intp)
    neighbourhood[order] = np.arange(len(counts)) // NEIGHBOURHOOD_SIZE
    return neighbourhood


@dataclass(frozen=True)
class _Draft:
    """Real ratings, settings and deviates, of which strengths make a world."""

    ratings: Ratings
    settings: LikeSettings
    deviates: _Deviates

    @cached_property
    def _user_counts(self) -> Numbers:
        return self.ratings.user_counts()

    @cached_property
    def _item_counts(self) -> Numbers:
        return self.ratings.item_counts()

    @cached_property
    def _bands(self) -> PopularityBands:
        return PopularityBands.of(self.ratings)

    def exposure(self, strengths: Strengths, popularity: Floats, *, sweeps: int) -> Exposure:
        """Fit the exposure with which users and items have as many ratings as in the real data.

        The other effects, such as liking, have these strengths. ``popularity``: first values of the
        log popularity of items, of shape (n_items,); ``sweeps``: how often the popularity of items
        and the leaning of users to bands of items are computed in turn.
        """
        no_popularity = np.zeros(len(popularity))
        no_leaning = np.zeros(self._bands.rated.shape)
        no_exposure = Exposure(no_popularity, no_leaning)
        appeal = Appeal(self._observation(strengths, no_exposure), self.deviates.gumbel_seed)
        appeal_to_all = np.concatenate([block for _, block in appeal.blocks()])
        return Exposure.fit(appeal_to_all, self._bands, popularity, sweeps=sweeps)

    def world(self, strengths: Strengths, exposure: Exposure) -> World:
        """Draw the ratings of a world of these strengths, with the histogram of the real ones.

        Each user rates as many items as in the real data. Ratings have the variance 1 before they
        are cut into those of the scale: that of the preferences, and logistic noise for the rest.
        What is felt is the preference of a pair plus this noise, of a variance of at least 0.1; its
        quantiles are the cuts.
        """
        observation = self._observation(strengths, exposure)
        preferences = observation.preferences
        appeal = Appeal(observation, self.deviates.gumbel_seed)
        user, item = appeal.choose_pairs(self._user_counts)
        preference_of_pairs = preferences.pairs(user, item)
        noise_variance = max(1.0 - preference_of_pairs.var(), LEAST_NOISE)
        # A logistic variable of scale s has the variance (pi s)^2 / 3.
        noise = float(np.sqrt(3 * noise_variance) / np.pi)
        scale, counts = np.unique(self.ratings.rating, return_counts=True)
        sorted_felt = np.sort(self._felt(preference_of_pairs, noise))
        n_below = np.cumsum(counts)[:-1]
        users = padded_ids("u", len(self._user_counts))
        items = padded_ids("i", len(self._item_counts))
        truth = Truth(
            users=users,
            items=items,
            preferences=preferences,
            popularity=exposure.popularity,
            cuts=sorted_felt[n_below],
            noise=noise,
            scale=scale,
        )
        return World(self._rated(truth, user, item), truth, observation)

    def observed_otherwise(self, world: World, strengths: Strengths, exposure: Exposure) -> World:
        """Draw other ratings of the same truth, as many and as selectively as the settings say.

        ``strengths`` and ``exposure`` are those of ``world``. Each user has ``fill`` times as many
        ratings as in the real data, at least 1 and at most all items. Popularity and familiarity
        are multiplied by ``exposure_strength`` and by the settings of their names, liking by
        ``liking_strength``.
        """
        settings = self.settings
        strength = settings.exposure_strength
        popularity = strength * settings.exposure * exposure.popularity
        usual = self._observation(
            strengths,
            replace(exposure, popularity=popularity),
            familiarity=strength * settings.familiarity,
        )
        observation = replace(usual, liking=settings.liking_strength * settings.liking)
        rounded_counts = np.rint(settings.fill * self._user_counts)
        counts = rounded_counts.astype(np.intp)
        counts = np.clip(counts, 1, len(self._item_counts))
        user, item = Appeal(observation, self.deviates.gumbel_seed).choose_pairs(counts)
        return World(self._rated(world.truth, user, item), world.truth, observation)

    def _felt(self, preference_of_pairs: Floats, noise: float) -> Floats:
        """Add logistic noise of a scale to the preferences of pairs, of shape (n_pairs,)."""
        rng = np.random.default_rng(self.deviates.noise_seed)
        return preference_of_pairs + rng.logistic(scale=noise, size=len(preference_of_pairs))

    def _rated(self, truth: Truth, user: Ints, item: Ints) -> Ratings:
        """Draw the ratings of pairs, numbers of shape (n_pairs,), and their times."""
        felt = self._felt(truth.preferences.pairs(user, item), truth.noise)
        time_rng = np.random.default_rng(self.deviates.times_seed)
        return rate_pairs(truth, user, item, felt, time_rng)

    def _preferences(self, strengths: Strengths) -> Preferences:
        """Make preferences of users for items: deviates of tastes and biases, times strengths.

        ``self.deviates`` holds normal deviates, one for each user or item and dimension. Those of
        interests and items are raised to a power, so that their tails are heavy. The quality of an
        item has a trend in log popularity and in its square.
        """
        deviates = self.deviates
        interests = strengths.heavy_tailed(deviates.interests)
        tastes = strengths.taste * deviates.tastes + strengths.affinity * interests
        logs, squares = popularity_terms(self._item_counts)
        quality = (
            strengths.quality * deviates.quality + strengths.trend * logs + strengths.bend * squares
        )
        user_factors = strengths.weights * tastes
        item_factors = strengths.heavy_tailed(deviates.items)
        generosity = strengths.generosity * deviates.generosity
        local = strengths.agreement * deviates.local
        return Preferences(
            user_factors=user_factors,
            item_factors=item_factors,
            generosity=generosity,
            quality=quality,
            local=local,
            neighbourhood=deviates.neighbourhood,
        )

    def _observation(
        self, strengths: Strengths, exposure: Exposure, *, familiarity: float = 1.0
    ) -> Observation:
        """Combine what decides which items users rate: preferences, familiarity and exposure.

        Each is a deviate of ``self.deviates`` times its strength. Exposure is the popularity of
        items, (n_items,), and the leaning of users to bands of it, (n_users, n_bands).
        ``familiarity`` multiplies interests, this leaning, and familiarity with neighbourhoods.
        ``self._bands.band`` is the band of each item; `heavy_tailed` raises deviates to a power.
        """
        deviates = self.deviates
        interests = (
            strengths.interest * strengths.weights * strengths.heavy_tailed(deviates.interests)
        )
        n_bands = exposure.leaning.shape[1]
        in_band = np.eye(n_bands)[self._bands.band]
        user_factors = familiarity * np.column_stack([interests, exposure.leaning])
        item_factors = np.column_stack([strengths.heavy_tailed(deviates.items), in_band])
        no_generosity = np.zeros(len(interests))
        local = familiarity * strengths.neighbours * deviates.familiarity
        familiarity_with_items = Preferences(
            user_factors=user_factors,
            item_factors=item_factors,
            generosity=no_generosity,
            quality=exposure.popularity,
            local=local,
            neighbourhood=deviates.neighbourhood,
        )
        return Observation(
            preferences=self._preferences(strengths),
            liking=self.settings.liking,
            familiarity=familiarity_with_items,
        )
