"""Simulated worlds: which items users rate, how, and when."""

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
"""Seconds of a day."""

OPENING = 946_684_800
"""When the first users come, in seconds since 1970 in UTC: the beginning of the year 2000."""

CLOSING = OPENING + 3 * 365 * DAY
RATINGS_PER_SESSION = 30
SECONDS_PER_RATING = 30.0


def rating_times(
    user: Ints, item: Ints, counts: Numbers, n_items: int, rng: np.random.Generator
) -> Longs:
    """Draw the second of each rating.

    Nine in ten items are there from the opening, the others appear over the three years, and so do
    the users. A user comes back at an interval of their own, 1 to 60 days, and rates about 30
    items per session, one every half minute; an item that was not out yet waits for the first
    session after it is.

    Parameters
    ----------
    user, item
        Numbers of user and item of each rating, of shape (n_ratings,).
    counts
        Number of ratings of each user, of shape (n_users,).
    n_items
        Number of items.
    rng
        Draws the times.

    Returns
    -------
    Seconds since 1970 in UTC, of shape (n_ratings,).
    """
    n_users = len(counts)
    joined = rng.uniform(OPENING, CLOSING, n_users)
    interval = DAY * 60.0 ** rng.random(n_users)
    # So that nine in ten items are released before the opening.
    earliest_release = 10 * OPENING - 9 * CLOSING
    released = np.maximum(OPENING, rng.uniform(earliest_release, CLOSING, n_items))
    sessions_needed = np.ceil(counts / RATINGS_PER_SESSION)
    sessions_until_closing = 1 + (CLOSING - joined) // interval
    n_sessions = np.minimum(sessions_needed, sessions_until_closing)
    planned_session = np.floor(n_sessions[user] * rng.random(len(user)))
    seconds_to_release = released[item] - joined[user]
    first_possible_session = np.ceil(seconds_to_release / interval[user])
    session = np.maximum(planned_session, first_possible_session)
    session_keys = user * (session.max() + 1.0) + session
    _, session_numbers, sizes = np.unique(session_keys, return_inverse=True, return_counts=True)
    ratings_in_session = sizes[session_numbers]
    elapsed = SECONDS_PER_RATING * ratings_in_session * rng.random(len(user))
    session_start = joined[user] + session * interval[user]
    return (session_start + elapsed).astype(np.int64)


USERS_PER_BLOCK = 64


def blocks(n_users: int) -> Iterator[slice]:
    """Cut the users into blocks that fit a processor's cache."""
    for start in range(0, n_users, USERS_PER_BLOCK):
        yield slice(start, start + USERS_PER_BLOCK)


def mark_chosen_items(appeal: Floats, counts: Numbers, exposure: Floats | float = 0.0) -> Masks:
    """Mark the items of highest appeal plus exposure of each user: those that the user rates.

    Appeal and the result are of shape (n_users, n_items), exposure of shape (n_items,). ``counts``:
    number of items to mark for each user, at least 1, of shape (n_users,). Items that tie with the
    last one are marked, too.
    """
    chosen = np.empty(appeal.shape, dtype=np.bool_)
    for rows in blocks(len(appeal)):
        keys = appeal[rows] + exposure
        sorted_keys = np.sort(keys, axis=1)
        row_numbers = np.arange(len(keys))
        lowest_chosen = sorted_keys[row_numbers, -counts[rows]]
        chosen[rows] = keys >= lowest_chosen[:, None]
    return chosen


def rate_pairs(
    truth: Truth, user: Ints, item: Ints, felt: Floats, rng: np.random.Generator
) -> Ratings:
    """Rate pairs of user and item: the lowest rating, and one step more for each cut reached.

    ``truth`` holds the rising ratings of the scale and the cuts between them; ``user``, ``item``:
    numbers of each pair, sorted, of shape (n_pairs,); ``felt``: preference plus noise, of the same
    shape, which is compared with the cuts; ``rng`` draws the times of the ratings.
    """
    ratings = truth.scale[np.searchsorted(truth.cuts, felt, side="right")]
    counts = np.bincount(user, minlength=len(truth.users))
    times = rating_times(user, item, counts, len(truth.items), rng)
    return Ratings(truth.users, truth.items, user, item, ratings, times)


FURTHEST_CUT = 1.0
"""How far a cut is from the lowest key above it, at most."""


