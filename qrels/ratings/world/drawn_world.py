"""Simulated worlds: what users rate, how, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self

import numpy as np

from qrels.ratings.ratings import Ratings
from qrels.ratings.statistics import gini
from qrels.ratings.world.truth import Observation, Preferences, Truth, World
from qrels.ratings.world.world_settings import WorldSettings
from runs import InputError
from runs.shared.arrays import Floats, Ints, Longs, Masks, Numbers
from runs.shared.ids import padded_ids

DAY = 86_400
OPENING = 946_684_800
CLOSING = OPENING + 3 * 365 * DAY


def rating_times(
    user: Ints, item: Ints, counts: Numbers, n_items: int, rng: np.random.Generator
) -> Longs:
    """Draw the second of each rating.

    Nine in ten items are there from the opening, the others appear over the three years, and so do
    the users. A user comes back at an interval of their own, 1 to 60 days, and rates about 30
    items per session, one every half minute; an item that was not out yet waits for the first
    session after it is.
    """
    joined = rng.uniform(OPENING, CLOSING, len(counts))
    interval = DAY * 60.0 ** rng.random(len(counts))
    released = np.maximum(OPENING, rng.uniform(10 * OPENING - 9 * CLOSING, CLOSING, n_items))
    n_sessions = np.minimum(np.ceil(counts / 30), 1 + (CLOSING - joined) // interval)
    planned = np.floor(n_sessions[user] * rng.random(len(user)))
    possible = np.ceil((released[item] - joined[user]) / interval[user])
    session = np.maximum(planned, possible)
    # For each rating, the number of ratings of its session.
    keys = user * (session.max() + 1.0) + session
    _, found, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    elapsed = 30.0 * sizes[found] * rng.random(len(user))
    return (joined[user] + session * interval[user] + elapsed).astype(np.int64)


USERS_PER_BLOCK = 64


def blocks(n_users: int) -> Iterator[slice]:
    """Cut the users into blocks that fit a processor's cache."""
    for start in range(0, n_users, USERS_PER_BLOCK):
        yield slice(start, start + USERS_PER_BLOCK)


def mark_chosen_items(appeal: Floats, counts: Numbers, exposure: Floats | float = 0.0) -> Masks:
    """Mark the items of highest appeal plus exposure of each user, ``counts`` of them."""
    chosen = np.empty(appeal.shape, dtype=np.bool_)
    for rows in blocks(len(appeal)):
        keys = appeal[rows] + exposure
        least = np.sort(keys, axis=1)[np.arange(len(keys)), -counts[rows]]
        chosen[rows] = keys >= least[:, None]
    return chosen


def rate_pairs(
    truth: Truth, user: Ints, item: Ints, felt: Floats, rng: np.random.Generator
) -> Ratings:
    """Rate pairs: the lowest rating, and one step more for each cut that is reached."""
    stars = truth.scale[np.searchsorted(truth.cuts, felt, side="right")]
    counts = np.bincount(user, minlength=len(truth.users))
    moments = rating_times(user, item, counts, len(truth.items), rng)
    return Ratings(truth.users, truth.items, user, item, stars, moments)


FURTHEST_CUT = 1.0
"""How far a cut is from the key that it is nearest to, at most."""


@dataclass(frozen=True)
class PopularityBands:
    """Items in bands of popularity, each band twice as often rated as the one before.

    ``of_items``: how often each item is rated, of shape (n_items,); ``band``: the band of each
    item, of shape (n_items,); ``rated``: how many items of each band every user rates, of shape
    (n_users, n_bands).
    """

    of_items: Numbers
    band: Numbers
    rated: Numbers

    @classmethod
    def of(cls, ratings: Ratings) -> Self:
        """Count ratings of which each item has one at least."""
        of_items = ratings.item_counts()
        doublings = np.log2(of_items).astype(np.intp)
        band = np.unique(doublings, return_inverse=True)[1]
        rated = np.zeros((len(ratings.users), int(band.max()) + 1), dtype=np.intp)
        np.add.at(rated, (ratings.user, band[ratings.item]), 1)
        return cls(of_items, band, rated)


