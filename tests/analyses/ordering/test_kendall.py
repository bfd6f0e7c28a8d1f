import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from scipy.stats import kendalltau

from analyses.ordering import tau_a, tau_b
from tests.analyses.ordering.examples import TIED_PAIRS, X_TIED, Y_TIED, X, Y


def test_the_published_examples() -> None:
    assert tau_b(X, Y) == pytest.approx(0.7777778, abs=5e-8)
    assert tau_b(X_TIED, Y_TIED) == pytest.approx(0.75)
    assert tau_a(Y_TIED, X) == pytest.approx(0.7111111, abs=5e-8)


@given(TIED_PAIRS)
def test_tau_b_is_scipys(scores: NDArray[np.float64]) -> None:
    expected = kendalltau(scores[0], scores[1]).statistic
    assert tau_b(scores[0], scores[1]) == pytest.approx(expected, abs=1e-15, nan_ok=True)


@given(TIED_PAIRS)
def test_tau_a_is_the_agreement_over_all_pairs(scores: NDArray[np.float64]) -> None:
    first, second = np.sign(scores[:, :, None] - scores[:, None, :])
    assert tau_a(scores[0], scores[1]) == (first * second).sum() / (7 * 6)


def test_tau_b_is_undefined_where_all_systems_tie() -> None:
    assert np.isnan(tau_b(np.ones(3), np.arange(3.0)))


def test_a_reference_for_each_group_of_samples_is_used_for_that_group() -> None:
    samples = np.array([[X, Y, -X], [Y, -Y, -X]])
    references = np.array([[X], [Y]])
    expected = np.array([tau_b(samples[0], X), tau_b(samples[1], Y)])
    np.testing.assert_array_equal(tau_b(samples, references), expected)


def test_scores_that_lie_apart_in_memory_are_compared_alike() -> None:
    samples = np.array([X, Y, -X]).T.copy().T
    np.testing.assert_array_equal(tau_b(samples, X), tau_b(samples.copy(), X))
