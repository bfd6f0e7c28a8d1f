"""Least squares without a penalty: a warning example."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from analyses.sampled.estimators.shared.cells import Cells
from analyses.sampled.estimators.shared.equations import Equations
from analyses.sampled.estimators.shared.estimator import Estimator
from runs import InputError
from runs.shared.errors import InputWarning


@dataclass(frozen=True)
class LeastSquares(Estimator):
    r"""The values of least bias, :math:`\min_v \sum_r p(r) ((Pv)(r) - M(r))^2`, p uniform.

    They cannot be computed from more than a few dozen negatives: of the directions that v may take
    for m = 100, 42 change expectations by less than double precision can tell, and what is divided
    by that has values of 10^7 and more. A pseudo-inverse is taken, and a warning given.

    Parameters
    ----------
    rcond
        Directions weaker than this part of the strongest are left out.

    References
    ----------
    Krichene & Rendle (2020), On sampled metrics for item recommendation, eq. 21 and 22.

    Examples
    --------
    >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
    >>> sample = SampledRanks.of([1], n_negatives=2, n_candidates=5)
    >>> (LeastSquares().fit(sample).corrected("Recall@1") * 35).round(6)
    array([ 31., -23.,   3.])
    """

    rcond: float = 1e-10

    label = "LS"

    def __post_init__(self) -> None:
        if not 0 < self.rcond < 1:
            raise InputError(f"`rcond` must lie between 0 and 1, got {self.rcond:g}.")

    def check(self, cells: Cells) -> None:
        """Warn of samples from which the weakest direction is left out, if ranks are many."""
        super().check(cells)
        m = cells.groups[0].n_negatives
        if 2 * gammaln(m + 1) + np.log(m + 1) - gammaln(2 * m + 2) < np.log(self.rcond):
            warnings.warn(
                f"least squares cannot be computed from {m} negatives: directions were left out; "
                "use bv or cls.",
                InputWarning,
                stacklevel=2,
            )

    def correct(self, at: Equations) -> NDArray[np.float64]:
        """Solve on the directions that are strong enough."""
        strengths, directions = np.linalg.eigh(at.gram)
        kept = strengths > self.rcond * strengths.max()
        shares = (directions[:, kept].T @ at.products) / strengths[kept, np.newaxis]
        return np.asarray(directions[:, kept] @ shares)