@dataclass(frozen=True)
class Exposure:
    """What users meet before interest and liking have a say.

    ``popularity``: of each item, of shape (n_items,); ``leaning``: of each user to each band of
    popularity, of shape (n_users, n_bands) and mean 0 over users.
    """

    popularity: Floats
    leaning: Floats

    @classmethod
    def fitted(
        cls, appeal: Floats, bands: PopularityBands, popularity: Floats, *, sweeps: int
    ) -> Self:
        """Alternate until users and items have the exposure that explains their ratings."""
        leaning = _leaning(appeal, popularity, bands)
        for _ in range(sweeps):
            keys = leaning[:, bands.band]
            keys += appeal
            popularity = -_cuts(keys.T, bands.of_items)
            leaning = _leaning(appeal, popularity, bands)
        usual = leaning.mean(axis=0)
        return cls(popularity + usual[bands.band], leaning - usual)


def _leaning(appeal: Floats, popularity: Floats, bands: PopularityBands) -> Floats:
    """Find with what leaning each user rates as many items of each band as there are to be."""
    keys = appeal + popularity
    columns = (keys[:, bands.band == number] for number in range(bands.rated.shape[1]))
    cuts = (_cuts(*part) for part in zip(columns, bands.rated.T, strict=True))
    return -np.column_stack(list(cuts))


def _cuts(keys: Floats, counts: Numbers) -> Floats:
    """Give the middle between each row's highest keys, so many as its count, and the next one."""
    rising, rows, n_keys = np.sort(keys, axis=1), np.arange(len(keys)), keys.shape[1]
    last = rising[rows, np.minimum(n_keys - counts, n_keys - 1)]
    next_one = rising[rows, np.maximum(n_keys - counts - 1, 0)]
    next_one = np.where(counts == n_keys, -np.inf, next_one)
    middle = (last + np.maximum(next_one, last - 2 * FURTHEST_CUT)) / 2
    return np.where(counts == 0, next_one + FURTHEST_CUT, middle)


# The shares of one to five stars in MovieLens 1M, mean 3.58.
STAR_SHARES = (0.056, 0.108, 0.261, 0.349, 0.226)
# Standard deviations of the biases, where that of the latent tastes is 1.
QUALITY_SPREAD = 0.8
GENEROSITY_SPREAD = 0.5
# Fame may not be near zero, or one item in twenty would never be rated.
LEAST_FAME = 0.1
HIGHEST_POWER = 16.0
# What users know of (see `_draw_known`), in worlds fitted to MovieLens data (`like_world`): the
# dimensions that matter, and how far out users and items are in them.
KINDS, TAILS = 8, 1.7
# How much more users know of famous items than of others, for a standard deviation less of log
# activity and more of fame, where what they know of kinds has a standard deviation of 1.
LEANING = 0.25
MOST_HELD = 100_000_000
"""Pairs of user and item in memory at once: 0.8 GB."""