@dataclass(frozen=True)
class PopularityBands:
    """Items in bands of popularity, each band twice as often rated as the one before.

    ``item_counts``: how often each item is rated, of shape (n_items,); ``band``: the band of each
    item, of shape (n_items,); ``rated``: how many items of each band every user rates, of shape
    (n_users, n_bands).
    """

    item_counts: Numbers
    band: Numbers
    rated: Numbers

    @classmethod
    def of(cls, ratings: Ratings) -> Self:
        """Put items in bands by their number of ratings, and count ratings of users by band.

        An item with n ratings is in the band of floor(log2(n)); bands without items are left out,
        the others numbered from 0. Each item must have at least one rating. The result holds the
        number of ratings and the band of each item, (n_items,), and the number of ratings of each
        user in each band, (n_users, n_bands).
        """
        item_counts = ratings.item_counts()
        n_doublings = np.log2(item_counts).astype(np.intp)
        band = np.unique(n_doublings, return_inverse=True)[1]
        n_bands = int(band.max()) + 1
        rated = np.zeros((len(ratings.users), n_bands), dtype=np.intp)
        np.add.at(rated, (ratings.user, band[ratings.item]), 1)
        return cls(item_counts, band, rated)


@dataclass(frozen=True)
class Exposure:
    """How often users meet items, before interest and liking have an effect.

    ``popularity``: of each item, of shape (n_items,); ``leaning``: of each user to each band of
    popularity, of shape (n_users, n_bands) and mean 0 over users.
    """

    popularity: Floats
    leaning: Floats

    @classmethod
    def fit(
        cls, appeal: Floats, bands: PopularityBands, popularity: Floats, *, sweeps: int
    ) -> Self:
        """Find the exposure of items to users that explains how many ratings both have.

        The popularity of items and the leaning of users to bands of items are computed in turn,
        each so that the highest sums of appeal, popularity and leaning are as many as the ratings.

        Parameters
        ----------
        appeal
            Logarithm of the weight of every item to every user, without exposure, plus a Gumbel
            deviate, of shape (n_users, n_items).
        bands
            Numbers of ratings of users, by band, and of items that are to be explained.
        popularity
            First values of the popularity of items, of shape (n_items,).
        sweeps
            How often both sides are computed anew.

        Returns
        -------
        Popularity of items, (n_items,), with the mean leaning to their band, and what is left of
        the leaning of users, (n_users, n_bands).
        """
        leaning = _leaning(appeal, popularity, bands)
        for _ in range(sweeps):
            keys = leaning[:, bands.band]
            keys += appeal
            popularity = -_selection_cuts(keys.T, bands.item_counts)
            leaning = _leaning(appeal, popularity, bands)
        mean_leaning = leaning.mean(axis=0)
        return cls(popularity + mean_leaning[bands.band], leaning - mean_leaning)


def _leaning(appeal: Floats, popularity: Floats, bands: PopularityBands) -> Floats:
    """Find the leaning with which each user rates ``bands.rated`` items of each band.

    An item is rated if appeal plus popularity plus leaning is above 0. ``appeal`` is of shape
    (n_users, n_items), ``popularity`` of shape (n_items,), the result of shape (n_users, n_bands).
    """
    keys = appeal + popularity
    n_bands = bands.rated.shape[1]
    cuts = []
    for band in range(n_bands):
        keys_of_band = keys[:, bands.band == band]
        cuts.append(_selection_cuts(keys_of_band, bands.rated[:, band]))
    return -np.column_stack(cuts)


def _selection_cuts(keys: Floats, counts: Numbers) -> Floats:
    """Find a cut for each row above which lie as many keys as its count says.

    It is the middle between the lowest key above and the highest one below, but at most 1 below the
    former. If no key is to be above, it is 1 above the highest key.

    ``keys`` are of shape (n_rows, n_keys), counts and the result of shape (n_rows,).
    """
    sorted_keys = np.sort(keys, axis=1)
    rows = np.arange(len(keys))
    n_keys = keys.shape[1]
    n_below = n_keys - counts
    lowest_above = sorted_keys[rows, np.minimum(n_below, n_keys - 1)]
    highest_below = sorted_keys[rows, np.maximum(n_below - 1, 0)]
    highest_below = np.where(counts == n_keys, -np.inf, highest_below)
    lower_end = np.maximum(highest_below, lowest_above - 2 * FURTHEST_CUT)
    middle = (lowest_above + lower_end) / 2
    return np.where(counts == 0, highest_below + FURTHEST_CUT, middle)


STAR_SHARES = (0.056, 0.108, 0.261, 0.349, 0.226)
"""Shares of one to five stars in MovieLens 1M, mean 3.58."""

