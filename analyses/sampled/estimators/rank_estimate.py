"""The metric of the rank that the sampled rank suggests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.shared.equations import Equations
from analyses.sampled.estimators.shared.estimator import Estimator
from runs import InputError

MODES = ("floor", "round", "linear")
DENOMINATORS = ("m", "m+1")


@dataclass(frozen=True)
class RankEstimate(Estimator):
    r"""The metric of the estimated rank, :math:`v(t) = M(1 + (n - 1)(t - 1) / d)`.

    Parameters
    ----------
    mode
        What is made of ranks between whole ones: ``"floor"`` as Krichene & Rendle, ``"round"``
        (halves down the list) or ``"linear"``, interpolation of the metric.
    denominator
        d: ``"m"`` makes an unbiased estimate of the rank; ``"m+1"`` fits the numbers that
        Krichene & Rendle printed in their Table 3.

    References
    ----------
    Krichene & Rendle (2020), On sampled metrics for item recommendation, eq. 20.

    Examples
    --------
    With two negatives among four, an item below one of them has an estimated rank of 3:

    >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
    >>> sample = SampledRanks.of([2], n_negatives=2, n_candidates=5)
    >>> RankEstimate().fit(sample).estimate("AP").round(9)
    array([0.33333333])
    """

    mode: str = "floor"
    denominator: str = "m"

    label = "RankEstimate"
    sums_ranks = False

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"`mode` must be floor, round or linear, got {self.mode!r}.")
        if self.denominator not in DENOMINATORS:
            raise InputError(f"`denominator` must be m or m+1, got {self.denominator!r}.")

    def correct(self, at: Equations) -> NDArray[np.float64]:
        """Give the metric of each estimated rank, found with whole numbers."""
        m, others = at.group.n_negatives, at.group.nodes.n_irrelevant
        divisor = m + (self.denominator == "m+1")
        products = others * np.arange(m + 1)
        if self.mode == "round":
            return at.metrics((2 * products + divisor) // (2 * divisor), others)
        floors, rests = np.divmod(products, divisor)
        values = at.metrics(floors, others)
        if self.mode == "floor":
            return values
        shares = (rests / divisor)[:, np.newaxis]
        return (1 - shares) * values + shares * at.metrics(floors + (rests > 0), others)
