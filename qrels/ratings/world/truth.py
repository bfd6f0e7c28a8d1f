"""The truth of a simulated world: preferences, true ratings, and how likely pairs are rated."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
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
    of each item, of shape (n_items,); ``local``: bias of each user towards each neighbourhood of
    items, of shape (n_users, n_neighbourhoods); ``neighbourhood``: the neighbourhood of each item,
    of shape (n_items,). The last two are None where there are no neighbourhoods.
    """

    user_factors: Floats
    item_factors: Floats
    generosity: Floats
    quality: Floats
    local: Floats | None = None
    neighbourhood: Numbers | None = None

    def block(self, users: Integers | slice) -> Floats:
        r"""Compute the preferences of these users for all items, of shape (len(users), n_items).

        A preference is :math:`g_u + q_i + p_u \cdot t_i`: generosity, (n_users,), plus quality,
        (n_items,), plus the product of user and item factors, of shapes (n_users, dimensions) and
        (n_items, dimensions). If there are neighbourhoods of items, the bias ``local`` of the user
        to that of the item, (n_users, n_neighbourhoods), is added.
        """
        dimensions = zip(self.user_factors.T, self.item_factors.T, strict=True)
        tastes = sum(of_users[users, None] * of_items for of_users, of_items in dimensions)
        generosity = self.generosity[users][:, None]
        biases = generosity + self.quality
        preferences = biases + tastes
        if self.local is not None and self.neighbourhood is not None:
            preferences += self.local[users][:, self.neighbourhood]
        return preferences

    def pairs(self, user: Integers, item: Integers) -> Floats:
        r"""Compute the preference of each pair of a user and an item, of shape (n_pairs,).

        ``user`` and ``item`` are numbers, of the same shape. A preference is
        :math:`g_u + q_i + p_u \cdot t_i`: generosity of the user, quality of the item, and the
        product of their factors. If there are neighbourhoods of items, the bias ``local`` of the
        user to that of the item, (n_users, n_neighbourhoods), is added.
        """
        preferences = self.generosity[user] + self.quality[item]
        # One dimension at a time: pairs may be many millions.
        dimensions = zip(self.user_factors.T, self.item_factors.T, strict=True)
        preferences += sum(of_users[user] * of_items[item] for of_users, of_items in dimensions)
        if self.local is not None and self.neighbourhood is not None:
            preferences += self.local[user, self.neighbourhood[item]]
        return preferences


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
        r"""Compute the true ratings of these users for all items, of shape (len(users), n_items).

        .. math:: t_{ui} = r_0 + \sum_k \frac{r_k - r_{k-1}}{1 + \exp((c_k - x_{ui}) / s)}

        with preferences x, the rising ratings r of ``self.scale``, the cuts c between them and the
        scale s of the logistic noise, ``self.noise``.
        """
        preferences = self.preferences.block(users)
        steps = zip(self.cuts, np.diff(self.scale), strict=True)
        # The logistic function as a hyperbolic tangent, which cannot overflow.
        step_terms = (
            step * np.tanh((preferences - cut) / (2.0 * self.noise)) for cut, step in steps
        )
        lowest = self.scale[0]
        highest = self.scale[-1]
        return (lowest + highest) / 2 + sum(step_terms) / 2

    def to_bytes(self) -> bytes:
        """Write the content of an uncompressed .npz file; equal truths give equal bytes.

        It holds the ids of users and items, the arrays of the preferences, popularity, cuts, noise
        and scale. Arrays of neighbourhoods are left out if they are None, the scale if it is 1 to
        5.
        """
        arrays: dict[str, Any] = {"users": self.users.ids, "items": self.items.ids}
        for field_of_preferences in fields(self.preferences):
            array = getattr(self.preferences, field_of_preferences.name)
            if array is not None:
                arrays[field_of_preferences.name] = array
        arrays["popularity"] = self.popularity
        arrays["cuts"] = self.cuts
        arrays["noise"] = self.noise
        if not np.array_equal(self.scale, ONE_TO_FIVE):
            arrays["scale"] = self.scale
        stream = BytesIO()
        np.savez(stream, **arrays)
        return stream.getvalue()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Truth:
        """Read a truth from an .npz file with the content that `to_bytes` writes.

        A scale that is left out is 1 to 5. Raises InputError if the file holds something else.
        """
        with as_input_error(
            f"{path} does not hold the truth of a world",
            BadZipFile,
            EOFError,
            KeyError,
            TypeError,
            ValueError,
        ):
            with np.load(path) as file:
                arrays = dict(file)
            users = Numbering(arrays.pop("users"))
            items = Numbering(arrays.pop("items"))
            popularity = arrays.pop("popularity")
            cuts = arrays.pop("cuts")
            noise = float(arrays.pop("noise"))
            scale = arrays.pop("scale", ONE_TO_FIVE)
            preferences = Preferences(**arrays)
            return cls(users, items, preferences, popularity, cuts, noise, scale)


