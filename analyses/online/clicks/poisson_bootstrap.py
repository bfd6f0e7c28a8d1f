"""The Poisson bootstrap over users: how often each would have come again."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runs.shared.streams import random_uniforms

Floats = NDArray[np.float64]

# A weight above 18 has a chance below 2^-53, which no uniform number has.
AT_MOST: Final = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(19)])
"""Chance that a weight is at most 0, 1, 2, ..."""


def poisson_weights(user: NDArray[np.integer], *, replicate: int, seed: int) -> Floats:
    """Draw how often each user occurs in a replicate, from the Poisson distribution of mean 1.

    A weight depends on the seed, the replicate and the number of the user alone: whoever holds some
    of the users, of whichever arm or analysis, draws the same for them.

    Returns
    -------
    Whole numbers, of shape (n,).

    References
    ----------
    Chamandy, Muralidharan, Najmi & Naidu (2012), Estimating uncertainty for massive data streams.

    Examples
    --------
    >>> whole = poisson_weights(np.arange(9), replicate=0, seed=1)
    >>> bool((poisson_weights(np.array([7, 3]), replicate=0, seed=1) == whole[[7, 3]]).all())
    True
    """
    uniforms = random_uniforms(user, seed, "poisson bootstrap", replicate)
    return np.searchsorted(AT_MOST, uniforms, side="right").astype(np.float64)
