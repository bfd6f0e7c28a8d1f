"""Errors of estimates and costs of samples."""

import numpy as np
import pytest

from analyses.sampled.expectation.errors import order_count, relative_error, winner_count
from runs import InputError


def test_a_truth_of_zero_counts_as_right_for_the_authors() -> None:
    assert relative_error([0.3, 0.11, 0.18], [0, 0.1, 0.2], zero="authors").value == pytest.approx(
        20 / 3
    )


def test_a_truth_of_zero_throughout_has_no_relative_error() -> None:
    error = relative_error([0.1, 0.2], [0.0, 0.0])
    assert np.isnan(error.value)
    assert error.n_skipped == 2


def test_the_truth_is_not_written_into() -> None:
    truth = np.array([0.0, 0.1])
    relative_error(np.array([0.3, 0.2]), truth, zero="authors")
    np.testing.assert_array_equal(truth, [0.0, 0.1])


def test_curves_must_have_one_length() -> None:
    with pytest.raises(InputError, match="one shape"):
        relative_error([0.1], [0.1, 0.2])


def test_a_tied_estimate_is_not_a_correct_one() -> None:
    assert order_count(np.array([0.2]), np.array([0.2]), truth=[0.1, 0.2]).n_correct == 0


def test_true_ties_are_excluded_and_counted() -> None:
    count = winner_count(np.array([[0.1, 0.2]]), [0.3, 0.3])
    assert (count.n_repeats, count.n_ties) == (0, 1)
    assert np.isnan(count.share)


def test_accuracy_is_the_share_of_repeats_that_find_the_winner() -> None:
    assert winner_count(np.array([[0.1, 0.2], [0.3, 0.2]]), [0.1, 0.3]).share == 0.5
