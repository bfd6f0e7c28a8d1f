"""The trade of bias for variance, by Krichene & Rendle."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.learned_priors import WithPrior
from analyses.sampled.estimators.shared.equations import Equations
from runs import InputError
from runs.shared.errors import InputWarning

LEAST_GAMMA = 1e-6
"""Weights of the variance below it leave so much of it that no sample is large enough."""


@dataclass(frozen=True)
class BiasVariance(WithPrior):
    r"""The values of least squared bias plus variance, weighed by gamma.

    .. math:: v = ((1 - \gamma) P'DP + \gamma\, \mathrm{diag}(c))^{-1} P'Db

    Parameters
    ----------
    gamma
        Weight of the variance, above 0; 1 gives the posterior mean.
    prior
        Ranks that the bias is averaged over: ``"uniform"``, what the sample suggests by ``"mle"``
        or ``"mes"``, or, with ``"pooled:"`` before them, the mean over all repeats, which a
        practitioner does not have. ``"mle@200"`` asks for another number of iterations than 100.

    References
    ----------
    Krichene & Rendle (2020), On sampled metrics for item recommendation, eq. 24 to 26; Li et al.
    (2023), Towards reliable item sampling for recommendation evaluation, eq. 15, for the priors.

    Examples
    --------
    >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
    >>> sample = SampledRanks.of([1], n_negatives=2, n_candidates=5)
    >>> fitted = BiasVariance(gamma=1.0).fit(sample)
    >>> fitted.corrected("Recall@1").round(9)
    array([0.53333333, 0.        , 0.        ])
    """

    gamma: float
    prior: str = "uniform"

    label = "BV"

    def __post_init__(self) -> None:
        if not 0 < self.gamma <= 1:
            raise InputError(f"`gamma` must be above 0 and at most 1, got {self.gamma:g}.")
        if self.gamma < LEAST_GAMMA:
            warnings.warn(
                f"`gamma` of {self.gamma:g} hardly limits the variance of the estimate.",
                InputWarning,
                stacklevel=3,
            )
        super().__post_init__()

    def correct(self, at: Equations) -> NDArray[np.float64]:
        """Solve, with rows and columns divided by sqrt(c): the condition number is 1 / gamma."""
        scales = 1 / np.sqrt(at.reached)
        matrix = (1 - self.gamma) * scales[:, np.newaxis] * at.gram * scales
        matrix[np.diag_indices_from(matrix)] += self.gamma
        return at.solve(matrix, scales)