def make_world(settings: WorldSettings) -> World:
    """Make the world that these settings describe.

    Each user rates a set of items drawn without replacement with weights
    ``exp(exposure * popularity + liking * preference + familiarity * known)`` (by Gumbel top-k),
    where known are items of the kinds that are the user's, and famous ones to users who rate
    little. The popularity of items is a power of a normal deviate; the power is found by bisection,
    so that with an exposure of 1 the ratings over items have the Gini coefficient asked for.
    Activity is the least number of ratings plus a scaled squared normal deviate. The cuts
    between stars give the *observed* ratings the shares of MovieLens 1M. All this is found
    where `strength` and `fill` are 1; with others the same users rate other items of the same
    world. In large worlds the power is found among the first users, as many as fit into
    `MOST_HELD` pairs; what all of them rate is drawn in blocks, so that memory grows with
    users, items and ratings.

    Every part has a random stream of its own, so that a change of, say, the noise leaves the
    choice of items as it was. Items that nobody rated stay in the numbering.

    Notes
    -----
    The squared normal (a gamma distribution of shape 1/2) has the Gini coefficient 2/pi = 0.637
    and quartiles at 0.10, 0.45 and 1.32 of its mean; those of the ratings of a MovieLens 1M item
    are 0.12, 0.46 and 1.30 of theirs.
    """
    streams = np.random.SeedSequence(settings.seed).spawn(7)
    luck = streams.pop(3)
    tastes, activity, fame, noise, times, interests = map(np.random.default_rng, streams)
    preferences = _draw_preferences(settings, tastes)
    tail = activity.standard_normal(settings.n_users) ** 2
    counts = _activity(settings, tail, settings.n_ratings)
    famous = np.log(np.abs(fame.standard_normal(settings.n_items)) + LEAST_FAME)
    known = _draw_known(settings, counts, famous, interests)
    unmet = Observation(preferences, settings.liking, known)
    popularity = _popularity(settings, Appeal(unmet, luck), counts, famous)
    usual = replace(unmet, known=replace(known, quality=settings.exposure * popularity))
    user, item = Appeal(usual, luck).chosen(counts)
    felt = preferences.pairs(user, item) + noise.logistic(scale=settings.noise, size=len(user))
    below = np.rint(np.cumsum(STAR_SHARES[:-1]) * len(felt)).astype(np.intp)
    cuts = np.sort(felt)[below]
    met, known = settings.exposure_strength, usual.known
    observation = Observation(
        preferences,
        settings.liking_strength * settings.liking,
        replace(known, user_factors=met * known.user_factors, quality=met * known.quality),
    )
    if not settings.is_usual:
        counts = _activity(settings, tail, settings.rated)
        user, item = Appeal(observation, luck).chosen(counts)
        felt = preferences.pairs(user, item) + noise.logistic(scale=settings.noise, size=len(user))
    users, items = padded_ids("u", settings.n_users), padded_ids("i", settings.n_items)
    truth = Truth(users, items, preferences, popularity, cuts, settings.noise)
    return World(rate_pairs(truth, user, item, felt, times), truth, observation)


