"""The simulated world: users whose true rating of every item is known, and the few they gave.

The embedded default input of every study. A user's *preference* for an item is the item's
quality plus the user's generosity plus an inner product of latent tastes. Which items the user
rates depends on how popular they are and on how well they are liked, so ratings are missing not
at random; how many, on a long-tailed activity. The rating itself is the preference with noise,
cut into one to five stars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from types import MappingProxyType
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from qrels.ratings.ratings import Ratings
from qrels.ratings.statistics import gini
from runs import InputError, Numbering

# The shares of one to five stars in MovieLens 1M, mean 3.58.
STAR_SHARES = (0.056, 0.108, 0.261, 0.349, 0.226)
# Standard deviations of the biases, where that of the latent tastes is 1.
QUALITY_SPREAD = 0.8
GENEROSITY_SPREAD = 0.5
# Fame may not be near zero, or one item in twenty would never be rated.
LEAST_FAME = 0.1
HIGHEST_POWER = 16.0
# Eight gigabytes, as one float64 is kept for each pair of user and item.
MOST_CELLS = 1_000_000_000
USERS_PER_BLOCK = 64
DAY = 86_400
OPENING = 946_684_800
CLOSING = OPENING + 3 * 365 * DAY


class WorldSettings(BaseModel):
    """What a world is made from; equal settings give equal worlds.

    Raises
    ------
    pydantic.ValidationError
        If a field is unknown or out of range, or the numbers do not fit together.

    Examples
    --------
    >>> WorldSettings(n_users=50, n_items=80, n_ratings=1000).density
    0.25
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    n_users: int = Field(ge=2, description="Number of users, at least 2.")
    n_items: int = Field(ge=2, description="Number of items, at least 2.")
    n_ratings: int = Field(ge=2, description="Number of ratings observed, met exactly.")
    min_ratings: int = Field(
        default=5, ge=1, description="Ratings of the least active user, at least 1."
    )
    gini: float = Field(
        default=0.6,
        gt=0.0,
        lt=1.0,
        description="Gini coefficient of ratings over items where `exposure` is 1, in (0, 1); "
        "with more `liking` or fewer ratings, low values are out of reach.",
    )
    exposure: float = Field(
        default=1.0,
        ge=0.0,
        le=2.0,
        description="How strongly being rated follows popularity, 0 (not at all) to 2.",
    )
    liking: float = Field(
        default=1.5,
        ge=0.0,
        le=5.0,
        description="How strongly being rated follows preference, 0 (not at all) to 5. With "
        "`exposure` 0 as well, ratings are missing completely at random.",
    )
    dimensions: int = Field(default=16, ge=1, le=200, description="Latent tastes, 1 to 200.")
    noise: float = Field(
        default=0.6,
        ge=0.1,
        le=5.0,
        description="Scale of the logistic noise in ratings, 0.1 to 5 times the spread of taste.",
    )
    seed: int = Field(default=1, ge=0, description="Seed of all that is drawn, at least 0.")

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        least, most = self.n_users * self.min_ratings, self.n_users * self.n_items
        if most > MOST_CELLS:
            raise ValueError(
                f"`n_users` times `n_items` must be at most {MOST_CELLS:,} (8 GB), got {most:,}."
            )
        if not least <= self.n_ratings <= most:
            raise ValueError(
                f"`n_ratings` must be between {least:,} (`n_users` times `min_ratings`) and "
                f"{most:,} (`n_users` times `n_items`), got {self.n_ratings:,}."
            )
        return self

    @property
    def density(self) -> float:
        """Share of the pairs of user and item that are rated."""
        return self.n_ratings / (self.n_users * self.n_items)


PRESETS: Mapping[str, WorldSettings] = MappingProxyType(
    {
        "small": WorldSettings(
            n_users=600, n_items=1_000, n_ratings=40_000, min_ratings=20, gini=0.58
        ),
        "ml-1m": WorldSettings(
            n_users=6_040, n_items=3_706, n_ratings=1_000_209, min_ratings=20, gini=0.634
        ),
        # The Gini coefficient is a guess: popularity on larger data is steeper.
        "ml-10m": WorldSettings(
            n_users=69_878, n_items=10_677, n_ratings=10_000_054, min_ratings=20, gini=0.75
        ),
    }
)


