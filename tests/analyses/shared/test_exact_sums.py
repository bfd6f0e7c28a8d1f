"""Sums that are exact, and so do not depend on the order of users."""

from __future__ import annotations

from typing import Any

import numpy as np

from analyses.shared.exact_sums import grid_exponents, sum_grid_exponents, sums_on_grid, to_grid


def test_the_grid_is_the_finest_whose_sums_have_51_bits() -> None:
    """Of 3 users and a largest score of 5, 15 is below 2^4: the grid is 2^(4 - 51)."""
    scores = np.array([[[5.0, -2.0, 0.5]], [[0.0, 0.0, 0.0]]])
    assert grid_exponents(scores).ravel().tolist() == [-47, -51]
    assert grid_exponents(-scores).shape == (2, 1, 1)
    assert to_grid(scores)[0].tolist() == [[5 * 2.0**47, -(2.0**48), 2.0**46]]
    assert sum_grid_exponents(np.array([1.0, 0.75]), 4).tolist() == [3 - 51, 2 - 51]


def test_sums_on_the_grid_do_not_depend_on_the_order(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(2, 50))
    weights = rng.integers(0, 2, size=(50, 3)).astype(np.float64)
    sums = sums_on_grid(rows, weights)
    np.testing.assert_allclose(sums, rows @ weights, atol=1e-13)
    order = rng.permutation(50)
    assert sums_on_grid(rows[:, order], weights[order]).tolist() == sums.tolist()


def test_no_scores_have_a_grid_of_their_own() -> None:
    nothing: Any = np.empty((1, 0, 3))
    assert grid_exponents(nothing).ravel().tolist() == [-51]
