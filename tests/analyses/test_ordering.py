import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import kendalltau

from analyses.ordering import tau_b

X = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
Y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])


def test_the_published_examples() -> None:
    assert tau_b(X, Y) == pytest.approx(0.7777778, abs=5e-8)
    assert tau_b(np.round(5 * X) / 5, np.round(5 * Y) / 5) == pytest.approx(0.75)


@given(arrays(np.float64, (2, 7), elements=st.integers(0, 4).map(float)))
def test_tau_b_is_scipys(scores: NDArray[np.float64]) -> None:
    expected = kendalltau(scores[0], scores[1]).statistic
    assert tau_b(scores[0], scores[1]) == pytest.approx(expected, abs=1e-15, nan_ok=True)


def test_many_orderings_at_once_are_each_compared() -> None:
    np.testing.assert_allclose(tau_b(np.stack([X, -X]), X), [1.0, -1.0])


def test_rounding_noise_does_not_break_ties() -> None:
    assert tau_b(np.array([0.1 + 0.2, 0.3, 0.5]), np.array([1.0, 1.0, 2.0])) == 1.0


def test_tau_is_undefined_where_all_systems_tie() -> None:
    assert np.isnan(tau_b(np.ones(3), np.arange(3.0)))
