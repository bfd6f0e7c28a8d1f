"""The rank distribution of most entropy among those that explain a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

Floats = NDArray[np.float64]

CONVERGED = 1e-10
"""Largest gradient of the dual, which is one of shares."""


def most_entropy(
    table: Floats, shares: Floats, *, weights: Floats, eta: float, scale: float, fit_weights: Floats
) -> Floats:
    r"""Trade the fit to a sample for the entropy of the rank distribution.

    .. math:: \min_p\; s \sum_t W_t ((P'p)(t) - h(t))^2 - \eta H(p)

    by its dual, of one variable per cell, which is concave:

    .. math:: \max_\lambda\; \lambda'h - \log\sum_r e^{(P\lambda)(r)}
        - \sum_t \frac{\eta \lambda_t^2}{4 s W_t}

    Shares of the users h, (n_cells,), and the table P, (n_nodes, n_cells), whose nodes stand for so
    many ranks, (n_nodes,), give the mass at the nodes p, the softmax of P lambda, (n_nodes,). eta
    is above 0, s is the scale, and cells of a fit weight W of 0, (n_cells,), are left out.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, section 5.

    Examples
    --------
    A flat table says nothing, so that all ranks stay alike:

    >>> flat = np.full((4, 2), 0.5)
    >>> shares = np.array([0.8, 0.2])
    >>> most_entropy(flat, shares, weights=np.ones(4), eta=0.1, scale=1.0, fit_weights=shares)
    array([0.25, 0.25, 0.25, 0.25])
    """
    used = fit_weights > 0
    columns, targets = np.ascontiguousarray(table[:, used]), shares[used]
    ridge, logarithms = eta / (2 * scale * fit_weights[used]), np.log(weights)

    def mass(at: Floats) -> Floats:
        found: Floats = np.exp(log_softmax(columns @ at + logarithms))
        return found

    def short(at: Floats) -> tuple[float, Floats]:
        partition = logsumexp(columns @ at + logarithms)
        gradient = mass(at) @ columns + ridge * at - targets
        return float(partition + ridge @ at**2 / 2 - targets @ at), gradient

    def curvature(at: Floats) -> Floats:
        weighted = columns * mass(at)[:, np.newaxis]
        means = weighted.sum(axis=0)
        return np.asarray(weighted.T @ columns - np.outer(means, means) + np.diag(ridge))

    start = np.zeros(len(targets))
    found = minimize(
        short,
        start,
        jac=True,
        hess=curvature,
        method="trust-exact",
        options={"gtol": CONVERGED},
    )
    return mass(found.x)
