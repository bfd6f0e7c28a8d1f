"""The power of the permutation test, counted where differences are drawn from those of a pilot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.significance.permutation import exact_test, monte_carlo_test
from runs.shared.streams import random_uniforms

PERMUTATIONS = 999
"""Of a set for which no exact method is safe."""


def simulated_power(
    differences: NDArray[np.float64],
    *,
    mean: float,
    n_users: int,
    alpha: float,
    draws: int,
    seed: int,
) -> float:
    """Draw users with replacement, and count how often the exact permutation test finds the mean.

    The differences (n_pilot,) of the pilot are shifted to the mean. Draw k depends on (seed, k) and
    the numbers of users alone.

    Examples
    --------
    >>> differences = np.array([-1.0, 0.0, 1.0, 2.0])
    >>> simulated_power(differences, mean=0.5, n_users=20, alpha=0.05, draws=50, seed=0)
    0.36
    """
    shifted = differences + (mean - differences.mean())
    places = np.arange(n_users)
    found = 0
    for draw in range(draws):
        uniforms = random_uniforms(places, seed, "design", n_users, draw)
        drawn = shifted[(uniforms * len(shifted)).astype(np.intp)]
        found += _is_found(drawn, alpha, seed)
    return found / draws


def _is_found(differences: NDArray[np.float64], alpha: float, seed: int) -> bool:
    # Hoeffding's bound of p spares half of the tests where power is high.
    squared = differences.sum() ** 2
    if squared >= 2 * np.log(2 / alpha) * (differences @ differences) > 0:
        return True
    scores = np.stack([differences, np.zeros(len(differences))])
    p = float(exact_test(scores).p[0])
    if np.isnan(p):
        p = float(monte_carlo_test(scores[None], permutations=PERMUTATIONS, seed=seed)[0, 0])
    return p <= alpha
