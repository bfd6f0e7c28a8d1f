"""What replicates draw, and how much of what they vary by is linear in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Floats

COLUMNS_AT_ONCE = 4096
"""Users whose draws are compared at a time."""


@dataclass(frozen=True, eq=False)
class Draws:
    """How alike replicates are in what they draw: users, or blocks of them, and runs of systems.

    Parameters
    ----------
    overlaps
        For two replicates, the sum of the products of how much oftener than once they draw each:
        symmetric, of shape (n_replicates, n_replicates).
    n_drawn
        Number of the users, or blocks, and runs.
    """

    overlaps: Floats
    n_drawn: int

    @classmethod
    def of(cls, users: NDArray[np.number], runs: NDArray[np.number] | None = None) -> Draws:
        """Compare how often replicates draw users, and runs.

        Users, or blocks of them, are of shape (n_replicates, n_users); runs, where systems have
        several, of shape (n_replicates, n_systems, n_runs): each is of one system.
        """
        drawn_units = [users]
        if runs is not None:
            drawn_units.append(runs.sum(axis=1))
        n_replicates = len(users)
        overlaps = np.zeros((n_replicates, n_replicates))
        for drawn in drawn_units:
            for start in range(0, drawn.shape[1], COLUMNS_AT_ONCE):
                some = drawn[:, start : start + COLUMNS_AT_ONCE].astype(np.float64)
                excess = some - 1
                overlaps += excess @ excess.T
        n_drawn = sum(drawn.shape[1] for drawn in drawn_units)
        return cls(overlaps, n_drawn)

    def linear_share(self, deviations: Floats) -> float:
        r"""Estimate which share of the variance of replicates is linear in what they draw.

        A mean over replicates varies over samples of users by this share alone; the rest is
        averaged away. The variance that is linear is the sum over users of the squared covariances
        of the replicates with how often the user is drawn (the infinitesimal jackknife). Products
        of a replicate with itself are left out, which makes the sum unbiased:

        .. math:: \frac{1}{B (B - 1)} \sum_{b \ne c} x_b x_c \sum_u (n_{bu} - 1) (n_{cu} - 1)

        One standard error, :math:`\sqrt{2 n} / B` of n users, is added: the estimate errs towards
        wider intervals.

        Parameters
        ----------
        deviations
            Replicates less their means, of shape (n_rows, n_replicates): of all rows together.

        Returns
        -------
        In [0, 1]; 1 of fewer than two replicates, and where nothing varies.

        References
        ----------
        Efron (2014), Estimation and accuracy after model selection, Journal of the American
        Statistical Association 109(507), Theorem 1.
        """
        n_replicates = deviations.shape[1]
        squares = (deviations**2).sum(axis=0)
        if n_replicates < 2 or not squares.any():
            return 1.0
        products = ((deviations @ self.overlaps) * deviations).sum()
        with_itself = squares @ self.overlaps.diagonal()
        linear = (products - with_itself) / (n_replicates * (n_replicates - 1))
        variance = squares.sum() / (n_replicates - 1)
        standard_error = np.sqrt(2 * self.n_drawn) / n_replicates
        return float(np.clip(linear / variance + standard_error, 0.0, 1.0))