def world_settings(preset: str | None, changes: Mapping[str, Any]) -> WorldSettings:
    """Give the settings of a preset ("small" by default), with some changed.

    Raises
    ------
    InputError
        If there is no such preset or setting, or a value is out of range.

    Examples
    --------
    >>> world_settings("small", {"seed": 7}).seed
    7
    >>> world_settings("smal", {})
    Traceback (most recent call last):
    runs.InputError: there is no preset 'smal' of the world; there are small, ml-1m, ml-10m.
    """
    name = "small" if preset is None else preset
    if name not in PRESETS:
        known = ", ".join(PRESETS)
        raise InputError(f"there is no preset {name!r} of the world; there are {known}.")
    try:
        return WorldSettings.model_validate({**PRESETS[name].model_dump(), **changes})
    except ValidationError as error:
        finding = error.errors()[0]
        setting = ".".join(str(part) for part in finding["loc"])
        place = f"the world's setting {setting!r}" if setting else "the world's settings"
        rule = finding["msg"].removeprefix("Value error, ").rstrip(".")
        raise InputError(f"{place}: {rule[0].lower()}{rule[1:]}.") from None


@dataclass(frozen=True, eq=False)
class Preferences:
    """How much every user likes every item, as a bilinear model on an open scale.

    The inner products are added up dimension by dimension, without BLAS: a value depends neither
    on the number of threads nor on the block it is computed in.

    Parameters
    ----------
    user_factors, item_factors
        Latent tastes, float64 of shapes (n_users, dimensions) and (n_items, dimensions).
    generosity
        Bias of each user, of shape (n_users,).
    quality
        Bias of each item, of shape (n_items,).

    Examples
    --------
    >>> one = Preferences(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.ones(1), np.ones(1))
    >>> one.block(np.array([0]))
    array([[13.]])
    """

    user_factors: NDArray[np.float64]
    item_factors: NDArray[np.float64]
    generosity: NDArray[np.float64]
    quality: NDArray[np.float64]

    def block(self, users: NDArray[np.integer] | slice) -> NDArray[np.float64]:
        """Give the preferences of these users for all items, of shape (len(users), n_items)."""
        biases = self.generosity[users][:, None] + self.quality
        return biases + _inner(self.user_factors.T[:, users, None], self.item_factors.T[:, None])

    def pairs(self, user: NDArray[np.integer], item: NDArray[np.integer]) -> NDArray[np.float64]:
        """Give the preference of each user for the item beside it, of shape (len(user),)."""
        biases = self.generosity[user] + self.quality[item]
        return biases + _inner(self.user_factors.T[:, user], self.item_factors.T[:, item])


@dataclass(frozen=True, eq=False)
class Truth:
    r"""What is true of a world, whether observed or not.

    A rating observed is :math:`1 + \#\{k : x_{ui} + \epsilon \ge c_k\}`, where x is the
    preference, :math:`\epsilon` logistic noise of scale s and c the four cuts between the stars.
    The true rating is its expectation,

    .. math:: t_{ui} = 1 + \sum_{k=1}^4 \frac{1}{1 + \exp((c_k - x_{ui}) / s)},

    a real number between 1 and 5 that rises with preference.

    Parameters
    ----------
    users, items
        The ids behind the rows and columns.
    preferences
        The model of who likes what.
    popularity
        Logarithm of how often an item is met before liking has a say, up to a constant; of shape
        (n_items,).
    cuts
        Preferences at which a noiseless rating gains a star, rising, of shape (4,).
    noise
        Scale of the logistic noise, above 0.
    """

    users: Numbering
    items: Numbering
    preferences: Preferences
    popularity: NDArray[np.float64]
    cuts: NDArray[np.float64]
    noise: float

    def ratings(self, users: NDArray[np.integer]) -> NDArray[np.float64]:
        """Give the true ratings of all items by these users.

        Parameters
        ----------
        users
            User numbers, of shape (n,); ask for blocks where all users would not fit in memory.

        Returns
        -------
        Expected ratings between 1 and 5, of shape (n, n_items).
        """
        preferences = self.preferences.block(users)
        # The logistic function as a hyperbolic tangent, which cannot overflow.
        return 3.0 + sum(np.tanh((preferences - cut) / (2.0 * self.noise)) for cut in self.cuts) / 2

    def to_bytes(self) -> bytes:
        """Give the content of an uncompressed .npz file; equal truths give equal bytes."""
        stream = BytesIO()
        np.savez(
            stream,
            users=self.users.ids,
            items=self.items.ids,
            **vars(self.preferences),
            popularity=self.popularity,
            cuts=self.cuts,
            noise=self.noise,
        )
        return stream.getvalue()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Truth:
        """Read a file with the content that `to_bytes` gives.

        Raises
        ------
        InputError
            If the file holds something else.
        """
        try:
            with np.load(path) as file:
                stored = dict(file)
            return cls(
                users=Numbering(stored.pop("users")),
                items=Numbering(stored.pop("items")),
                popularity=stored.pop("popularity"),
                cuts=stored.pop("cuts"),
                noise=float(stored.pop("noise")),
                preferences=Preferences(**stored),
            )
        except (BadZipFile, EOFError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} does not hold the truth of a world: {error}") from error


