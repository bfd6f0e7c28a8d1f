"""The trade of bias for the variance of multinomial counts, by Li et al."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.learned_priors import WithPrior
from analyses.sampled.estimators.shared.equations import Equations

UNREACHED = 1e-14
"""Part of the largest diagonal element under which one is 0 but for rounding."""


@dataclass(frozen=True)
class Multinomial(WithPrior):
    r"""The values of least squared bias plus a bound on the variance, for U users.

    .. math:: v = (P'DP - P'P / U + L_1 / U)^{-1} P'Db

    with :math:`L_1` the column sums of P. With a uniform prior it is BV(n / U).

    Parameters
    ----------
    prior
        As of BV.

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

    def correct(self, at: Equations) -> NDArray[np.float64]:
        """Solve, with rows and columns divided by the roots of the diagonal."""
        every = at.group.table * (at.group.nodes.weights / at.n_users)[:, np.newaxis]
        matrix = at.gram - every.T @ at.group.table
        matrix[np.diag_indices_from(matrix)] += every.sum(axis=0)
        sizes = np.diag(matrix)
        # A cell that neither the prior nor the penalty reaches has no value but 0.
        scales = 1 / np.sqrt(np.maximum(sizes, UNREACHED * sizes.max()))
        scaled = scales[:, np.newaxis] * matrix * scales
        np.fill_diagonal(scaled, 1.0)
        return at.solve(scaled, scales)
