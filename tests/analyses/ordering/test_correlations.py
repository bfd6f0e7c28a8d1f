"""Coefficients against their definitions, published examples and scipy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import kendalltau

from analyses.ordering import tau_ap, tau_ap_a, tau_b
from analyses.ordering.agreement import mean_of_defined
from analyses.ordering.correlations import rbo
from analyses.ordering.loops import sample_taus

Floats = NDArray[np.float64]

# The example of ircor, and orderings with many ties.
X = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
Y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
X_TIED = np.round(5 * X) / 5
Y_TIED = np.round(5 * Y) / 5

TIED_PAIRS = arrays(np.float64, (2, 7), elements=st.integers(0, 4).map(float))
PERMUTATIONS = st.permutations(range(7)).map(lambda order: np.array(order, dtype=np.float64))


def test_tau_b_has_the_published_values() -> None:
    assert tau_b(X, Y) == pytest.approx(0.7777778, abs=5e-8)
    assert tau_b(X_TIED, Y_TIED) == pytest.approx(0.75)


@given(TIED_PAIRS)
def test_tau_b_is_scipys(scores: NDArray[np.float64]) -> None:
    expected = kendalltau(scores[0], scores[1]).statistic
    assert tau_b(scores[0], scores[1]) == pytest.approx(expected, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("coefficient", [tau_b, tau_ap, rbo])
def test_rows_are_compared_with_the_rows_beside_them(
    coefficient: Callable[[Floats, Floats], Floats],
) -> None:
    one, other = np.array([X, Y, -X]), np.array([Y, -Y, X])
    expected = [coefficient(first, second) for first, second in zip(one, other, strict=True)]
    np.testing.assert_array_equal(coefficient(one, other), expected)


@pytest.mark.parametrize("coefficient", [tau_b, tau_ap, tau_ap_a, rbo])
@pytest.mark.parametrize("n_systems", [0, 1])
def test_fewer_than_two_systems_have_no_agreement(
    coefficient: Callable[[Floats, Floats], Floats], n_systems: int
) -> None:
    few = np.arange(float(n_systems))
    assert np.isnan(coefficient(few, few))
    assert coefficient(np.arange(2.0), np.arange(2.0)) == pytest.approx(1)


def test_a_reference_for_each_group_of_samples_is_used_for_that_group() -> None:
    samples = np.array([[X, Y, -X], [Y, -Y, -X]])
    references = np.array([[X], [Y]])
    expected = np.array([tau_b(samples[0], X), tau_b(samples[1], Y)])
    np.testing.assert_array_equal(tau_b(samples, references), expected)


@given(st.integers(0, 999), st.integers(2, 9), st.integers(1, 11), st.integers(2, 9))
def test_samples_give_what_the_definition_gives(
    seed: int, n_systems: int, n_samples: int, n_values: int
) -> None:
    rng = np.random.default_rng(seed)
    estimates = rng.integers(0, n_values, (3, n_systems, n_samples)).astype(np.float64)
    references = rng.integers(0, n_values, (3, n_systems)).astype(np.float64)
    expected = tau_b(estimates.swapaxes(1, 2), references[:, None, :])
    np.testing.assert_array_equal(sample_taus(estimates, references, 1.0), expected)


def test_scores_closer_than_the_scale_tie() -> None:
    estimates, references = np.array([[[1.0], [1.2]]]), np.array([[1.0, 2.0]])
    assert np.isnan(sample_taus(estimates, references, 1.0)).all()
    assert sample_taus(estimates, references, 10.0) == 1.0


def walk(estimate: Floats, reference: Floats) -> float:
    """The definition, without ties: the share of right systems above each one."""
    order = np.argsort(-estimate)
    above = [(reference[order[:i]] > reference[order[i]]).mean() for i in range(1, len(order))]
    return float(2 * np.mean(above) - 1)


def broken_ties(estimate: Floats) -> list[Floats]:
    """All orderings without ties that agree with the estimate where it has none."""
    n_systems = len(estimate)
    below = estimate[:, None] < estimate[None, :]
    orders = map(np.array, permutations(np.arange(float(n_systems))))
    return [order for order in orders if (order[:, None] < order[None, :])[below].all()]


def test_tau_ap_has_the_published_values() -> None:
    assert tau_ap(Y, X) == pytest.approx(0.7491182, abs=5e-8)
    assert tau_ap(X, Y) == pytest.approx(0.7592593, abs=5e-8)
    assert tau_ap_a(Y_TIED, X) == pytest.approx(0.6074515, abs=5e-8)


@given(PERMUTATIONS, PERMUTATIONS)
def test_tau_ap_walks_down_the_estimate(estimate: Floats, reference: Floats) -> None:
    assert tau_ap(estimate, reference) == pytest.approx(walk(estimate, reference), abs=1e-12)


@pytest.mark.parametrize("estimate", [[2, 2, 1, 3, 1], [5, 5, 5, 1, 2]], ids=str)
def test_tau_ap_a_is_the_mean_over_all_ways_to_break_ties(estimate: list[int]) -> None:
    scores, reference = np.array(estimate, dtype=np.float64), np.array([3.0, 5, 1, 4, 2])
    mean = np.mean([walk(order, reference) for order in broken_ties(scores)])
    assert tau_ap_a(scores, reference) == pytest.approx(mean, abs=1e-12)


def test_tau_ap_makes_up_no_order_for_ties() -> None:
    assert np.isnan(tau_ap(Y_TIED, X))
    assert np.isnan(tau_ap(X, Y_TIED))


def overlap(x: Floats, y: Floats, persistence: float) -> float:
    """The definition, without ties: what the sets of the top d have in common."""
    first, second = np.argsort(-x), np.argsort(-y)
    depths = range(1, len(x) + 1)
    agreements = [len({*first[:d]} & {*second[:d]}) / d for d in depths]
    weighted = sum(persistence**d * a for d, a in zip(depths, agreements, strict=True))
    return float((1 - persistence) / persistence * weighted + persistence ** len(x))


@pytest.mark.parametrize(
    ("x", "y", "persistence", "value"),
    [(X, Y, 0.9, 0.9184213), (X_TIED, Y_TIED, 0.9, 0.8878420), (X_TIED, Y_TIED, 0.8, 0.8045876)],
)
def test_rbo_has_the_reference_values(
    x: Floats, y: Floats, persistence: float, value: float
) -> None:
    assert rbo(x, y, persistence=persistence) == pytest.approx(value, abs=5e-8)


@given(PERMUTATIONS, PERMUTATIONS)
def test_rbo_is_what_the_top_sets_have_in_common(x: Floats, y: Floats) -> None:
    assert rbo(x, y) == pytest.approx(overlap(x, y, 0.9), abs=1e-12)


@given(st.lists(st.floats(-1, 1) | st.just(np.nan), min_size=1, max_size=5))
def test_a_weight_is_as_good_as_a_repetition(values: list[float]) -> None:
    once = mean_of_defined(np.array(values), weights=np.arange(len(values)))
    repeated = mean_of_defined(np.repeat(np.array(values), np.arange(len(values))))
    np.testing.assert_allclose(once, repeated, atol=1e-15)
