from itertools import product

import numpy as np
import pytest

from analyses.shared.measure import to_grid
from analyses.significance.corrections import Family, count_maxima, max_t_test
from analyses.significance.permutation import monte_carlo_test, pair_indices, random_signs
from tests.analyses.corrections.references import Floats, some_scores

TIE = 1e-9
both_ways = pytest.mark.parametrize("step_down", [True, False])


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    return some_scores(rng)


def by_the_book(scores: Floats, signs: Floats, *, step_down: bool) -> Floats:
    """Share of the sign rows whose maximum reaches z: one measure, pair by pair."""
    first, second = pair_indices(len(scores))
    differences = scores[first] - scores[second]
    sigma = np.sqrt((differences**2).sum(axis=1))
    flipped = np.abs(signs @ differences.T) / sigma
    observed = np.abs(differences.sum(axis=1)) / sigma
    p = np.empty(len(observed))
    so_far, left = 0.0, list(np.argsort(-observed, kind="stable"))
    while left:
        family = left if step_down else range(len(observed))
        maxima = flipped[:, list(family)].max(axis=1)
        pair = left.pop(0)
        so_far = max(so_far, float((maxima >= observed[pair] - TIE).mean()))
        p[pair] = so_far
    return p


@both_ways
def test_it_gives_what_a_plain_loop_gives(step_down: bool, scores: Floats) -> None:
    signs = np.vstack([np.ones(30), random_signs(0, 499, n_users=30, seed=4)])
    p = max_t_test(scores, permutations=499, seed=4, step_down=step_down)
    expected = [by_the_book(one, signs, step_down=step_down) for one in scores]
    np.testing.assert_allclose(p, expected, rtol=1e-12)


@both_ways
def test_random_signs_come_near_all_signs(step_down: bool, scores: Floats) -> None:
    few = scores[:, :3, :10]
    signs = np.array(list(product([-1.0, 1.0], repeat=10)))
    p = max_t_test(few, permutations=20_000, seed=1, step_down=step_down)
    expected = [by_the_book(one, signs, step_down=step_down) for one in few]
    np.testing.assert_allclose(p, expected, atol=0.015)


def test_two_systems_need_no_correction(scores: Floats) -> None:
    p = max_t_test(scores[:, :2], permutations=999, seed=4)
    np.testing.assert_array_equal(p, monte_carlo_test(scores[:, :2], permutations=999, seed=4))


@both_ways
def test_adjusted_values_are_not_below_those_of_the_pair_alone(
    step_down: bool, scores: Floats
) -> None:
    adjusted = max_t_test(scores, permutations=999, seed=4, step_down=step_down)
    assert (adjusted >= monte_carlo_test(scores, permutations=999, seed=4)).all()


def test_stepping_down_never_raises_a_p_value(scores: Floats) -> None:
    single, down = (
        max_t_test(scores, permutations=999, seed=4, step_down=step) for step in (False, True)
    )
    assert (down <= single).all()
    assert (down < single).any()


def test_a_copy_of_a_system_changes_nothing_by_single_step(scores: Floats) -> None:
    """Ties between the copies' statistics count, whatever rounding does."""
    copied = np.concatenate([scores, scores[:, 3:]], axis=1)
    p = max_t_test(copied, permutations=999, seed=4, step_down=False)
    first, second = pair_indices(5)
    np.testing.assert_array_equal(
        p[:, (first < 4) & (second < 4)],
        max_t_test(scores, permutations=999, seed=4, step_down=False),
    )


@both_ways
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_number_of_jobs_changes_no_bit(step_down: bool, n_jobs: int, scores: Floats) -> None:
    grid = to_grid(scores)
    families = [Family.of(one) for one in grid]
    counts = count_maxima(grid, families, 0, 5000, seed=9, step_down=step_down, block=700)
    rows = (counts + 1) / 5001
    expected = [f.never_falling(row) for f, row in zip(families, rows, strict=True)]
    p = max_t_test(scores, permutations=5000, seed=9, step_down=step_down, n_jobs=n_jobs)
    np.testing.assert_array_equal(p, expected)


@pytest.mark.parametrize("seed", range(6))
def test_stepping_down_follows_the_book_where_p_values_would_fall(seed: int) -> None:
    """Few users, so that a smaller z among fewer pairs is often the rarer event."""
    scores = np.random.default_rng(seed).integers(0, 5, size=(1, 5, 8)).astype(float)
    signs = np.vstack([np.ones(8), random_signs(0, 199, n_users=8, seed=seed)])
    p = max_t_test(scores, permutations=199, seed=seed)
    np.testing.assert_allclose(p[0], by_the_book(scores[0], signs, step_down=True), rtol=1e-12)


def test_systems_that_differ_by_rounding_alone_are_equal() -> None:
    """They may lie on either side of where the grid rounds; the other pairs must not suffer."""
    border = 0.5 + 2.0**-47
    scores = np.array([[[border] * 20, [border + 2.0**-53] * 20, [1.0] * 20]])
    gridded = to_grid(scores)
    assert (gridded[0, 1] - gridded[0, 0] == 1.0).all()
    p = max_t_test(scores, permutations=99, seed=0)
    np.testing.assert_array_equal(p, [[1.0, 0.01, 0.01]])
