"""Half a sweep of alternating least squares, against solving every equation."""

import numpy as np
import pytest

from qrels import Ratings
from recommenders.kernels.least_squares import solved


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
