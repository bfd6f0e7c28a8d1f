"""Scores to draw users from: as they are, or by copulas of any two systems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analyses.significance.null_sets import (
    exchangeable_set,
    sampled_set,
    sampled_systems,
    uniforms,
)

Floats = NDArray[np.float64]
Pair = tuple[Floats, float]


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
    n_users
        Number of users to draw, unless one is asked for.
    """

    label: str
    scores: Floats
    continuous: bool
    n_users: int

    @cached_property
    def margins(self) -> Floats:
        """Scores of every system in rising order."""
        return np.sort(self.scores, axis=1)

    @cached_property
    def relations(self) -> Floats:
        """Correlations of the systems' normal scores, of shape (n_systems, n_systems)."""
        from scipy.special import ndtri
        from scipy.stats import rankdata

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
        from scipy.special import ndtr, ndtri

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
