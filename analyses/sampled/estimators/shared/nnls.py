"""Least squares with coefficients that may not be negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

Floats = NDArray[np.float64]

DUAL_TOLERANCE = 1e-12
"""Part of the largest right-hand side that a gradient may reach."""


def nonnegative_least_squares(gram: Floats, products: Floats) -> Floats:
    r"""Minimise :math:`x'Gx / 2 - x'f` over :math:`x \ge 0` with an active set: x, (n,).

    G = A'A of the design matrix A, columns of any scale, (n, n), and f = A'b, (n,). Columns that
    would make the fit better enter one by one, and those whose coefficients turn negative leave.

    References
    ----------
    Lawson & Hanson (1974), Solving least squares problems, chapter 23.

    Examples
    --------
    Without the constraint the second would be -1:

    >>> nonnegative_least_squares(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([1.0, 0.0]))
    array([0.5, 0. ])
    """
    scales = 1 / np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    solver = _ActiveSet(scales[:, np.newaxis] * gram * scales, scales * products)
    return scales * solver.solve()


class _ActiveSet:
    """The state of the search, on columns scaled to length 1."""

    def __init__(self, gram: Floats, products: Floats) -> None:
        self.gram, self.products = gram, products
        self.values = np.zeros(len(products))
        self.free = np.zeros(len(products), dtype=bool)
        self.refused = np.zeros(len(products), dtype=bool)
        self.tolerance = DUAL_TOLERANCE * max(float(np.abs(products).max()), 1e-300)

    def solve(self) -> Floats:
        for _ in range(10 * len(self.products)):
            entrant = self._entrant()
            if entrant is None:
                break
            self.free[entrant] = True
            self._descend(entrant)
        return self.values

    def _entrant(self) -> int | None:
        """Find the column whose coefficient the fit asks for most."""
        gradient = self.products - self.gram @ self.values
        gradient[self.free | self.refused] = -np.inf
        best = int(gradient.argmax())
        return best if gradient[best] > self.tolerance else None

    def _descend(self, entrant: int) -> None:
        """Move to the best fit of the free columns, dropping those that reach 0 on the way."""
        while self.free.any():
            target = self._unconstrained()
            if target is None or (target[entrant] <= 0 and self.values[entrant] == 0):
                # Rounding: the column is, to double precision, a mixture of the free ones.
                self.free[entrant], self.refused[entrant] = False, True
                return
            self.refused[:] = False
            negative = self.free & (target <= 0)
            if not negative.any():
                self.values = target
                return
            moves = self.values[negative] / (self.values[negative] - target[negative])
            self.values = self.values + moves.min() * (target - self.values)
            reached = np.flatnonzero(negative)[moves <= moves.min()]
            self.values[reached], self.free[reached] = 0.0, False

    def _unconstrained(self) -> Floats | None:
        chosen = np.flatnonzero(self.free)
        try:
            factor = cho_factor(self.gram[np.ix_(chosen, chosen)])
        except LinAlgError:
            return None
        target = np.zeros(len(self.products))
        target[chosen] = cho_solve(factor, self.products[chosen])
        return target
