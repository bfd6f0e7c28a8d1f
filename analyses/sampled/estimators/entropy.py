"""The rank distribution of most entropy among those that explain a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax, logsumexp

Floats = NDArray[np.float64]

STEPS = 100
"""More than Newton's method ever took (5 to 8)."""

SUFFICIENT = 1e-4
"""Armijo's constant: the part of the promised gain that a step must bring."""

CONVERGED = 1e-12
"""Promised gain after which one last step is taken."""


def most_entropy(
    table: Floats, shares: Floats, *, weights: Floats, eta: float, scale: float, fit_weights: Floats
) -> Floats:
    r"""Trade the fit to a sample for the entropy of the rank distribution.

    .. math:: \min_p\; s \sum_t W_t ((P'p)(t) - h(t))^2 - \eta H(p)

    by damped Newton steps on its dual, of one variable per cell,

    .. math:: \max_\lambda\; \lambda'h - \log\sum_r e^{(P\lambda)(r)}
        - \sum_t \frac{\eta \lambda_t^2}{4 s W_t}

    Parameters
    ----------
    table
        P, (n_nodes, n_cells).
    shares
        Shares of the users, h: (n_cells,).
    weights
        Ranks that the nodes stand for: (n_nodes,).
    eta
        Weight of the entropy, above 0.
    scale
        Weight of the fit, s.
    fit_weights
        Weights of the cells, W; those of 0 are left out: (n_cells,).

    Returns
    -------
    Mass at the nodes, p, the softmax of P lambda: (n_nodes,).

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
    ridge = eta / (2 * scale * fit_weights[used])
    log_weights = np.log(weights)
    duals = np.zeros(len(targets))
    for _ in range(STEPS):
        mass = np.exp(log_softmax(columns @ duals + log_weights))
        means = mass @ columns
        gradient = targets - means - ridge * duals
        hessian = (columns * mass[:, np.newaxis]).T @ columns - np.outer(means, means)
        step = _newton_step(hessian + np.diag(ridge), gradient)
        if gradient @ step < CONVERGED:
            duals = duals + step
            break
        duals = _damped(duals, step, gradient, columns, targets, ridge, log_weights)
    return np.exp(log_softmax(columns @ duals + log_weights))


def _newton_step(hessian: Floats, gradient: Floats) -> Floats:
    scales = 1 / np.sqrt(np.diag(hessian))
    factor = cho_factor(scales[:, np.newaxis] * hessian * scales)
    return scales * cho_solve(factor, scales * gradient)


def _damped(
    duals: Floats,
    step: Floats,
    gradient: Floats,
    columns: Floats,
    targets: Floats,
    ridge: Floats,
    log_weights: Floats,
) -> Floats:
    """Halve the step until it brings enough."""

    def objective(at: Floats) -> float:
        partition = float(logsumexp(columns @ at + log_weights))
        return float(targets @ at - partition - ridge @ at**2 / 2)

    now, promised, length = objective(duals), float(gradient @ step), 1.0
    while length > 1e-9 and objective(duals + length * step) < now + SUFFICIENT * length * promised:
        length /= 2
    return duals + length * step
