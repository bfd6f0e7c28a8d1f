"""The truth of a simulated world: who likes what, and the chance that a pair is rated."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from os import PathLike
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings
from runs import Numbering
from runs.shared.arrays import Floats, Integers, Numbers
from runs.shared.errors import as_input_error

ONE_TO_FIVE = np.arange(1.0, 6.0)


@dataclass(frozen=True, eq=False)
class Preferences:
    """How much every user likes every item, as a bilinear model on an open scale.

    The inner products are added up dimension by dimension, without BLAS: a value depends neither
    on the number of threads nor on the block it is computed in.

    ``user_factors``, ``item_factors``: latent tastes, float64 of shapes (n_users, dimensions) and
    (n_items, dimensions); ``generosity``: bias of each user, of shape (n_users,); ``quality``: bias
    of each item, of shape (n_items,); ``local``: what each user thinks of each neighbourhood of
    items beside that, of shape (n_users, n_neighbourhoods); None where there are no neighbourhoods;
    ``neighbourhood``: the neighbourhood of each item, of shape (n_items,); None likewise.
    """

    user_factors: Floats
    item_factors: Floats
    generosity: Floats
    quality: Floats
    local: Floats | None = None
    neighbourhood: Numbers | None = None

    def block(self, users: Integers | slice) -> Floats:
        """Give the preferences of these users for all items, of shape (len(users), n_items)."""
        sides = zip(self.user_factors.T, self.item_factors.T, strict=True)
        tastes = sum(left[users, None] * right for left, right in sides)
        found = self.generosity[users][:, None] + self.quality + tastes
        if self.local is not None and self.neighbourhood is not None:
            found += self.local[users][:, self.neighbourhood]
        return found

    def pairs(self, user: Integers, item: Integers) -> Floats:
        """Give the preference of each user for the item beside it, of shape (len(user),)."""
        found = self.generosity[user] + self.quality[item]
        # One dimension at a time: pairs may be many millions.
        found += sum(
            left[user] * right[item]
            for left, right in zip(self.user_factors.T, self.item_factors.T, strict=True)
        )
        if self.local is not None and self.neighbourhood is not None:
            found += self.local[user, self.neighbourhood[item]]
        return found


@dataclass(frozen=True, eq=False)
class Truth:
    r"""What is true of a world, whether observed or not.

    A rating observed is :math:`1 + \#\{k : x_{ui} + \epsilon \ge c_k\}`, where x is the
    preference, :math:`\epsilon` logistic noise of scale s and c the four cuts between the stars.
    The true rating is its expectation,

    .. math:: t_{ui} = 1 + \sum_{k=1}^4 \frac{1}{1 + \exp((c_k - x_{ui}) / s)},

    a real number between 1 and 5 that rises with preference. On another scale each step counts
    with its width.

    ``users``, ``items``: the ids behind the rows and columns; ``preferences``: the model of who
    likes what; ``popularity``: logarithm of how often an item is met before liking has a say, up to
    a constant; of shape (n_items,); ``cuts``: preferences at which a noiseless rating gains a step
    of the scale, rising; ``noise``: scale of the logistic noise, above 0; ``scale``: the ratings
    there are, rising, one more than there are cuts.
    """

    users: Numbering
    items: Numbering
    preferences: Preferences
    popularity: Floats
    cuts: Floats
    noise: float
    scale: Floats = field(default_factory=ONE_TO_FIVE.copy)

    def ratings(self, users: Integers) -> Floats:
        """Give the true ratings of all items by these users."""
        preferences = self.preferences.block(users)
        steps = zip(self.cuts, np.diff(self.scale), strict=True)
        # The logistic function as a hyperbolic tangent, which cannot overflow.
        reached = (step * np.tanh((preferences - cut) / (2.0 * self.noise)) for cut, step in steps)
        return (self.scale[0] + self.scale[-1]) / 2 + sum(reached) / 2

    def to_bytes(self) -> bytes:
        """Give the content of an uncompressed .npz file; equal truths give equal bytes."""
        stream = BytesIO()
        parts: dict[str, Any] = {
            "users": self.users.ids,
            "items": self.items.ids,
            **{name: part for name, part in vars(self.preferences).items() if part is not None},
            "popularity": self.popularity,
            "cuts": self.cuts,
            "noise": self.noise,
        }
        if not np.array_equal(self.scale, ONE_TO_FIVE):
            parts["scale"] = self.scale
        np.savez(stream, **parts)
        return stream.getvalue()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Truth:
        """Read a file with the content that `to_bytes` gives."""
        errors = BadZipFile, EOFError, KeyError, TypeError, ValueError
        with as_input_error(f"{path} does not hold the truth of a world", *errors):
            with np.load(path) as file:
                stored = dict(file)
            return cls(
                users=Numbering(stored.pop("users")),
                items=Numbering(stored.pop("items")),
                popularity=stored.pop("popularity"),
                cuts=stored.pop("cuts"),
                noise=float(stored.pop("noise")),
                scale=stored.pop("scale", ONE_TO_FIVE),
                preferences=Preferences(**stored),
            )


@dataclass(frozen=True, eq=False)
class Observation:
    """What decides which items a user rates.

    ``preferences``: how much every user likes every item; ``liking``: how strongly being rated
    follows preference; ``known``: how well every user knows every item beside that; popularity is
    its `quality`.
    """

    preferences: Preferences
    liking: float
    known: Preferences

    def block(self, users: Integers | slice) -> Floats:
        """Give logarithms of these users' weights of all items, of shape (len(users), n_items)."""
        return self.known.block(users) + self.liking * self.preferences.block(users)


