import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from analyses.ordering import COEFFICIENTS
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
