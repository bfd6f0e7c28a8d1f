"""No correction: the metric of the sampled ranks, which is what most studies report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.shared.equations import Equations
from analyses.sampled.estimators.shared.estimator import Estimator


@dataclass(frozen=True)
class Uncorrected(Estimator):
    r"""The sampled metric itself, :math:`v(t) = M(t)` in a list of m + 1 items.

    References
    ----------
    Krichene & Rendle (2020), On sampled metrics for item recommendation, eq. 16.

    Examples
    --------
    Two of three users find their item above both sampled ones:

    >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
    >>> sample = SampledRanks.of([1, 1, 3], n_negatives=2, n_candidates=5)
    >>> Uncorrected().fit(sample).estimate("Recall@1").round(3)
    array([0.667])
    """

    label = "Uncorrected"
    sums_ranks = False

    def correct(self, at: Equations) -> NDArray[np.float64]:
        """Give the metric of each sampled rank."""
        n_negatives = at.group.n_negatives
        return at.metrics(np.arange(n_negatives + 1), n_negatives)