QUALITY_SPREAD = 0.8
"""Standard deviation of the biases of items, where that of the latent tastes is 1."""

GENEROSITY_SPREAD = 0.5
"""Standard deviation of the biases of users, where that of the latent tastes is 1."""

LEAST_FAME = 0.1
"""Added to the fame of items: near zero, one item in twenty would never be rated."""

HIGHEST_POWER = 16.0
"""Highest power of fame that popularity may be."""

# These two are as in worlds fitted to MovieLens data (`like_world`).
N_TOPICS = 8
"""Number of topics, dimensions of familiarity; see `_draw_familiarity`."""

TAIL_POWER = 1.7
"""Power of normal deviates that says how far out users and items are in these dimensions."""

LEANING = 0.25
"""How much more familiar users are with famous items, for a standard deviation less of log activity
and more of fame, where familiarity with topics has a standard deviation of 1."""

MAX_PAIRS_AT_ONCE = 100_000_000
"""Pairs of user and item in memory at once: 0.8 GB."""


def make_world(settings: WorldSettings) -> World:
    """Make the world that these settings describe.

    Each user rates a set of items drawn without replacement with weights
    ``exp(exposure * popularity + liking * preference + familiarity * known)`` (by Gumbel top-k),
    where known are items of the topics that are the user's, and famous ones to users who rate
    little. The popularity of items is a power of a normal deviate; the power is found by bisection,
    so that with an exposure of 1 the ratings over items have the Gini coefficient asked for.
    Activity is the least number of ratings plus a scaled squared normal deviate. The cuts
    between stars give the *observed* ratings the shares of MovieLens 1M. All this is found
    where `strength` and `fill` are 1; with others the same users rate other items of the same
    world. In large worlds the power is found among the first users, as many as fit into
    `MAX_PAIRS_AT_ONCE` pairs; what all of them rate is drawn in blocks, so that memory grows with
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
    gumbel_seed = streams.pop(3)
    generators = [np.random.default_rng(stream) for stream in streams]
    taste_rng, activity_rng, fame_rng, noise_rng, time_rng, topic_rng = generators
    preferences = _draw_preferences(settings, taste_rng)
    tail = activity_rng.standard_normal(settings.n_users) ** 2
    counts = _activity(settings, tail, settings.n_ratings)
    fame_deviates = np.abs(fame_rng.standard_normal(settings.n_items))
    fame = np.log(fame_deviates + LEAST_FAME)
    familiarity = _draw_familiarity(settings, counts, fame, topic_rng)
    without_exposure = Observation(preferences, settings.liking, familiarity)
    popularity = _popularity(settings, Appeal(without_exposure, gumbel_seed), counts, fame)
    familiarity = replace(familiarity, quality=settings.exposure * popularity)
    usual = Observation(preferences, settings.liking, familiarity)
    user, item = Appeal(usual, gumbel_seed).choose_pairs(counts)
    felt = _felt(settings, preferences, user, item, noise_rng)
    cuts = _star_cuts(felt)
    observation = _strengthened(settings, usual)
    if not settings.is_usual:
        counts = _activity(settings, tail, settings.n_observed)
        user, item = Appeal(observation, gumbel_seed).choose_pairs(counts)
        felt = _felt(settings, preferences, user, item, noise_rng)
    users = padded_ids("u", settings.n_users)
    items = padded_ids("i", settings.n_items)
    truth = Truth(
        users=users,
        items=items,
        preferences=preferences,
        popularity=popularity,
        cuts=cuts,
        noise=settings.noise,
    )
    return World(rate_pairs(truth, user, item, felt, time_rng), truth, observation)


def _felt(
    settings: WorldSettings,
    preferences: Preferences,
    user: Ints,
    item: Ints,
    rng: np.random.Generator,
) -> Floats:
    """Add logistic noise to the preferences of pairs of user and item, of shape (n_pairs,)."""
    noise = rng.logistic(scale=settings.noise, size=len(user))
    return preferences.pairs(user, item) + noise


def _star_cuts(felt: Floats) -> Floats:
    """Find the four cuts between stars that give ratings the shares of MovieLens 1M, rising.

    ``felt``: preference plus noise of each rating, of shape (n_ratings,).
    """
    cumulative_shares = np.cumsum(STAR_SHARES[:-1])
    n_below = np.rint(cumulative_shares * len(felt)).astype(np.intp)
    return np.sort(felt)[n_below]


def _strengthened(settings: WorldSettings, usual: Observation) -> Observation:
    """Multiply what decides which items are rated by the strengths that settings ask for.

    ``usual`` is the observation where both strengths are 1. Liking, the weight of preference, is
    multiplied by ``liking_strength``; familiarity and popularity by ``exposure_strength``. Of
    familiarity, a product of factors of users and items, those of users are multiplied; its
    ``quality`` of items is their popularity.
    """
    strength = settings.exposure_strength
    user_factors = strength * usual.familiarity.user_factors
    popularity = strength * usual.familiarity.quality
    familiarity = replace(usual.familiarity, user_factors=user_factors, quality=popularity)
    liking = settings.liking_strength * settings.liking
    return Observation(usual.preferences, liking, familiarity)


@dataclass(frozen=True, eq=False)
class Appeal:
    """The appeal of every item to every user: logarithms of weights, and Gumbel deviates.

    The items of highest appeal are those drawn without replacement with these weights. Appeal is
    computed anew at each call. ``observation``: what decides which items a user rates;
    ``gumbel_seed``: seed of the deviates.
    """

    observation: Observation
    gumbel_seed: np.random.SeedSequence

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield a slice of user numbers, and the appeal of items to these users, block by block.

        Appeal is the logarithm of the weight of an item plus a Gumbel deviate, of shape
        (users of the block, n_items). The logarithms are those of ``self.observation``; the
        deviates are the same in each call.
        """
        rng = np.random.default_rng(self.gumbel_seed)
        n_users = len(self.observation.familiarity.generosity)
        for rows in blocks(n_users):
            appeal = self.observation.block(rows)
            # Minus the logarithm of an exponential deviate is a Gumbel deviate.
            appeal -= np.log(rng.standard_exponential(appeal.shape))
            yield rows, appeal

    def of_first_users(self) -> Floats:
        """Compute the appeal to all users, or to the first ones, as many as memory may hold.

        The result is of shape (n, n_items).
        """
        n_items = len(self.observation.familiarity.quality)
        n_blocks = max(1, MAX_PAIRS_AT_ONCE // (USERS_PER_BLOCK * n_items))
        return np.concatenate([appeal for _, appeal in islice(self.blocks(), n_blocks)])

    def choose_pairs(self, counts: Numbers) -> tuple[Ints, Ints]:
        """Choose the items that each user rates: those of the highest appeal to the user.

        ``counts``: number of items of each user, at least 1, of shape (n_users,). Returns the
        numbers of users and items of the pairs, each of shape (n_pairs,), sorted.
        """
        user_blocks = []
        item_blocks = []
        for rows, appeal in self.blocks():
            row, item = np.nonzero(mark_chosen_items(appeal, counts[rows]))
            user_blocks.append((row + rows.start).astype(np.int32))
            item_blocks.append(item.astype(np.int32))
        return np.concatenate(user_blocks), np.concatenate(item_blocks)


def _draw_familiarity(
    settings: WorldSettings, counts: Numbers, fame: Floats, rng: np.random.Generator
) -> Preferences:
    """Draw how familiar users are with items: with those of their topics, and famous ones.

    Users with few ratings are more familiar with famous items.

    Parameters
    ----------
    settings
        If its familiarity is 0, so is the result, and nothing is drawn.
    counts
        Number of ratings of each user, of shape (n_users,).
    fame
        Logarithm of the fame of each item, of shape (n_items,).
    rng
        Draws interests of users, then topics of items.

    Returns
    -------
    Familiarity as the product of factors, of shapes (n_users, 9) and (n_items, 9): eight topics,
    and fame; or one factor of 0. Biases of users and items are 0.
    """
    n_users = settings.n_users
    n_items = settings.n_items
    no_user_factors = np.zeros((n_users, 1))
    no_item_factors = np.zeros((n_items, 1))
    no_generosity = np.zeros(n_users)
    no_quality = np.zeros(n_items)
    no_familiarity = Preferences(
        user_factors=no_user_factors,
        item_factors=no_item_factors,
        generosity=no_generosity,
        quality=no_quality,
    )
    if settings.familiarity == 0:
        return no_familiarity
    weights = unit_norm(np.arange(1.0, N_TOPICS + 1) ** -1)
    interests = weights * signed_power(rng.standard_normal((n_users, N_TOPICS)), TAIL_POWER)
    topics = signed_power(rng.standard_normal((n_items, N_TOPICS)), TAIL_POWER)
    leaning = -LEANING * _standardised(np.log(counts))
    user_factors = settings.familiarity * np.column_stack([interests, leaning])
    item_factors = np.column_stack([topics, _standardised(fame)])
    return replace(no_familiarity, user_factors=user_factors, item_factors=item_factors)


def unit_norm(weights: Floats) -> Floats:
    """Scale weights to a sum of squares of 1."""
    return weights / np.sqrt((weights**2).sum())


def signed_power(deviates: Floats, power: float) -> Floats:
    """Raise normal deviates to a power, signs kept, and scale them to a mean square of 1."""
    raised = np.sign(deviates) * np.abs(deviates) ** power
    return raised / np.sqrt((raised**2).mean())


def _standardised(values: Floats) -> Floats:
    """Scale values to mean 0 and standard deviation 1; to 0 if they are all alike."""
    deviations = values - values.mean()
    return deviations / max(float(deviations.std()), 1e-9)


def _draw_preferences(settings: WorldSettings, rng: np.random.Generator) -> Preferences:
    """Draw the preferences of users for items: factors of users and items, and biases of both.

    Products of user and item factors, of shapes (n_users, dimensions) and (n_items, dimensions),
    have the variance 1; the weight of dimension k is proportional to its number, from 1, to the
    power of -1/2. Biases of users and items, (n_users,) and (n_items,), are normal, with the
    standard deviations 0.5 and 0.8.
    """
    n_users = settings.n_users
    n_items = settings.n_items
    n_dimensions = settings.dimensions
    weights = unit_norm(1.0 / np.sqrt(np.arange(1, n_dimensions + 1)))
    user_factors = rng.standard_normal((n_users, n_dimensions)) * weights
    item_factors = rng.standard_normal((n_items, n_dimensions))
    generosity = GENEROSITY_SPREAD * rng.standard_normal(n_users)
    quality = QUALITY_SPREAD * rng.standard_normal(n_items)
    return Preferences(user_factors, item_factors, generosity, quality)


def _activity(settings: WorldSettings, tail: Floats, n_ratings: int) -> Numbers:
    """Compute the number of ratings of each user, whole numbers of sum ``n_ratings``, (n_users,).

    It is ``settings.min_ratings`` plus a multiple of ``tail``, positive deviates of shape
    (n_users,), at most the number of items; the multiple is found by bisection.
    """

    def expected_counts(scale: float) -> Floats:
        return np.minimum(settings.min_ratings + scale * tail, settings.n_items)

    def excess(scale: float) -> float:
        return float(expected_counts(scale).sum() - n_ratings)

    highest_scale = settings.n_items / tail.min()
    scale = _bisect(excess, highest_scale, tolerance=0.4)
    # Rounded sums, not numbers, so that nothing is lost in total.
    cumulative = np.cumsum(expected_counts(scale))
    cumulative_counts = np.floor(cumulative + 0.5).astype(np.intp)
    return cumulative_counts - np.append(0, cumulative_counts[:-1])


def _popularity(settings: WorldSettings, appeal: Appeal, counts: Numbers, fame: Floats) -> Floats:
    """Raise the fame of items to the power with which ratings have the Gini coefficient asked for.

    Parameters
    ----------
    settings
        Holds the Gini coefficient of the ratings over items.
    appeal
        Of items to users without popularity.
    counts
        Number of ratings of each user, of shape (n_users,).
    fame
        Logarithm of the fame of each item, of shape (n_items,); the result is a multiple of it.

    Raises
    ------
    InputError
        If no power from 0 to 16 gives this coefficient.
    """
    # To the first users, as many as fit into memory: (n_first_users, n_items).
    appeal_without_popularity = appeal.of_first_users()

    def reached_gini(power: float) -> float:
        chosen = mark_chosen_items(appeal_without_popularity, counts, power * fame)
        return gini(np.count_nonzero(chosen, axis=0))

    lowest = reached_gini(0.0)
    highest = reached_gini(HIGHEST_POWER)
    if not lowest <= settings.gini <= highest:
        raise InputError(
            f"`gini` must be between {lowest:.3f} and {highest:.3f} in a world of these sizes, "
            f"density and liking, got {settings.gini}."
        )

    def excess(power: float) -> float:
        return reached_gini(power) - settings.gini

    return fame * _bisect(excess, HIGHEST_POWER, tolerance=0.001)


def _bisect(excess: Callable[[float], float], high: float, *, tolerance: float) -> float:
    """Find the argument between 0 and ``high`` at which a rising function is about 0, by bisection.

    The value of ``excess`` there is within the tolerance of 0, unless 200 steps do not suffice.
    """
    low = 0.0
    middle = high / 2
    for _ in range(200):
        value = excess(middle)
        if abs(value) <= tolerance:
            break
        if value < 0:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return middle
