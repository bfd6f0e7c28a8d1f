"""Least squares under the condition that better sampled ranks are worth more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.shared.equations import Equations
from analyses.sampled.estimators.shared.estimator import Estimator

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConstrainedLeastSquares(Estimator):
    r"""The values of least bias that never rise with the sampled rank.

    :math:`\min_v \sum_r p(r) ((Pv)(r) - M(r))^2` with :math:`v(1) \ge v(2) \ge \ldots`, p uniform.
    With :math:`v(t) = c_0 + \sum_{j \ge t} d_j` these are non-negative least squares on the
    increments d, and not isotonic regression, for there is a design matrix.

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

    def correct(self, at: Equations) -> Floats:
        """Solve for one metric after the other."""
        roots = np.sqrt(at.mass)[:, np.newaxis]
        turned, design = np.linalg.qr(roots * at.group.table.cumsum(axis=1))
        targets = turned.T @ (roots * at.exact())
        solved = [falling_least_squares(design, b, free=not self.nonnegative) for b in targets.T]
        return np.stack(solved, axis=1)


def falling_least_squares(design: Floats, targets: Floats, *, free: bool) -> Floats:
    """Fit targets, (n,), with the sums of increments from each on: (n_columns,).

    The last increment, which all sums have, is free to be negative, or it is not.

    Examples
    --------
    >>> falling_least_squares(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([0.0, 1.0]), free=True)
    array([0.5, 0.5])
    """
    from scipy.optimize import nnls

    last = design[:, -1:] / np.linalg.norm(design[:, -1])
    # What a free constant explains is taken out of the others.
    others = design[:, :-1] - last @ (last.T @ design[:, :-1]) if free else design
    scales = 1 / np.maximum(np.linalg.norm(others, axis=0), np.finfo(float).tiny)
    steps = scales * nnls(others * scales, targets - free * last[:, 0] * (last[:, 0] @ targets))[0]
    if free:
        rest = last[:, 0] @ (targets - design[:, :-1] @ steps)
        steps = np.append(steps, rest / np.linalg.norm(design[:, -1]))
    return np.asarray(steps[::-1].cumsum()[::-1])
