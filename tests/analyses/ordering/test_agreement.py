"""Quotients, means and deviations where they are defined."""

import numpy as np
import pytest

from analyses.ordering.agreement import deviation_of_defined, mean_of_defined, ratio_or_nan

HOLED = np.array([[1.0, np.nan, 4.0, 7.0], [np.nan, 2.0, np.nan, np.nan], [np.nan] * 4])


def test_what_is_divided_by_nothing_is_undefined() -> None:
    found = ratio_or_nan(np.array([1.0, 0.0, 3.0, 3.0]), np.array([2.0, 0.0, 0.0, -1.0]))
    np.testing.assert_array_equal(found, [0.5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(
        ratio_or_nan(6, np.array([[2, 0], [3, 4]])), [[3, np.nan], [2, 1.5]]
    )


def test_a_mean_is_of_what_is_defined() -> None:
    np.testing.assert_array_equal(mean_of_defined(HOLED), [4.0, 2.0, np.nan])


def test_weights_of_what_is_undefined_do_not_count() -> None:
    weights = np.array([2.0, 5.0, 1.0, 1.0])
    # (2 x 1 + 4 + 7) / 4, and 5 x 2 / 5.
    np.testing.assert_array_equal(mean_of_defined(HOLED, weights), [13 / 4, 2.0, np.nan])
    # A weight for each row and column.
    rows = np.array([[1.0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1]])
    np.testing.assert_array_equal(mean_of_defined(HOLED, rows), [4.0, np.nan, np.nan])


def test_a_deviation_is_of_two_defined_values_or_more() -> None:
    found = deviation_of_defined(HOLED)
    assert found[0] == pytest.approx(np.std([1, 4, 7], ddof=1)) == 3
    assert np.isnan(found[1:]).all()


def test_equal_values_deviate_by_exactly_0() -> None:
    """The mean of three times .1 is rounded."""
    assert deviation_of_defined(np.array([0.1, 0.1, np.nan, 0.1])) == 0
    assert deviation_of_defined(np.array([0.1, 0.1, np.nan, 0.3])) > 0
