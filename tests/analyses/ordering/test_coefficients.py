import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from analyses.ordering import COEFFICIENTS, tau_ap
from analyses.ordering.coefficients import (
    find_coefficient,
    further_coefficients,
    mean_coefficients,
    stack_levels,
)
from analyses.ordering.correlations import rbo, rbo_floor
from runs import InputError
from tests.analyses.ordering.test_correlations import PERMUTATIONS, TIED_PAIRS, X, Y

Floats = NDArray[np.float64]
every_coefficient = pytest.mark.parametrize("name", COEFFICIENTS)
symmetric = pytest.mark.parametrize(
    "name", [name for name, coefficient in COEFFICIENTS.items() if coefficient.symmetric]
)


@every_coefficient
@given(scores=TIED_PAIRS)
def test_values_lie_between_the_floor_and_one(name: str, scores: Floats) -> None:
    value = COEFFICIENTS[name].compare(scores[0], scores[1])
    floor = COEFFICIENTS[name].lowest(7)
    assert np.isnan(value) or floor - 1e-12 <= value <= 1 + 1e-12


@every_coefficient
@given(scores=PERMUTATIONS)
def test_an_ordering_agrees_fully_with_itself(name: str, scores: Floats) -> None:
    assert COEFFICIENTS[name].compare(scores, scores) == pytest.approx(1.0, abs=1e-12)


@every_coefficient
@given(scores=PERMUTATIONS)
def test_the_reversed_ordering_agrees_least(name: str, scores: Floats) -> None:
    value = COEFFICIENTS[name].compare(-scores, scores)
    assert value == pytest.approx(COEFFICIENTS[name].lowest(7), abs=1e-12)


@symmetric
@given(scores=TIED_PAIRS)
def test_partners_may_change_places(name: str, scores: Floats) -> None:
    compare = COEFFICIENTS[name].compare
    there, back = compare(scores[0], scores[1]), compare(scores[1], scores[0])
    assert there == pytest.approx(back, abs=1e-12, nan_ok=True)


@every_coefficient
@given(scores=TIED_PAIRS)
def test_only_the_order_matters(name: str, scores: Floats) -> None:
    x, y = scores
    compare = COEFFICIENTS[name].compare
    np.testing.assert_array_equal(compare(x / 8 - 3, y**3), compare(x, y))


@every_coefficient
def test_rounding_noise_does_not_break_ties(name: str) -> None:
    compare = COEFFICIENTS[name].compare
    noisy, tied, other = np.array([[0.1 + 0.2, 0.3, 0.5], [0.3, 0.3, 0.5], [0.2, 0.1, 0.7]])
    np.testing.assert_array_equal(compare(noisy, other), compare(tied, other))


@every_coefficient
def test_many_estimates_against_one_reference_are_each_compared(name: str) -> None:
    compare, scores = COEFFICIENTS[name].compare, np.array([X, Y, -X])
    np.testing.assert_array_equal(compare(scores, Y), [compare(row, Y) for row in scores])
    np.testing.assert_array_equal(compare(Y, scores), [compare(Y, row) for row in scores])


@every_coefficient
def test_an_undefined_score_leaves_the_agreement_undefined(name: str) -> None:
    compare, hole = COEFFICIENTS[name].compare, np.array([0.1, np.nan, 0.3])
    assert np.isnan(compare(hole, np.arange(3.0)))
    assert np.isnan(compare(np.arange(3.0), hole))


def test_the_default_comes_first_and_the_others_are_further_ones() -> None:
    assert [*COEFFICIENTS] == ["tau-b", "tau-ap", "rbo"]
    found = further_coefficients(X, Y)
    assert [*found] == ["tau-ap", "rbo"]
    assert found["tau-ap"] == tau_ap(X, Y)
    assert found["rbo"] == rbo(X, Y)


def test_a_coefficient_whose_partners_may_not_change_places_says_so() -> None:
    assert tau_ap(X, Y) != tau_ap(Y, X)
    by_symmetry = {name: one.symmetric for name, one in COEFFICIENTS.items()}
    assert by_symmetry == {"tau-b": True, "tau-ap": False, "rbo": True}


def test_coefficients_are_averaged_over_the_samples_in_which_they_are_defined() -> None:
    """tau_AP of the second of three samples, which has ties, is undefined."""
    samples = np.array([[[1.0, 2, 3], [1, 1, 3], [3, 2, 1]]])
    reference = np.array([[[1.0, 2, 3]]])
    found = mean_coefficients(samples, reference)
    assert found["tau-ap"] == pytest.approx([(1 - 1) / 2])
    every = [rbo(sample, reference[0, 0]) for sample in samples[0]]
    assert found["rbo"] == pytest.approx([np.mean(every)])
    assert np.isnan(mean_coefficients(samples[:, 1:2], reference)["tau-ap"]).all()


def test_what_is_stacked_has_the_levels_as_its_second_axis() -> None:
    levels = [{"rbo": np.array([1.0, 2.0])}, {"rbo": np.array([3.0, 4.0])}, {"rbo": np.zeros(2)}]
    assert stack_levels(levels)["rbo"].tolist() == [[1, 3, 0], [2, 4, 0]]


@pytest.mark.parametrize(("n_systems", "persistence"), [(2, 0.9), (3, 0.5)])
def test_the_lowest_overlap_is_that_of_a_reversed_ordering(
    n_systems: int, persistence: float
) -> None:
    """Of 2 nothing agrees at depth 1, all at 2; of 3 a half does at 2: with p = .5, 3/8."""
    by_hand = {2: 0.9 * 0.1 + 0.9**2, 3: 0.5 * 0.5 * 0.5 + 0.25 * 0.5 + 0.125}
    assert rbo_floor(n_systems, persistence=persistence) == pytest.approx(by_hand[n_systems])
    if persistence == 0.9:
        assert COEFFICIENTS["rbo"].lowest(n_systems) == pytest.approx(by_hand[n_systems])
    assert COEFFICIENTS["tau-b"].lowest(n_systems) == COEFFICIENTS["tau-ap"].lowest(n_systems) == -1


def test_a_coefficient_is_found_by_its_name() -> None:
    assert find_coefficient("rbo").compare(X, X) == pytest.approx(1)
    with pytest.raises(InputError, match="no coefficient is called 'tau'"):
        find_coefficient("tau")
