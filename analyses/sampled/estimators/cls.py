"""Least squares under the condition that better sampled ranks are worth more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.shared.estimator import Estimator, Problem
from analyses.sampled.estimators.shared.linear import monotone_least_squares


@dataclass(frozen=True)
class ConstrainedLeastSquares(Estimator):
    r"""The values of least bias that never rise with the sampled rank.

    :math:`\min_v \sum_r p(r) ((Pv)(r) - M(r))^2` with :math:`v(1) \ge v(2) \ge \ldots`, p uniform.

    Parameters
    ----------
    nonnegative
        Whether values may not be negative either; Krichene & Rendle's printed Table 3 fits only
        with it.

    References
    ----------
    Krichene & Rendle (2020), On sampled metrics for item recommendation, 5.2.

    Examples
    --------
    >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
    >>> sample = SampledRanks.of([1], n_negatives=2, n_candidates=5)
    >>> estimator = ConstrainedLeastSquares(nonnegative=True)
    >>> (estimator.fit(sample).corrected("Recall@1") * 177).round(9)
    array([128.,   0.,   0.])
    """

    nonnegative: bool = False

    label = "CLS"

    def corrections(self, problem: Problem) -> Iterator[NDArray[np.float64]]:
        """Solve for one metric after the other."""
        for gram, weighted in problem.weighted():
            columns = [
                monotone_least_squares(gram, column, nonnegative=self.nonnegative)
                for column in (weighted.T @ problem.targets).T
            ]
            yield np.stack(columns, axis=1)
