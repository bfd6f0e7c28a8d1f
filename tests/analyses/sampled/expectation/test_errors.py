"""Errors of estimates."""

import numpy as np

from analyses.sampled.expectation.errors import relative_error, winner_count


def test_a_truth_of_zero_throughout_has_no_relative_error() -> None:
    assert np.isnan(relative_error(np.array([0.1, 0.2]), np.zeros(2)))


def test_curves_have_errors_of_their_own() -> None:
    curves, truth = np.array([[0.3, 0.11, 0.18], [0.0, 0.1, 0.1]]), np.array([0, 0.1, 0.2])
    np.testing.assert_allclose(relative_error(curves, truth), [10, 25])


def test_a_tied_estimate_is_not_a_correct_one() -> None:
    assert winner_count(np.array([[0.2], [0.2]]), np.array([0.1, 0.2])) == (0, 1)


def test_true_ties_are_excluded() -> None:
    assert winner_count(np.array([[0.1], [0.2]]), np.array([0.3, 0.3])) == (0, 0)


def test_repeats_that_find_the_winner_are_counted() -> None:
    assert winner_count(np.array([[0.1, 0.3], [0.2, 0.2]]), np.array([0.1, 0.3])) == (1, 2)
