import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyses.ordering import COEFFICIENTS
from analyses.ordering.coefficients import further_coefficients, mean_coefficients
from analyses.ordering.correlations import mean_of_defined

REFERENCE = np.array([[4.0, 3.0, 2.0, 1.0]])


def test_with_tau_b_the_coefficients_are_all_that_there_are() -> None:
    assert {"tau-b", *further_coefficients(REFERENCE, REFERENCE)} == set(COEFFICIENTS)


def test_the_second_ordering_is_the_reference() -> None:
    estimate = np.array([[4.0, 1.0, 3.0, 2.0]])
    found = further_coefficients(estimate, REFERENCE)["tau-ap"]
    assert found == COEFFICIENTS["tau-ap"].compare(estimate, REFERENCE)
    assert found != COEFFICIENTS["tau-ap"].compare(REFERENCE, estimate)


def test_samples_in_which_a_coefficient_is_undefined_are_left_out() -> None:
    samples = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
    assert mean_coefficients(samples, REFERENCE)["tau-ap"] == 0.0


@given(st.lists(st.floats(-1, 1) | st.just(np.nan), min_size=1, max_size=5))
def test_a_weight_is_as_good_as_a_repetition(values: list[float]) -> None:
    once = mean_of_defined(np.array(values), weights=np.arange(len(values)))
    repeated = mean_of_defined(np.repeat(np.array(values), np.arange(len(values))))
    np.testing.assert_allclose(once, repeated, atol=1e-15)
