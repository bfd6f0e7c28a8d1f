"""Half a sweep of alternating least squares, against solving every equation."""

import numpy as np
import pytest

from qrels import Ratings
from recommenders.kernels.least_squares import least_squares, solved


@pytest.mark.parametrize(("factors", "penalty"), [(1, 3.0), (7, 0.1), (40, 3.0)])
def test_half_a_sweep_solves_for_every_row(ratings: Ratings, factors: int, penalty: float) -> None:
    """Equation 4 of Hu, Koren & Volinsky; item 3 has no ratings, ratings of 1 weigh nothing."""
    kept = ratings.select(ratings.item != 3).matrix(np.float32).T.tocsr()
    rated, weights = kept.toarray() > 0, np.maximum(kept.toarray() - 1, 0).astype(np.float64)
    kept.data -= 1
    rng = np.random.default_rng(1)
    fixed, former = (rng.normal(size=(n, factors)).astype(np.float32) for n in kept.shape[::-1])
    found = solved(kept, fixed, former, regularization=penalty)
    assert not found[3].any()
    columns = fixed.astype(np.float64)
    for row, weight, given in zip(found, 1 + weights, rated, strict=True):
        normal = (columns.T * weight) @ columns + penalty * np.eye(factors)
        expected = np.linalg.solve(normal, (columns.T * weight) @ given)
        np.testing.assert_allclose(row, expected, atol=1e-4)


@pytest.mark.parametrize("sweeps", [1, 2])
def test_a_sweep_solves_for_users_and_then_for_items(ratings: Ratings, sweeps: int) -> None:
    """It begins with squares of normal numbers of standard deviation 1/100, drawn for the items."""
    weights = ratings.matrix(np.float32)
    drawn = np.random.default_rng(7).standard_normal((weights.shape[1], 3), dtype=np.float32)
    of_items = np.square(drawn.astype(np.float64) / 100)
    dense = weights.toarray().astype(np.float64)
    for _ in range(sweeps):
        of_users = np.array([_best(row, of_items, penalty=0.5) for row in dense])
        of_items = np.array([_best(column, of_users, penalty=0.5) for column in dense.T])
    users, items = least_squares(weights, factors=3, regularization=0.5, sweeps=sweeps, seed=7)
    np.testing.assert_allclose(users, of_users, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(items, of_items, rtol=2e-3, atol=2e-3)


def _best(weights: np.ndarray, fixed: np.ndarray, *, penalty: float) -> np.ndarray:
    """Solve for the factors of one row: 1 is wanted where there is a weight, else 0."""
    confidence = 1 + weights
    normal = (fixed.T * confidence) @ fixed + penalty * np.eye(fixed.shape[1])
    return np.linalg.solve(normal, fixed.T @ (confidence * (weights > 0)))