@dataclass(frozen=True, eq=False)
class World:
    """A log of ratings with the truth beside it.

    Parameters
    ----------
    ratings
        What was observed: whole stars from 1 to 5, with times.
    truth
        What every user thinks of every item.
    """

    ratings: Ratings
    truth: Truth


def make_world(settings: WorldSettings) -> World:
    """Make the world that these settings describe.

    Each user rates a set of items drawn without replacement with weights
    ``exp(exposure * popularity + liking * preference)`` (by Gumbel top-k). The popularity of items
    is a power of a normal deviate; the power is found by bisection, so that with an exposure of 1
    the ratings over items have the Gini coefficient asked for. Activity is the least number of
    ratings plus a scaled squared normal deviate. The cuts between stars give the *observed*
    ratings the shares of MovieLens 1M.

    Every part has a random stream of its own, so that a change of, say, the noise leaves the
    choice of items as it was. Items that nobody rated stay in the numbering.

    Parameters
    ----------
    settings
        One of `PRESETS`, or your own.

    Returns
    -------
    Ratings and truth, which share their numbering.

    Raises
    ------
    InputError
        If no power gives the Gini coefficient asked for.

    Notes
    -----
    The squared normal (a gamma distribution of shape 1/2) has the Gini coefficient 2/pi = 0.637
    and quartiles at 0.10, 0.45 and 1.32 of its mean; those of the ratings of a MovieLens 1M item
    are 0.12, 0.46 and 1.30 of theirs.

    Examples
    --------
    >>> world = make_world(WorldSettings(n_users=50, n_items=200, n_ratings=1000))
    >>> len(world.ratings), str(world.ratings.users.ids[0]), str(world.ratings.items.ids[-1])
    (1000, 'u01', 'i200')
    """
    tastes, activity, fame, choices, noise, times = np.random.default_rng(settings.seed).spawn(6)
    preferences = _draw_preferences(settings, tastes)
    counts = _activity(settings, activity)
    appeal = _appeal(settings, preferences, choices)
    popularity = _popularity(settings, appeal, counts, fame)
    chosen = _chosen(appeal, settings.exposure * popularity, counts)
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(chosen))
    felt = preferences.pairs(user, item) + noise.logistic(scale=settings.noise, size=len(user))
    cuts = _cuts(felt)
    users, items = _numbering("u", settings.n_users), _numbering("i", settings.n_items)
    moments = _times(user, item, counts, settings.n_items, times)
    return World(
        Ratings(users, items, user, item, _stars(felt, cuts), moments),
        Truth(users, items, preferences, popularity, cuts, settings.noise),
    )