@dataclass(frozen=True, eq=False)
class Appeal:
    """How every item draws every user: what is observed, and luck, drawn anew when asked for.

    ``observation``: what decides which items a user rates; ``luck``: seed of the Gumbel deviates.
    """

    observation: Observation
    luck: np.random.SeedSequence

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Give the appeal to users in blocks, of shape (n, n_items), from the first user on."""
        rng = np.random.default_rng(self.luck)
        for rows in blocks(len(self.observation.known.generosity)):
            appeal = self.observation.block(rows)
            appeal -= np.log(rng.standard_exponential(appeal.shape))
            yield rows, appeal

    def held(self) -> Floats:
        """Give the appeal to all users, or to the first ones, as many as may be held."""
        most = max(1, MOST_HELD // (USERS_PER_BLOCK * len(self.observation.known.quality)))
        return np.concatenate([block for _, block in islice(self.blocks(), most)])

    def chosen(self, counts: Numbers) -> tuple[Ints, Ints]:
        """Give users and items of the pairs that are rated."""
        users, items = [], []
        for rows, appeal in self.blocks():
            user, item = np.nonzero(mark_chosen_items(appeal, counts[rows]))
            users.append((user + rows.start).astype(np.int32))
            items.append(item.astype(np.int32))
        return np.concatenate(users), np.concatenate(items)


def _draw_known(
    settings: WorldSettings, counts: Numbers, famous: Floats, rng: np.random.Generator
) -> Preferences:
    """Draw what users know of: items of a few kinds, and famous ones, if they rate little."""
    n_users, n_items = settings.n_users, settings.n_items
    nothing = Preferences(
        user_factors=np.zeros((n_users, 1)),
        item_factors=np.zeros((n_items, 1)),
        generosity=np.zeros(n_users),
        quality=np.zeros(n_items),
    )
    if settings.familiarity == 0:
        return nothing
    weights = unit_norm(np.arange(1.0, KINDS + 1) ** -1)
    interests = weights * signed_power(rng.standard_normal((n_users, KINDS)), TAILS)
    leaning = -LEANING * _standard(np.log(counts))
    return replace(
        nothing,
        user_factors=settings.familiarity * np.column_stack([interests, leaning]),
        item_factors=np.column_stack(
            [signed_power(rng.standard_normal((n_items, KINDS)), TAILS), _standard(famous)]
        ),
    )


def unit_norm(weights: Floats) -> Floats:
    """Scale weights to a sum of squares of 1."""
    return weights / np.sqrt((weights**2).sum())


def signed_power(deviates: Floats, power: float) -> Floats:
    """Raise normal deviates to a power, signs kept, and scale them to a mean square of 1."""
    raised = np.sign(deviates) * np.abs(deviates) ** power
    return raised / np.sqrt((raised**2).mean())


def _standard(values: Floats) -> Floats:
    """Scale values to mean 0 and standard deviation 1; to 0 if they are all alike."""
    about = values - values.mean()
    return about / max(float(about.std()), 1e-9)


def _draw_preferences(settings: WorldSettings, rng: np.random.Generator) -> Preferences:
    """Draw tastes of variance 1 in all, the first dimensions weighing more."""
    weights = unit_norm(1.0 / np.sqrt(np.arange(1, settings.dimensions + 1)))
    return Preferences(
        user_factors=rng.standard_normal((settings.n_users, settings.dimensions)) * weights,
        item_factors=rng.standard_normal((settings.n_items, settings.dimensions)),
        generosity=GENEROSITY_SPREAD * rng.standard_normal(settings.n_users),
        quality=QUALITY_SPREAD * rng.standard_normal(settings.n_items),
    )


def _activity(settings: WorldSettings, tail: Floats, n_ratings: int) -> Numbers:
    """Give the number of ratings of each user, of sum ``n_ratings``."""

    def wanted(scale: float) -> Floats:
        return np.minimum(settings.min_ratings + scale * tail, settings.n_items)

    scale = _bisect(
        lambda scale: wanted(scale).sum() - n_ratings, settings.n_items / tail.min(), tolerance=0.4
    )
    # Rounded sums, not numbers, so that nothing is lost in total.
    ends = np.floor(np.cumsum(wanted(scale)) + 0.5).astype(np.intp)
    return ends - np.append(0, ends[:-1])


def _popularity(settings: WorldSettings, appeal: Appeal, counts: Numbers, famous: Floats) -> Floats:
    """Raise the fame of items to the power that gives the Gini asked for."""
    held = appeal.held()

    def reached(power: float) -> float:
        return gini(np.count_nonzero(mark_chosen_items(held, counts, power * famous), axis=0))

    least, most = reached(0.0), reached(HIGHEST_POWER)
    if not least <= settings.gini <= most:
        raise InputError(
            f"`gini` must be between {least:.3f} and {most:.3f} in a world of these sizes, "
            f"density and liking, got {settings.gini}."
        )
    return famous * _bisect(lambda p: reached(p) - settings.gini, HIGHEST_POWER, tolerance=0.001)


def _bisect(excess: Callable[[float], float], high: float, *, tolerance: float) -> float:
    """Find the argument between 0 and ``high`` at which a rising function is about 0."""
    low, middle = 0.0, high / 2
    for _ in range(200):
        found = excess(middle)
        if abs(found) <= tolerance:
            break
        low, high = (middle, high) if found < 0 else (low, middle)
        middle = (low + high) / 2
    return middle