@dataclass(frozen=True, eq=False)
class World:
    """A log of ratings with the truth beside it.

    ``ratings``: what was observed, with times; ``truth``: what every user thinks of every item;
    ``observation``: what decided which of it was observed.
    """

    ratings: Ratings
    truth: Truth
    observation: Observation


USERS_AT_ONCE = 256
MOST_STEPS = 200
TOLERANCE = 1e-9


def item_propensities(
    truth: Truth,
    observation: Observation,
    users: NDArray[np.str_],
    items: NDArray[np.str_],
    counts: Integers,
    *,
    threshold: float,
) -> Floats:
    r"""Give the chance of every item to be rated, by users to whom it is relevant.

    .. math:: p_i = \frac{\sum_u \mathrm{rel}_{ui} \, \pi_{ui}}{\sum_u \mathrm{rel}_{ui}}

    with :math:`\mathrm{rel}_{ui} = 1` where the true rating reaches the threshold, which is what
    weights of relevant judgements are the inverse of; the mean over all users where the item is
    relevant to none. See `inclusion_probabilities` for :math:`\pi`. That a rating is tested, too,
    has the same chance for all items if the split draws at random; weights that are normalised do
    not need it.
    """
    rows, columns = truth.users.numbers(users), truth.items.numbers(items)
    chances, relevant, n_relevant = np.zeros((3, len(items)))
    for first in range(0, len(users), USERS_AT_ONCE):
        some = slice(first, first + USERS_AT_ONCE)
        drawn = inclusion_probabilities(observation.block(rows[some])[:, columns], counts[some])
        is_relevant = truth.ratings(rows[some])[:, columns] >= threshold
        chances += drawn.sum(axis=0)
        relevant += (drawn * is_relevant).sum(axis=0)
        n_relevant += is_relevant.sum(axis=0)
    known = n_relevant > 0
    means = np.where(known, relevant, chances) / np.where(known, n_relevant, len(users))
    return np.maximum(means, np.finfo(np.float64).tiny)


def inclusion_probabilities(logits: Floats, counts: Integers) -> Floats:
    r"""Give the chance of each item to be among those drawn without replacement.

    Drawing n items one after the other with weights :math:`w` is waiting for the first n of
    exponential clocks of these rates. Up to a moment :math:`\theta` item i has come with the chance

    .. math:: \pi_i = 1 - e^{-\theta w_i}, \qquad \sum_i \pi_i = n

    where the moment is taken that n items are expected at. That is exact for equal weights, and off
    by a few hundredths at worst where few items are drawn.
    """
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    drawn = np.asarray(counts, dtype=np.float64)[:, np.newaxis]
    moment = drawn / weights.sum(axis=1, keepdims=True)
    # The expected count is concave in the moment: Newton's steps come from below.
    for _ in range(MOST_STEPS):
        left = np.exp(-moment * weights)
        missing = drawn - (1.0 - left).sum(axis=1, keepdims=True)
        if (missing <= TOLERANCE).all():
            break
        moment = moment + missing / np.maximum((weights * left).sum(axis=1, keepdims=True), 1e-300)
    return -np.expm1(-moment * weights)
