import numpy as np
import pytest
from scipy import stats

from analyses.significance.paired_tests import t_test
from analyses.significance.permutation import pair_indices
from tests.analyses.paired.references import Floats, pair_scores, some_scores

SMALLEST = np.finfo(np.float64).tiny


@pytest.mark.parametrize("n_users", [4, 50, 2000])
def test_it_gives_what_scipy_gives(n_users: int, rng: np.random.Generator) -> None:
    scores = some_scores(rng, n_users=n_users)
    first, second = pair_indices(4)
    expected = stats.ttest_rel(scores[:, first], scores[:, second], axis=2).pvalue
    np.testing.assert_allclose(t_test(scores), np.maximum(expected, SMALLEST), rtol=1e-9)


def test_two_users_decide_with_one_degree_of_freedom() -> None:
    assert t_test(np.array([[[1.0, 3.0], [0.0, 0.0]]])) == pytest.approx(
        1 - 2 * np.arctan(2) / np.pi
    )


def test_equal_systems_cannot_be_told_apart() -> None:
    assert t_test(np.full((1, 2, 4), 0.3)) == 1.0


def test_differences_that_only_rounding_makes_are_none() -> None:
    scores = np.array([[[0.1 + 0.2, 0.6], [0.3, 0.2 * 3]]])
    assert scores[0, 0, 0] != scores[0, 1, 0]
    assert t_test(scores) == 1.0


@pytest.mark.parametrize("scores", [[0.3, 0.3, 0.3], [0.1 + 0.2, 0.3, 0.3]])
def test_a_constant_difference_has_the_smallest_p_value(scores: list[float]) -> None:
    assert t_test(pair_scores(scores)) == SMALLEST


def test_a_p_value_that_underflows_is_not_zero() -> None:
    assert t_test(pair_scores([1.0, 1.0 + 1e-9] * 500)) == SMALLEST


def test_a_single_user_decides_nothing() -> None:
    assert t_test(pair_scores([1.0])) == 1.0


@pytest.mark.parametrize("factor", [-1.0, 1e-6, 2.0**40])
def test_neither_unit_nor_direction_matters(factor: float, rng: np.random.Generator) -> None:
    scores: Floats = some_scores(rng, n_users=20)
    np.testing.assert_allclose(t_test(factor * scores), t_test(scores), rtol=1e-9)
