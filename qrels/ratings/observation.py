"""The chance that a pair of user and item is rated in a simulated world."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.world import Observation, Truth

USERS_AT_ONCE = 256
MOST_STEPS = 200
TOLERANCE = 1e-9


def item_propensities(
    truth: Truth,
    observation: Observation,
    users: NDArray[np.str_],
    items: NDArray[np.str_],
    counts: NDArray[np.integer],
    *,
    threshold: float,
) -> NDArray[np.float64]:
    r"""Give the chance of every item to be rated, by users to whom it is relevant.

    .. math:: p_i = \frac{\sum_u \mathrm{rel}_{ui} \, \pi_{ui}}{\sum_u \mathrm{rel}_{ui}}

    with :math:`\mathrm{rel}_{ui} = 1` where the true rating reaches the threshold, which is what
    weights of relevant judgements are the inverse of; the mean over all users where the item is
    relevant to none. See `inclusion` for :math:`\pi`. That a rating is tested, too, has the same
    chance for all items if the split draws at random; weights that are normalised do not need it.

    Parameters
    ----------
    truth, observation
        A world, and what decides which items are rated.
    users, items
        Ids of those of its users and items that are wanted.
    counts
        How many of these items each of these users rated, of shape (n_users,).
    threshold
        Lowest true rating that is relevant.

    Returns
    -------
    In (0, 1], of shape (n_items,).
    """
    rows, columns = truth.users.numbers(users), truth.items.numbers(items)
    chances, relevant, n_relevant = np.zeros((3, len(items)))
    for first in range(0, len(users), USERS_AT_ONCE):
        some = slice(first, first + USERS_AT_ONCE)
        drawn = inclusion(observation.block(rows[some])[:, columns], counts[some])
        is_relevant = truth.ratings(rows[some])[:, columns] >= threshold
        chances += drawn.sum(axis=0)
        relevant += (drawn * is_relevant).sum(axis=0)
        n_relevant += is_relevant.sum(axis=0)
    known = n_relevant > 0
    means = np.where(known, relevant, chances) / np.where(known, n_relevant, len(users))
    return np.maximum(means, np.finfo(np.float64).tiny)


def inclusion(logits: NDArray[np.float64], counts: NDArray[np.integer]) -> NDArray[np.float64]:
    r"""Give the chance of each item to be among those drawn without replacement.

    Drawing n items one after the other with weights :math:`w` is waiting for the first n of
    exponential clocks of these rates. Up to a moment :math:`\theta` item i has come with the chance

    .. math:: \pi_i = 1 - e^{-\theta w_i}, \qquad \sum_i \pi_i = n

    where the moment is taken that n items are expected at. That is exact for equal weights, and off
    by a few hundredths at worst where few items are drawn.

    Parameters
    ----------
    logits
        Logarithms of the weights, of shape (n_users, n_items).
    counts
        Items that each user draws, of shape (n_users,).

    Returns
    -------
    Chances of shape (n_users, n_items), whose sum is the count of the user.

    Examples
    --------
    >>> inclusion(np.log([[1.0, 1.0, 1.0, 1.0]]), np.array([3])).round(3)
    array([[0.75, 0.75, 0.75, 0.75]])
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