def _inner(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the products along the first axis, in order."""
    total = left[0] * right[0]
    for one, other in zip(left[1:], right[1:], strict=True):
        total += one * other
    return total


def _numbering(prefix: str, n: int) -> Numbering:
    """Number ids padded with zeros, so that they sort as they count."""
    width = len(str(n))
    return Numbering.of([f"{prefix}{number:0{width}}" for number in range(1, n + 1)])


def _draw_preferences(settings: WorldSettings, rng: np.random.Generator) -> Preferences:
    """Draw tastes of variance 1 in all, the first dimensions weighing more."""
    weights = 1.0 / np.sqrt(np.arange(1, settings.dimensions + 1))
    weights /= np.sqrt((weights**2).sum())
    return Preferences(
        user_factors=rng.standard_normal((settings.n_users, settings.dimensions)) * weights,
        item_factors=rng.standard_normal((settings.n_items, settings.dimensions)),
        generosity=GENEROSITY_SPREAD * rng.standard_normal(settings.n_users),
        quality=QUALITY_SPREAD * rng.standard_normal(settings.n_items),
    )


def _activity(settings: WorldSettings, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw the number of ratings of each user, of sum ``n_ratings``."""
    tail = rng.standard_normal(settings.n_users) ** 2

    def wanted(scale: float) -> NDArray[np.float64]:
        return np.minimum(settings.min_ratings + scale * tail, settings.n_items)

    scale = _bisect(
        lambda scale: wanted(scale).sum() - settings.n_ratings,
        high=settings.n_items / tail.min(),
        tolerance=0.4,
    )
    # Rounded sums, not numbers, so that nothing is lost in total.
    ends = np.floor(np.cumsum(wanted(scale)) + 0.5).astype(np.intp)
    return ends - np.append(0, ends[:-1])


def _appeal(
    settings: WorldSettings, preferences: Preferences, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Give each pair its liking and a Gumbel deviate, of shape (n_users, n_items)."""
    appeal = np.empty((settings.n_users, settings.n_items))
    for rows in _blocks(settings.n_users):
        luck = -np.log(rng.standard_exponential(appeal[rows].shape))
        appeal[rows] = settings.liking * preferences.block(rows) + luck
    return appeal


def _popularity(
    settings: WorldSettings,
    appeal: NDArray[np.float64],
    counts: NDArray[np.intp],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw the fame of items and raise it to the power that gives the Gini asked for."""
    fame = np.log(np.abs(rng.standard_normal(settings.n_items)) + LEAST_FAME)

    def reached(power: float) -> float:
        return gini(np.count_nonzero(_chosen(appeal, power * fame, counts), axis=0))

    least, most = reached(0.0), reached(HIGHEST_POWER)
    if not least <= settings.gini <= most:
        raise InputError(
            f"`gini` must be between {least:.3f} and {most:.3f} in a world of these sizes, "
            f"density and liking, got {settings.gini}."
        )
    return fame * _bisect(
        lambda power: reached(power) - settings.gini, high=HIGHEST_POWER, tolerance=0.001
    )


def _chosen(
    appeal: NDArray[np.float64], exposure: NDArray[np.float64], counts: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Mark the items of highest appeal plus exposure of each user, ``counts`` of them."""
    chosen = np.empty(appeal.shape, dtype=np.bool_)
    for rows in _blocks(len(appeal)):
        keys = appeal[rows] + exposure
        least = np.sort(keys, axis=1)[np.arange(len(keys)), -counts[rows]]
        chosen[rows] = keys >= least[:, None]
    return chosen


def _cuts(felt: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut what is felt into stars of the shares wanted, of shape (4,)."""
    below = np.rint(np.cumsum(STAR_SHARES[:-1]) * len(felt)).astype(np.intp)
    return np.sort(felt)[below]


def _stars(felt: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give one star and one more for each cut that is reached."""
    return (1 + np.searchsorted(cuts, felt, side="right")).astype(np.float64)


def _times(
    user: NDArray[np.int32],
    item: NDArray[np.int32],
    counts: NDArray[np.intp],
    n_items: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
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
    elapsed = 30.0 * _sizes(user, session) * rng.random(len(user))
    return (joined[user] + session * interval[user] + elapsed).astype(np.int64)


def _sizes(user: NDArray[np.int32], session: NDArray[np.float64]) -> NDArray[np.intp]:
    """Count, for each rating, the ratings of its session."""
    keys = user * (session.max() + 1.0) + session
    _, found, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return sizes[found]


def _blocks(n_users: int) -> Iterator[slice]:
    """Cut the users into blocks that fit a processor's cache."""
    for start in range(0, n_users, USERS_PER_BLOCK):
        yield slice(start, start + USERS_PER_BLOCK)


def _bisect(excess: Callable[[float], float], *, high: float, tolerance: float) -> float:
    """Find the argument between 0 and ``high`` at which a rising function is about 0."""
    low, middle = 0.0, high / 2
    for _ in range(200):
        found = excess(middle)
        if abs(found) <= tolerance:
            break
        low, high = (middle, high) if found < 0 else (low, middle)
        middle = (low + high) / 2
    return middle
