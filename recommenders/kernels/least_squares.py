"""Alternating least squares on weighted pairs, by conjugate gradients."""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Integers, Singles, Sparse
from runs.shared.compiled import jit_in_any_order

TOLERANCE = 1e-5
"""Length of what is left of an equation, relative to its right side."""


def least_squares(
    weights: Sparse, *, factors: int, regularization: float, sweeps: int, seed: int
) -> tuple[Singles, Singles]:
    r"""Factorise the matrix that is 1 where there is an entry, else 0, entries weighing more.

    .. math:: \min \sum_{u,i} (1 + w_{ui}) (b_{ui} - p_u \cdot q_i)^2 + \lambda (\|P\|^2 + \|Q\|^2)

    Weights are at least 0 and of shape (n_users, n_items). In each sweep users are solved for, then
    items. Given are their factors, of shapes (n_users, factors) and (n_items, factors).

    Hu, Koren & Volinsky (2008), equation 3; Takács, Pilászy & Tikk (2011) for the solver.
    """
    weights = weights.astype(np.float32)
    by_item = weights.T.tocsr()
    shape = weights.shape[1], factors
    of_items = (0.01 * np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)) ** 2
    of_users = np.zeros((weights.shape[0], factors), dtype=np.float32)
    for _ in range(sweeps):
        of_users = solved(weights, of_items, of_users, regularization=regularization)
        of_items = solved(by_item, of_users, of_items, regularization=regularization)
    return of_users, of_items


def solved(weights: Sparse, fixed: Singles, former: Singles, *, regularization: float) -> Singles:
    r"""Solve for the factors of the rows, given those of the columns and the rows' former ones.

    Row u solves :math:`(M + \sum_i w_{ui} q_i q_i^\top) p_u = \sum_i (1 + w_{ui}) q_i` with
    :math:`M = Q^\top Q + \lambda I = L L^\top` the same for all rows. For :math:`L^{-1} q_i` in
    place of :math:`q_i`, M is the identity: fewer steps, and each of them cheaper.
    """
    columns = fixed.astype(np.float64)
    common = columns.T @ columns + regularization * np.eye(columns.shape[1])
    triangle = np.linalg.cholesky(common)
    inverse = np.linalg.inv(triangle)
    rows = (former @ triangle).astype(np.float32)
    entries = weights.indptr, weights.indices, weights.data
    directions = (columns @ inverse.T).astype(np.float32)
    _solve_rows(*entries, directions, np.float32(TOLERANCE), rows)
    return (rows @ inverse).astype(np.float32)


@jit_in_any_order
def _solve_rows(
    ends: Integers,
    columns: Integers,
    weights: Singles,
    fixed: Singles,
    tolerance: np.float32,
    rows: Singles,
) -> None:
    """Improve each row x until (I + sum of w y y') x = sum of (1 + w) y, y being fixed rows."""
    n_factors = fixed.shape[1]
    left, direction, image = np.empty((3, n_factors), dtype=np.float32)
    for row in range(len(rows)):
        x = rows[row]
        if ends[row] == ends[row + 1]:
            x[:] = 0
            continue
        for k in range(n_factors):
            left[k], image[k] = -x[k], 0
        for entry in range(ends[row], ends[row + 1]):
            y, weight = fixed[columns[entry]], weights[entry]
            product = np.float32(0)
            for k in range(n_factors):
                product += y[k] * x[k]
            wanted = np.float32(1) + weight
            for k in range(n_factors):
                image[k] += wanted * y[k]
                left[k] += (wanted - weight * product) * y[k]
        length, target = np.float32(0), np.float32(0)
        for k in range(n_factors):
            direction[k] = left[k]
            length += left[k] * left[k]
            target += image[k] * image[k]
        target *= tolerance * tolerance
        for _ in range(n_factors):
            if length <= target:
                break
            for k in range(n_factors):
                image[k] = direction[k]
            for entry in range(ends[row], ends[row + 1]):
                y = fixed[columns[entry]]
                product = np.float32(0)
                for k in range(n_factors):
                    product += y[k] * direction[k]
                product *= weights[entry]
                for k in range(n_factors):
                    image[k] += product * y[k]
            curvature = np.float32(0)
            for k in range(n_factors):
                curvature += direction[k] * image[k]
            step, former = length / curvature, length
            length = np.float32(0)
            for k in range(n_factors):
                x[k] += step * direction[k]
                left[k] -= step * image[k]
                length += left[k] * left[k]
            for k in range(n_factors):
                direction[k] = left[k] + length / former * direction[k]
