"""The rank distribution of most entropy among those that explain a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax, logsumexp

Floats = NDArray[np.float64]

STEPS = 100
"""More than Newton's method takes (5 to 8), unless the entropy has hardly any weight."""

EASIER = 10.0
"""Where that is so, the solution with so much more weight is the start."""

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
    dual = _Dual(
        columns=np.ascontiguousarray(table[:, used]),
        targets=shares[used],
        ridge=eta / (2 * scale * fit_weights[used]),
        log_weights=np.log(weights),
    )
    return dual.mass(dual.maximum())


@dataclass(frozen=True, eq=False)
class _Dual:
    """The function of one variable per cell that is maximised; see `most_entropy`."""

    columns: Floats
    targets: Floats
    ridge: Floats
    log_weights: Floats

    def mass(self, at: Floats) -> Floats:
        mass: Floats = np.exp(log_softmax(self.columns @ at + self.log_weights))
        return mass

    def value(self, at: Floats) -> float:
        partition = float(logsumexp(self.columns @ at + self.log_weights))
        return float(self.targets @ at - partition - self.ridge @ at**2 / 2)

    def maximum(self) -> Floats:
        """Climb from 0, or if that leads nowhere from the maximum of an easier function."""
        at, arrived = self._climbed(np.zeros(len(self.targets)))
        if arrived:
            return at
        return self._climbed(replace(self, ridge=EASIER * self.ridge).maximum())[0]

    def _climbed(self, at: Floats) -> tuple[Floats, bool]:
        """Take damped Newton steps; say whether they arrived."""
        for _ in range(STEPS):
            step, promised = self._newton(at)
            if promised < CONVERGED:
                return at + step, True
            now, length = self.value(at), 1.0
            while length > 1e-9 and (
                self.value(at + length * step) < now + SUFFICIENT * length * promised
            ):
                length /= 2
            at = at + length * step
        return at, False

    def _newton(self, at: Floats) -> tuple[Floats, float]:
        """Give Newton's step, and the gain that the gradient promises for it."""
        mass = self.mass(at)
        means = mass @ self.columns
        gradient = self.targets - means - self.ridge * at
        hessian = (self.columns * mass[:, np.newaxis]).T @ self.columns - np.outer(means, means)
        hessian += np.diag(self.ridge)
        scales = 1 / np.sqrt(np.diag(hessian))
        factor = cho_factor(scales[:, np.newaxis] * hessian * scales)
        step: Floats = scales * cho_solve(factor, scales * gradient)
        return step, float(gradient @ step)
