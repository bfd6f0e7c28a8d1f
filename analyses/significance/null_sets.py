"""Sets of scores of which the truth is known, drawn from a population of users."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.shared.streams import random_words

LATTICE_SCALE = 5


def uniforms(shape: tuple[int, ...], *key: int | str) -> NDArray[np.float64]:
    """Draw numbers in [0, 1) from the stream of a key.

    Examples
    --------
    >>> uniforms((2, 3), 42, "users").shape
    (2, 3)
    """
    words = random_words(int(np.prod(shape)), *key)
    return np.ldexp((words >> np.uint64(11)).astype(np.float64), -53).reshape(shape)


def simulated_population(
    kind: str, *, n_systems: int = 6, n_users: int = 20_000, seed: int
) -> NDArray[np.float64]:
    """Make skewed scores of users who are served well or badly by all systems alike.

    User u has a skill, uniform in [0, 1), and system s an exponent, 1 to 2.

    Continuous ones are the skill times a uniform number, to the power of the exponent; on a lattice
    they are the share of 5 tries that succeed, each with the chance skill^exponent: what P@5 may
    be.

    Returns
    -------
    Scores in [0, 1], of shape (n_systems, n_users).

    Examples
    --------
    >>> scores = simulated_population("lattice", n_users=100, seed=1)
    >>> bool((scores * 5 == np.rint(scores * 5)).all())
    True
    """
    skills = uniforms((n_users,), seed, kind, "skills")
    powers = np.linspace(1, 2, n_systems)[:, np.newaxis]
    shape = (n_systems, n_users)
    if kind == "continuous":
        return (skills * uniforms(shape, seed, kind, "scores")) ** powers
    tries = uniforms((LATTICE_SCALE, *shape), seed, kind, "tries")
    return np.asarray((tries < skills**powers).sum(axis=0) / LATTICE_SCALE)


def exchangeable_set(
    population: NDArray[np.float64], *, n_systems: int, n_users: int, seed: int, number: int
) -> NDArray[np.float64]:
    """Draw a set as `sampled_set` does, and deal each user's scores out to the systems at random.

    For it the null hypothesis holds exactly: all orders of a user's scores were equally likely.
    """
    chosen = sampled_set(population, n_systems=n_systems, n_users=n_users, seed=seed, number=number)
    order = uniforms(chosen.shape, seed, number, "order").argsort(axis=0)
    return np.take_along_axis(chosen, order, axis=0)


def sampled_set(
    population: NDArray[np.float64], *, n_systems: int, n_users: int, seed: int, number: int
) -> NDArray[np.float64]:
    """Draw users with replacement: scores (n_systems, n_users) of systems chosen at random.

    The population is of shape (all systems, all users); seed and number are the key of the set.
    """
    systems = sampled_systems(len(population), n_systems, seed=seed, number=number)
    draws = uniforms((n_users,), seed, number, "users")
    users = (draws * population.shape[1]).astype(np.intp)
    return population[systems[:, np.newaxis], users]


def sampled_systems(n_all: int, n_systems: int, *, seed: int, number: int) -> NDArray[np.intp]:
    """Choose systems of a set, in random order."""
    return uniforms((n_all,), seed, number, "systems").argsort()[:n_systems]