@dataclass(frozen=True, eq=False)
class Observation:
    """What decides which items a user rates.

    ``preferences``: how much every user likes every item; ``liking``: how strongly being rated
    follows preference; ``familiarity``: how well every user knows every item beside that, in the
    same form; the popularity of items is its `quality`.
    """

    preferences: Preferences
    liking: float
    familiarity: Preferences

    def block(self, users: Integers | slice) -> Floats:
        """Compute the logarithm of the weight with which these users rate each item.

        The result is of shape (len(users), n_items).
        """
        preferences = self.preferences.block(users)
        return self.familiarity.block(users) + self.liking * preferences


@dataclass(frozen=True, eq=False)
class World:
    """A log of ratings with the truth beside it.

    ``ratings``: what was observed, with times; ``truth``: how every user would rate every item;
    ``observation``: what decided which of these ratings were observed.
    """

    ratings: Ratings
    truth: Truth
    observation: Observation


USERS_AT_ONCE = 256
MAX_STEPS = 200
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
    r"""Compute the probability of every item to be rated, by users to whom it is relevant.

    .. math:: p_i = \frac{\sum_u \mathrm{rel}_{ui} \, \pi_{ui}}{\sum_u \mathrm{rel}_{ui}}

    with :math:`\mathrm{rel}_{ui} = 1` where the true rating reaches the threshold, which is what
    weights of relevant judgements are the inverse of; the mean over all users where the item is
    relevant to none. See `inclusion_probabilities` for :math:`\pi`. That a rating is tested, too,
    has the same probability for all items if the split draws at random; weights that are normalised
    do not need it.

    Parameters
    ----------
    truth, observation
        Those of one world.
    users, items
        Ids of users and items of the world, of shapes (n_users,) and (n_items,).
    counts
        Number of ratings of each of these users, of shape (n_users,).
    threshold
        Lowest true rating that is relevant.

    Returns
    -------
    Probabilities above 0, of shape (n_items,).

    Raises
    ------
    ValueError
        If there are not as many counts as users.
    """
    if len(counts) != len(users):
        raise ValueError(
            f"there must be a number of ratings for each of the {len(users)} users, got "
            f"{len(counts)}."
        )
    rows = truth.users.numbers(users)
    columns = truth.items.numbers(items)
    sums = np.zeros(len(items))
    relevant_sums = np.zeros(len(items))
    n_relevant = np.zeros(len(items))
    for first in range(0, len(users), USERS_AT_ONCE):
        block = slice(first, first + USERS_AT_ONCE)
        logits = observation.block(rows[block])[:, columns]
        probabilities = inclusion_probabilities(logits, counts[block])
        true_ratings = truth.ratings(rows[block])[:, columns]
        is_relevant = true_ratings >= threshold
        sums += probabilities.sum(axis=0)
        relevant_sums += (probabilities * is_relevant).sum(axis=0)
        n_relevant += is_relevant.sum(axis=0)
    has_relevant = n_relevant > 0
    numerators = np.where(has_relevant, relevant_sums, sums)
    denominators = np.where(has_relevant, n_relevant, len(users))
    smallest = np.finfo(np.float64).tiny
    return np.maximum(numerators / denominators, smallest)


def inclusion_probabilities(logits: Floats, counts: Integers) -> Floats:
    r"""Compute the probability of each item to be among those drawn without replacement.

    Drawing n items one after the other with weights :math:`w` is waiting for the first n of
    exponential clocks of these rates. Up to a moment :math:`\theta` item i has come with the
    probability

    .. math:: \pi_i = 1 - e^{-\theta w_i}, \qquad \sum_i \pi_i = n

    where the moment is taken that n items are expected at. That is exact for equal weights, and off
    by a few hundredths at worst where few items are drawn.

    Parameters
    ----------
    logits
        Logarithms of the weights, of shape (n_users, n_items).
    counts
        Number of items that each user draws, of shape (n_users,), at most n_items.

    Returns
    -------
    Probabilities of shape (n_users, n_items).
    """
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    n_drawn = np.asarray(counts, dtype=np.float64)[:, np.newaxis]
    moment = n_drawn / weights.sum(axis=1, keepdims=True)
    # The expected count is concave in the moment: Newton's steps come from below.
    for _ in range(MAX_STEPS):
        remaining = np.exp(-moment * weights)
        n_missing = n_drawn - (1.0 - remaining).sum(axis=1, keepdims=True)
        if (n_missing <= TOLERANCE).all():
            break
        slope = (weights * remaining).sum(axis=1, keepdims=True)
        moment = moment + n_missing / np.maximum(slope, 1e-300)
    return -np.expm1(-moment * weights)
