import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analyses.significance.exact import find_scale, p_by_lattice
from analyses.significance.permutation import REACH
from tests.analyses.permutation.references import (
    Floats,
    p_by_all_signs,
    p_by_dynamic_programming,
)


def with_total(differences: Floats) -> bool:
    return bool(0 < abs(differences.sum()) <= REACH * np.sqrt((differences**2).sum()))


whole = arrays(np.float64, st.integers(1, 40), elements=st.integers(-9, 9)).filter(with_total)


@given(whole)
def test_it_agrees_with_dynamic_programming(differences: Floats) -> None:
    expected = p_by_dynamic_programming(differences)
    assert p_by_lattice(differences) == pytest.approx(expected, abs=1e-13)


@given(arrays(np.float64, st.integers(1, 12), elements=st.integers(-3, 3)).filter(with_total))
def test_it_counts_all_sign_assignments(differences: Floats) -> None:
    assert p_by_lattice(differences) == pytest.approx(p_by_all_signs(differences), abs=1e-13)


@pytest.mark.parametrize(
    "few",
    [[], [1], [3, 3, 3], [1, 5]],
    ids=["all even", "one odd", "three odd", "two odd"],
)
def test_a_divisor_that_few_users_break_does_no_harm(few: list[int]) -> None:
    """Here the characteristic function is large again at pi / 2, far from 0."""
    rng = np.random.default_rng(3)
    differences = np.concatenate([2.0 * rng.integers(-3, 5, size=300), few])
    expected = p_by_dynamic_programming(differences)
    assert p_by_lattice(differences) == pytest.approx(expected, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [60, 2520])
def test_reciprocal_ranks_of_many_users(scale: int, rng: np.random.Generator) -> None:
    depth = {60: 5, 2520: 10}[scale]
    values = np.append(scale // np.arange(1, depth + 1), 0)
    differences = (rng.choice(values, 400) - rng.choice(values, 400)).astype(float)
    differences[:20] = np.abs(differences[:20])
    expected = p_by_dynamic_programming(differences)
    assert p_by_lattice(differences) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([0.0, 1.0], 1),
        ([0.2, 0.4], 5),
        ([0.1 + 0.2, 0.5], 10),
        ([1 / 3, 1 / 4, 1 / 5], 60),
        ([1 / 7, 1 / 8, 1 / 9, 1 / 10], 2520),
        ([0.1234, 0.5678], 10_000),
        ([1 / 11, 1 / 13], None),
    ],
)
def test_scores_on_a_lattice_are_recognised(values: list[float], scale: int | None) -> None:
    assert find_scale(np.array([values])) == scale


def test_tiny_scores_are_not_taken_for_zeros(rng: np.random.Generator) -> None:
    assert find_scale(1e-15 * rng.random((2, 10))) is None


def test_one_score_off_the_lattice_is_noticed(rng: np.random.Generator) -> None:
    scores = rng.integers(0, 11, size=(5, 1000)) / 10
    scores[3, 777] += 1e-6
    assert find_scale(scores) is None
