"""Simulated populations of users whose truth is known, and sets of users drawn from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from runs.shared.streams import random_words

Floats = NDArray[np.float64]
Pair = tuple[Floats, float]

LATTICE_SCALE = 5


def uniforms(shape: tuple[int, ...], *key: int | str) -> Floats:
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
) -> Floats:
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
    population: Floats, *, n_systems: int, n_users: int, seed: int, number: int
) -> Floats:
    """Draw a set as `sampled_set` does, and deal each user's scores out to the systems at random.

    For it the null hypothesis holds exactly: all orders of a user's scores were equally likely.
    """
    chosen = sampled_set(population, n_systems=n_systems, n_users=n_users, seed=seed, number=number)
    order = uniforms(chosen.shape, seed, number, "order").argsort(axis=0)
    return np.take_along_axis(chosen, order, axis=0)


def sampled_set(
    population: Floats, *, n_systems: int, n_users: int, seed: int, number: int
) -> Floats:
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


@dataclass(frozen=True, eq=False)
class Population:
    """Scores to draw users from.

    Parameters
    ----------
    label
        Name in the results.
    scores
        Of shape (n_systems, n_population_users), two systems at least.
    continuous
        Whether differences hardly ever tie: then permutation tests must not err too seldom
        either.
    """

    label: str
    scores: Floats
    continuous: bool

    @cached_property
    def margins(self) -> Floats:
        """Scores of every system in rising order."""
        return np.sort(self.scores, axis=1)

    @cached_property
    def relations(self) -> Floats:
        """Correlations of the systems' normal scores, of shape (n_systems, n_systems)."""
        ranks = rankdata(self.scores, axis=1)
        normal = ndtri((ranks - 0.5) / ranks.shape[1])
        spreads = np.sqrt((normal**2).sum(axis=1))
        scaled = normal / np.where(spreads > 0, spreads, 1.0)[:, np.newaxis]
        return np.clip(scaled @ scaled.T, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Draw:
    """Users of a set, drawn for one purpose after the other, and what their tests draw."""

    population: Population
    n_users: int
    seed: int
    draws: int

    def alike(self, n_systems: int, *, number: int) -> Floats:
        """Draw users for systems of which none is better: scores (n_systems, n_users)."""
        scores = self.population.scores
        n_systems = min(n_systems, len(scores))
        return exchangeable_set(
            scores, n_systems=n_systems, n_users=self.n_users, seed=self.seed, number=number
        )

    def pair(self, *, number: int) -> Pair:
        """Draw users for two systems as they are: scores (2, n_users), true mean difference."""
        scores = self.population.scores
        drawn = sampled_set(
            scores, n_systems=2, n_users=self.n_users, seed=self.seed, number=number
        )
        return drawn, self._truth(scores, number=number)

    def simulated_pair(self, *, number: int, equal_margins: bool) -> Pair:
        r"""Simulate users for two systems: scores (2, n_users), true mean difference.

        A Gaussian copula has the correlation :math:`\rho` of the systems' normal scores; their
        margins are those of the population, or both that of the first,

        .. math:: x_s = F_s^{-1}(\Phi(z_s)), \qquad z \sim N(0, (1, \rho; \rho, 1)) .

        References
        ----------
        Urbano, Lima & Hanjalic (2019), Statistical significance testing in information retrieval.
        """
        margins = self.population.margins
        systems = sampled_systems(len(margins), 2, seed=self.seed, number=number)
        first, other = ndtri(uniforms((2, self.n_users), self.seed, number, "copula") + 2.0**-54)
        relation = self.population.relations[tuple(systems)]
        second = relation * first + np.sqrt(1 - relation**2) * other
        places = (ndtr(np.stack([first, second])) * margins.shape[1]).astype(np.intp)
        rows = systems[[0, 0]] if equal_margins else systems
        scores = margins[rows[:, np.newaxis], np.minimum(places, margins.shape[1] - 1)]
        return scores, 0.0 if equal_margins else self._truth(margins, number=number)

    def _truth(self, scores: Floats, *, number: int) -> float:
        systems = sampled_systems(len(scores), 2, seed=self.seed, number=number)
        means = scores[systems].mean(axis=1)
        return float(means[0] - means[1])
