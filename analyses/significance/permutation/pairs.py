"""Pairs of systems, and the sums over users that their tests need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# Beyond this many standard deviations a sum of random signs is met with probability below 2e-16.
REACH = 8.6


def pair_indices(n_systems: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the unordered pairs of systems (i, j) with i < j, first by i, then by j."""
    first, second = np.triu_indices(n_systems, k=1)
    return first, second


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over the users' differences d of each pair of systems.

    Of shape (n_pairs,) are the number of users with d != 0, the totals, absolute values of the sum
    of d, which are the test statistic t, and the largest absolute d; powers, of shape (n_pairs,
    n_powers), are the sums of d^2, d^4, d^6, ...
    """

    n_differing: NDArray[np.intp]
    totals: NDArray[np.float64]
    largest: NDArray[np.float64]
    powers: NDArray[np.float64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], *, n_powers: int) -> PairSums:
        """Sum over users, in a fixed order, for all pairs of scores (n_systems, n_users)."""
        rows = [_sum_differences(scores[i] - scores[i + 1 :], n_powers) for i in range(len(scores))]
        return cls(*(np.concatenate(column) for column in zip(*rows, strict=True)))

    def select(self, kept: NDArray[np.intp]) -> PairSums:
        """Keep some pairs."""
        return PairSums(
            self.n_differing[kept], self.totals[kept], self.largest[kept], self.powers[kept]
        )

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """Standard deviation of the sum under random signs: sigma, of shape (n_pairs,)."""
        return np.sqrt(self.powers[:, 0])

    @cached_property
    def standardised(self) -> NDArray[np.float64]:
        """Test statistic in standard deviations: z = t / sigma, 0 where all d are 0."""
        return np.divide(
            self.totals, self.deviations, out=np.zeros(len(self.totals)), where=self.deviations > 0
        )

    @property
    def lower_bounds(self) -> NDArray[np.float64]:
        """The observed signs and their mirror image always count: p >= 2^(1 - n)."""
        bounds = np.ldexp(1.0, 1 - np.maximum(self.n_differing, 1))
        return np.maximum(bounds, np.finfo(np.float64).tiny)

    @property
    def upper_bounds(self) -> NDArray[np.float64]:
        """Hoeffding (1963): p <= 2 exp(-z^2 / 2); never 0, even where it underflows."""
        bounds = 2 * np.exp(-0.5 * self.standardised**2)
        return np.clip(bounds, np.finfo(np.float64).tiny, 1.0)


def _sum_differences(
    differences: NDArray[np.float64], n_powers: int
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    squares = differences * differences
    powers = np.empty((len(differences), n_powers))
    product = squares.copy()
    for order in range(n_powers):
        powers[:, order] = product.sum(axis=1)
        product *= squares
    return (
        np.count_nonzero(differences, axis=1),
        np.abs(differences.sum(axis=1)),
        np.abs(differences).max(axis=1, initial=0.0),
        powers,
    )
