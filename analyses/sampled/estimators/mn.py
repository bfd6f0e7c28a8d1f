"""The trade of bias for the variance of multinomial counts, by Li et al."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.estimator import Estimator, Problem
from analyses.sampled.estimators.learned_priors import canonical_prior, learn_prior
from analyses.sampled.estimators.linear import multinomial
from analyses.sampled.estimators.tally import Tally


@dataclass(frozen=True)
class Multinomial(Estimator):
    r"""The values of least squared bias plus a bound on the variance, for U users.

    .. math:: v = (P'DP - P'P / U + L_1 / U)^{-1} P'Db

    with :math:`L_1` the column sums of P. With a uniform prior it is BV(n / U).

    Parameters
    ----------
    prior
        As of BV.

    Raises
    ------
    InputError
        If the prior is unknown.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, eq. 11.

    Examples
    --------
    Ten users, twice as many as candidates:

    >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
    >>> sample = SampledRanks.of([1] * 10, n_negatives=2, n_candidates=5)
    >>> (Multinomial(prior="uniform").fit(sample).corrected("Recall@1") * 925).round(9)
    array([ 581., -115.,  -11.])
    """

    prior: str = "mle"

    label = "MN"

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", canonical_prior(self.prior))

    def learn(self, tally: Tally, *, first_only: bool = False) -> NDArray[np.float64] | None:
        """Learn the prior."""
        return learn_prior(self.prior, tally, first_only=first_only)

    def corrections(self, problem: Problem) -> Iterator[NDArray[np.float64]]:
        """Solve for each prior."""
        group = problem.group
        sums = group.weights @ group.table
        for gram, mass in zip(group.grams(problem.masses), problem.masses.T, strict=True):
            yield multinomial(
                gram,
                group.unweighted_gram,
                sums,
                group.table * mass[:, np.newaxis],
                problem.targets,
                n_users=problem.n_users,
            )
