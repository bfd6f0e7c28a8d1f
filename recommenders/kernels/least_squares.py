"""Alternating least squares on weighted pairs, by conjugate gradients."""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Integers, Singles, Sparse
from runs.shared.compiled import jit, jit_in_any_order

TOLERANCE = 1e-5
"""Length of the residual at which an equation is solved, relative to its right side."""


def least_squares(
    weights: Sparse, *, factors: int, regularization: float, sweeps: int, seed: int
) -> tuple[Singles, Singles]:
    r"""Factorise the matrix that is 1 where there is an entry, else 0, entries weighing more.

    .. math:: \min \sum_{u,i} (1 + w_{ui}) (b_{ui} - p_u \cdot q_i)^2 + \lambda (\|P\|^2 + \|Q\|^2)

    Weights are at least 0 and of shape (n_users, n_items). In each sweep users are solved for, then
    items. Returns the factors of users and items, of shapes (n_users, factors) and (n_items,
    factors). The seed is for the item factors before the first sweep.

    Hu, Koren & Volinsky (2008), equation 3; Takács, Pilászy & Tikk (2011) for the solver.
    """
    weights = weights.astype(np.float32)
    weights_by_item = weights.T.tocsr()
    n_users, n_items = weights.shape
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((n_items, factors), dtype=np.float32)
    item_factors = (0.01 * normals) ** 2
    user_factors = np.zeros((n_users, factors), dtype=np.float32)
    for _ in range(sweeps):
        user_factors = solved(weights, item_factors, user_factors, regularization=regularization)
        item_factors = solved(
            weights_by_item, user_factors, item_factors, regularization=regularization
        )
    return user_factors, item_factors


def solved(weights: Sparse, fixed: Singles, former: Singles, *, regularization: float) -> Singles:
    r"""Solve for the factors of the rows, given those of the columns.

    Row u solves :math:`(M + \sum_i w_{ui} q_i q_i^\top) p_u = \sum_i (1 + w_{ui}) q_i` with
    :math:`M = Q^\top Q + \lambda I = L L^\top` the same for all rows. For :math:`L^{-1} q_i` in
    place of :math:`q_i`, M is the identity: fewer steps, and each of them cheaper.

    Parameters
    ----------
    weights
        Weights :math:`w`, of shape (n_rows, n_columns).
    fixed
        Factors :math:`q` of the columns, of shape (n_columns, n_factors).
    former
        Factors of the rows at the start of the iteration, of shape (n_rows, n_factors).
    regularization
        Penalty :math:`\lambda` on the squared factors.

    Returns
    -------
    Factors of the rows, float32 of shape (n_rows, n_factors); 0 for a row without entries.
    """
    column_factors = fixed.astype(np.float64)
    n_factors = column_factors.shape[1]
    penalties = regularization * np.eye(n_factors)
    common_matrix = column_factors.T @ column_factors + penalties
    cholesky_factor = np.linalg.cholesky(common_matrix)
    inverse = np.linalg.inv(cholesky_factor)
    rows = (former @ cholesky_factor).astype(np.float32)
    transformed_columns = (column_factors @ inverse.T).astype(np.float32)
    _solve_rows(
        weights.indptr,
        weights.indices,
        weights.data,
        transformed_columns,
        np.float32(TOLERANCE),
        rows,
    )
    return (rows @ inverse).astype(np.float32)


@jit(error_model="numpy", fastmath={"reassoc"}, inline="always")
def _multiply(
    first: int,
    end: int,
    columns: Integers,
    weights: Singles,
    fixed: Singles,
    vector: Singles,
    image: Singles,
) -> None:
    """Compute (I + sum of w y y') v for a vector v, (n_factors,), and write it into ``image``.

    The sum is over the entries ``first:end``, with weights w; y is the row of ``fixed``,
    (n_columns, n_factors), of an entry's column.
    """
    n_factors = fixed.shape[1]
    for k in range(n_factors):
        image[k] = vector[k]
    for entry in range(first, end):
        y = fixed[columns[entry]]
        product = np.float32(0)
        for k in range(n_factors):
            product += y[k] * vector[k]
        product *= weights[entry]
        for k in range(n_factors):
            image[k] += product * y[k]


@jit(error_model="numpy", fastmath={"reassoc"}, inline="always")
def _compute_residual(
    first: int,
    end: int,
    columns: Integers,
    weights: Singles,
    fixed: Singles,
    x: Singles,
    right_side: Singles,
    residual: Singles,
) -> None:
    """Compute the right side, sum of (1 + w) y, and the residual of the solution x.

    The residual is the right side less (I + sum of w y y') x. Vectors are of shape (n_factors,);
    ``right_side`` and ``residual`` are written. The sums are
    over the entries ``first:end``, with weights w; y is the row of ``fixed``, (n_columns,
    n_factors), of an entry's column.
    """
    n_factors = fixed.shape[1]
    for k in range(n_factors):
        residual[k] = -x[k]
        right_side[k] = 0
    for entry in range(first, end):
        y = fixed[columns[entry]]
        weight = weights[entry]
        product = np.float32(0)
        for k in range(n_factors):
            product += y[k] * x[k]
        target_weight = np.float32(1) + weight
        for k in range(n_factors):
            right_side[k] += target_weight * y[k]
            residual[k] += (target_weight - weight * product) * y[k]


@jit_in_any_order
def _solve_rows(
    starts: Integers,
    columns: Integers,
    weights: Singles,
    fixed: Singles,
    tolerance: np.float32,
    rows: Singles,
) -> None:
    """Solve (I + sum of w y y') x = sum of (1 + w) y for each row x, by conjugate gradients.

    The entries of row r of the weights w are ``starts[r]:starts[r + 1]``. For each entry y is the
    row of ``fixed``, (n_columns, n_factors), of its column. ``rows``, (n_rows, n_factors), holds
    the starting values, which are overwritten. A row is solved when its residual is no longer than
    ``tolerance`` times the right side, or after n_factors steps; a row without entries becomes 0.
    """
    n_factors = fixed.shape[1]
    # First ``image`` is the right side, then the matrix times the direction.
    residual, direction, image = np.empty((3, n_factors), dtype=np.float32)
    for row in range(len(rows)):
        x = rows[row]
        if starts[row] == starts[row + 1]:
            x[:] = 0
            continue
        _compute_residual(starts[row], starts[row + 1], columns, weights, fixed, x, image, residual)
        squared_length = np.float32(0)
        squared_tolerance = np.float32(0)
        for k in range(n_factors):
            direction[k] = residual[k]
            squared_length += residual[k] * residual[k]
            squared_tolerance += image[k] * image[k]
        squared_tolerance *= tolerance * tolerance
        for _ in range(n_factors):
            if squared_length <= squared_tolerance:
                break
            _multiply(starts[row], starts[row + 1], columns, weights, fixed, direction, image)
            curvature = np.float32(0)
            for k in range(n_factors):
                curvature += direction[k] * image[k]
            step = squared_length / curvature
            former_squared_length = squared_length
            squared_length = np.float32(0)
            for k in range(n_factors):
                x[k] += step * direction[k]
                residual[k] -= step * image[k]
                squared_length += residual[k] * residual[k]
            for k in range(n_factors):
                direction[k] = residual[k] + squared_length / former_squared_length * direction[k]
