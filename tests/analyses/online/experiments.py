"""Simulated experiments whose truth is known."""

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.tallies import Tallies, tally


def simulated(
    rng: np.random.Generator, *, rates: NDArray[np.float64], n_users: int, spread: float = 10.0
) -> Tallies:
    """Users of one arm each, with a rate and a number of lists of their own.

    Numbers and rates of users are independent, so that arms' rates are means of users' rates.
    """
    arm = np.arange(n_users) % len(rates)
    own = rng.beta(rates[arm] * spread, (1 - rates[arm]) * spread)
    n_slates = rng.geometric(0.2, n_users)
    user = np.repeat(np.arange(n_users), n_slates)
    accepted = rng.random(len(user)) < own[user]
    names = [chr(ord("A") + number) for number in range(len(rates))]
    return tally(accepted, user=user, arm=arm[user], arms=names)
