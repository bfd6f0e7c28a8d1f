"""Errors of estimates and costs of samples."""

import numpy as np
import pytest

from analyses.sampled.expectation.errors import (
    cost_per_size,
    mean_adaptive_size,
    order_count,
    relative_error,
    winner_count,
)
from runs import InputError


def test_a_truth_of_zero_counts_as_right_for_the_authors() -> None:
    assert relative_error([0.3, 0.11, 0.18], [0, 0.1, 0.2], zero="authors").value == pytest.approx(
        20 / 3
    )


def test_a_truth_of_zero_throughout_has_no_relative_error() -> None:
    error = relative_error([0.1, 0.2], [0.0, 0.0])
    assert np.isnan(error.value)
    assert "0 at 2 cut-offs" in error.remark()


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


@pytest.mark.parametrize(
    ("rank", "size"), [(1, 3200), (10, 1398.5095), (100, 171.73883), (1000, 100.00272)]
)
def test_the_mean_size_of_adaptive_samples_is_known(rank: int, size: float) -> None:
    found = mean_adaptive_size([rank], n_candidates=9916)
    np.testing.assert_allclose(found, [size], rtol=1e-7)


def test_the_last_size_must_be_the_first_doubled() -> None:
    with pytest.raises(InputError, match=r"n0 \(100\) times a power of 2, got 1000"):
        mean_adaptive_size([1], n_candidates=50, n_max=1000)


def test_a_size_nobody_ends_at_costs_without_end() -> None:
    assert cost_per_size([4], n0=2, n_max=8) == {2: np.inf, 4: 2.0}
