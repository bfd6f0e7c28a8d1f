"""Corrected values v(t) by least squares: the equations of BV, MN, LS and CLS."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from analyses.sampled.estimators.shared.nnls import nonnegative_least_squares
from analyses.sampled.estimators.shared.tables import FLOOR

Floats = NDArray[np.float64]

UNREACHED = 1e-14
"""Part of the largest diagonal element under which one is 0 but for rounding."""


def posterior_means(table: Floats, mass: Floats, values: Floats) -> Floats:
    r"""Mean of values given what was sampled, :math:`\sum_r p(r) P[r, t] M(r) / c(t)`.

    From the table P, (n_nodes, n_cells), a distribution of the ranks p, (n_nodes,), and M at the
    nodes, (n_nodes, n_metrics): (n_cells, n_metrics).

    References
    ----------
    Krichene & Rendle (2020), eq. 26.

    Examples
    --------
    >>> table = np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> posterior_means(table, np.array([0.5, 0.5]), np.array([[1.0], [0.0]])).round(9)
    array([[0.66666667],
           [0.        ]])
    """
    weighted = table * mass[:, np.newaxis]
    return _products(weighted, values) / np.maximum(weighted.sum(axis=0), FLOOR)[:, np.newaxis]


def bias_variance(gram: Floats, weighted: Floats, values: Floats, *, gamma: float) -> Floats:
    """Balance squared bias and variance: the equations of `BiasVariance`.

    From P'DP, (n_cells, n_cells), DP, (n_nodes, n_cells), and M at the nodes, (n_nodes, n_metrics):
    v, (n_cells, n_metrics). Rows and columns are divided by sqrt(c), which makes the condition
    number 1 / gamma.

    References
    ----------
    Krichene & Rendle (2020), eq. 24 and 25.
    """
    scales = 1 / np.sqrt(np.maximum(weighted.sum(axis=0), FLOOR))
    matrix = (1 - gamma) * scales[:, np.newaxis] * gram * scales
    matrix[np.diag_indices_from(matrix)] += gamma
    return _solve(matrix, scales, _products(weighted, values))


def multinomial(
    gram: Floats, weighted: Floats, values: Floats, *, square: Floats, sums: Floats
) -> Floats:
    """Balance bias and the variance of multinomial counts: the equations of `Multinomial`.

    Arguments are those of `bias_variance`, and P'P / U, (n_cells, n_cells), with the column sums
    of P, L_1 / U, (n_cells,). Rows and columns are divided by the roots of the diagonal.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, eq. 11.
    """
    matrix = gram - square
    matrix[np.diag_indices_from(matrix)] += sums
    sizes = np.diag(matrix)
    # A cell that neither the prior nor the penalty reaches has no value but 0.
    scales = 1 / np.sqrt(np.maximum(sizes, UNREACHED * sizes.max()))
    scaled = scales[:, np.newaxis] * matrix * scales
    np.fill_diagonal(scaled, 1.0)
    return _solve(scaled, scales, _products(weighted, values))


def least_squares(gram: Floats, products: Floats, *, rcond: float) -> tuple[Floats, int]:
    """Solve without a penalty, leaving out directions that sampling nearly wipes out.

    From P'DP, (n_cells, n_cells), and P'Db, (n_cells, n_metrics): v, and how many were left out.

    Examples
    --------
    >>> values, n_lost = least_squares(np.diag([1.0, 1e-20]), np.ones((2, 1)), rcond=1e-10)
    >>> values.ravel(), n_lost
    (array([1., 0.]), 1)
    """
    strengths, directions = np.linalg.eigh(gram)
    kept = strengths > rcond * strengths.max()
    shares = (directions[:, kept].T @ products) / strengths[kept, np.newaxis]
    return directions[:, kept] @ shares, int((~kept).sum())


def monotone_least_squares(gram: Floats, products: Floats, *, nonnegative: bool) -> Floats:
    r"""Solve under the condition that v falls with the sampled rank.

    :math:`v(t) = c_0 + \sum_{j \ge t} d_j` with :math:`d_1, \ldots, d_m \ge 0`: non-negative least
    squares on increments, and not isotonic regression, for there is a design matrix. From P'DP,
    (n_cells, n_cells), and P'Db, (n_cells,); the least value, c_0, may be kept from being negative
    either.

    References
    ----------
    Krichene & Rendle (2020), 5.2.

    Examples
    --------
    >>> monotone_least_squares(np.eye(2), np.array([0.0, 1.0]), nonnegative=False)
    array([0.5, 0.5])
    """
    increments = gram.cumsum(axis=0).cumsum(axis=1)
    targets = products.cumsum()
    if nonnegative:
        return _falling(nonnegative_least_squares(increments, targets))
    # The last increment is the constant c_0, free: what it explains is taken out of the others.
    ties, total, target = increments[:-1, -1], increments[-1, -1], targets[-1]
    steps = nonnegative_least_squares(
        increments[:-1, :-1] - np.outer(ties, ties) / total, targets[:-1] - ties * target / total
    )
    return _falling(np.append(steps, (target - ties @ steps) / total))


def _falling(steps: Floats) -> Floats:
    return steps[::-1].cumsum()[::-1]


def _products(weighted: Floats, values: Floats) -> Floats:
    """Multiply only the rows that some metric does not leave 0."""
    depth = int(np.flatnonzero(values.any(axis=1)).max(initial=-1)) + 1
    return weighted[:depth].T @ values[:depth]


def _solve(scaled: Floats, scales: Floats, products: Floats) -> Floats:
    factor = cho_factor(scaled, overwrite_a=True)
    return scales[:, np.newaxis] * cho_solve(factor, scales[:, np.newaxis] * products)
