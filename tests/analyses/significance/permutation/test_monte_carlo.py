import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.shared.measure import to_grid
from analyses.significance.permutation import (
    count_as_extreme,
    monte_carlo_test,
    pair_indices,
    random_signs,
)
from tests.analyses.permutation.references import Floats, one_pair


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    """A continuous measure and one full of ties: 6 systems, 70 users."""
    continuous = rng.beta(0.5, 2.0, size=(6, 70))
    return np.stack([continuous, np.round(continuous, 1)])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_number_of_jobs_changes_no_bit(n_jobs: int, scores: Floats) -> None:
    expected = count_as_extreme(to_grid(scores), 0, 5000, seed=9)
    p = monte_carlo_test(scores, permutations=5000, seed=9, n_jobs=n_jobs)
    np.testing.assert_array_equal(p, (expected + 1) / 5001)


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 7, 512, 1000])
def test_the_size_of_a_block_changes_no_bit(block: int, scores: Floats) -> None:
    counts = count_as_extreme(to_grid(scores), 0, 1000, seed=9, block=block)
    np.testing.assert_array_equal(counts, count_as_extreme(to_grid(scores), 0, 1000, seed=9))


@pytest.mark.parametrize("order", ["matrix product", "sum", "reversed sum"])
def test_every_order_of_summation_gives_the_same_bits(order: str, scores: Floats) -> None:
    grid = to_grid(scores).reshape(-1, scores.shape[2])
    signs = random_signs(0, 20, n_users=scores.shape[2], seed=0)
    products = grid[:, np.newaxis] * signs
    sums = {
        "matrix product": grid @ signs.T,
        "sum": products.sum(axis=2),
        "reversed sum": np.cumsum(products[..., ::-1], axis=2)[..., -1],
    }
    exact = [[sum(int(x) for x in row) for row in rows] for rows in products]
    np.testing.assert_array_equal(sums[order], np.array(exact, dtype=float))


def test_it_counts_what_a_plain_loop_counts(scores: Floats) -> None:
    """Ties included, which whole numbers decide without rounding."""
    tied = np.rint(scores[1] * 10)
    first, second = pair_indices(len(tied))
    differences = tied[first] - tied[second]
    signs = random_signs(0, 500, n_users=tied.shape[1], seed=4)
    sums = np.abs((differences[:, np.newaxis] * signs).sum(axis=2))
    expected = (sums >= np.abs(differences.sum(axis=1))[:, np.newaxis]).sum(axis=1)
    p = monte_carlo_test(tied[np.newaxis] / 10, permutations=500, seed=4)
    np.testing.assert_array_equal(p[0], (expected + 1) / 501)


def test_ranges_of_permutations_add_up(scores: Floats) -> None:
    grid = to_grid(scores)
    parts = [count_as_extreme(grid, *part, seed=2) for part in [(0, 10), (10, 700), (700, 1000)]]
    np.testing.assert_array_equal(sum(parts), count_as_extreme(grid, 0, 1000, seed=2))


@given(st.integers(1, 300), st.floats(1e-9, 1e9), st.integers(0, 2**32))
def test_sums_on_the_grid_fit_into_float64(n_users: int, size: float, seed: int) -> None:
    scores = np.random.default_rng(seed).uniform(-size, size, size=(1, 2, n_users))
    grid = to_grid(scores)
    assert np.abs(grid).sum(axis=2).max() <= 2.0**51 + n_users
    assert (grid == np.rint(grid)).all()
    kept = grid / np.abs(grid).max() * np.abs(scores).max()
    np.testing.assert_allclose(kept, scores, atol=size * n_users * 2.0**-49)


def test_the_observed_signs_count_too() -> None:
    p = monte_carlo_test(one_pair(np.ones(60))[np.newaxis], permutations=999, seed=0)
    assert p[0, 0] == 1 / 1000


def test_it_reports_all_permutations(scores: Floats) -> None:
    finished: list[int] = []
    monte_carlo_test(scores, permutations=5000, seed=0, advance=finished.append)
    assert sum(finished) == 5000
    assert len(finished) > 1


@pytest.mark.slow
@pytest.mark.parametrize("permutations", [99, pytest.param(999, marks=pytest.mark.validity)])
def test_a_true_null_hypothesis_is_not_rejected_too_often(
    permutations: int, rng: np.random.Generator
) -> None:
    """1,000 sets; the upper limit of 99.9 % of a binomial at each level."""
    n_sets = 1000
    sizes = rng.beta(0.5, 2.0, size=60)
    sets = sizes * rng.choice([-1.0, 1.0], (n_sets, 60))
    p = np.array(
        [
            monte_carlo_test(one_pair(d)[np.newaxis], permutations=permutations, seed=s)
            for s, d in enumerate(sets)
        ]
    )
    for alpha in (0.01, 0.05, 0.1):
        assert (p <= alpha).mean() < alpha + 3.1 * np.sqrt(alpha * (1 - alpha) / n_sets)
