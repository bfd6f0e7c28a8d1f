"""Estimates from the most likely distribution of ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.shared.cells import Cells
from analyses.sampled.estimators.shared.estimator import Estimator
from runs import InputError


@dataclass(frozen=True)
class MaximumLikelihood(Estimator):
    r"""The mean metric over the rank distribution that EM finds in so many iterations.

    Where users have several relevant items, it is the mean over the items of the metric expected
    given the sample, as in one iteration more.

    Parameters
    ----------
    iters
        Iterations of EM from a uniform distribution. They are part of the estimator: stopping
        early smooths, and errors grow with many.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, eq. 12.

    Examples
    --------
    >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
    >>> sample = SampledRanks.of([1, 1, 1, 1, 1, 2, 2, 2, 3, 3], n_negatives=2, n_candidates=5)
    >>> (MaximumLikelihood(iters=1).fit(sample).estimate("Recall@1") * 15).round(9)
    array([4.])
    """

    iters: int = 100

    label = "MLE"
    linear = False
    one_size = False

    def __post_init__(self) -> None:
        if self.iters < 1:
            raise InputError(f"`iters` must be at least 1, got {self.iters}.")

    def learn(self, cells: Cells) -> NDArray[np.float64]:
        """Run EM."""
        return cells.most_likely(self.iters)


@dataclass(frozen=True)
class AdaptiveMaximumLikelihood(MaximumLikelihood):
    """MLE as it is used on adaptive samples, where 50 iterations are customary.

    That samples grow until they are large enough does not bias the likelihood: Li et al. (2023),
    Algorithm 1, eq. 21 and 22.
    """

    iters: int = 50

    label = "AdaptiveMLE"
