"""The trade of bias for the variance of multinomial counts, by Li et al."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.learned_priors import WithPrior
from analyses.sampled.estimators.shared.estimator import Problem
from analyses.sampled.estimators.shared.linear import multinomial


@dataclass(frozen=True)
class Multinomial(WithPrior):
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

    def corrections(self, problem: Problem) -> Iterator[NDArray[np.float64]]:
        """Solve for each prior."""
        group = problem.group
        square, sums = group.unweighted_gram / problem.n_users, group.weights @ group.table
        for gram, weighted in problem.weighted():
            yield multinomial(
                gram, weighted, problem.targets, square=square, sums=sums / problem.n_users
            )
