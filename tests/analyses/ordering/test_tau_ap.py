from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from analyses.ordering import tau_ap, tau_ap_a, tau_ap_b
from tests.analyses.ordering.examples import PERMUTATIONS, TIED_PAIRS, X_TIED, Y_TIED, X, Y

Floats = NDArray[np.float64]


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


def test_the_published_examples() -> None:
    assert tau_ap(Y, X) == pytest.approx(0.7491182, abs=5e-8)
    assert tau_ap(X, Y) == pytest.approx(0.7592593, abs=5e-8)
    assert tau_ap_a(Y_TIED, X) == pytest.approx(0.6074515, abs=5e-8)
    assert tau_ap_b(X, Y) == pytest.approx(0.7541887, abs=5e-8)
    assert tau_ap_b(X_TIED, Y_TIED) == pytest.approx(0.6269841, abs=5e-8)


@given(PERMUTATIONS, PERMUTATIONS)
def test_tau_ap_walks_down_the_estimate(estimate: Floats, reference: Floats) -> None:
    assert tau_ap(estimate, reference) == pytest.approx(walk(estimate, reference), abs=1e-12)


@pytest.mark.parametrize(
    "estimate",
    [[2, 2, 1, 3, 1], [1, 1, 1, 1, 1], [5, 5, 5, 1, 2], [1, 3, 1, 3, 1], [4, 2, 2, 2, 2]],
    ids=str,
)
def test_tau_ap_a_is_the_mean_over_all_ways_to_break_ties(estimate: list[int]) -> None:
    scores, reference = np.array(estimate, dtype=np.float64), np.array([3.0, 5, 1, 4, 2])
    mean = np.mean([walk(order, reference) for order in broken_ties(scores)])
    assert tau_ap_a(scores, reference) == pytest.approx(mean, abs=1e-12)


@given(PERMUTATIONS, PERMUTATIONS)
def test_without_ties_tau_ap_b_is_the_mean_of_both_directions(x: Floats, y: Floats) -> None:
    assert tau_ap_b(x, y) == pytest.approx((walk(x, y) + walk(y, x)) / 2, abs=1e-12)


@given(TIED_PAIRS)
def test_tau_ap_b_is_the_mean_share_of_strict_betters(scores: Floats) -> None:
    def half(estimate: Floats, reference: Floats) -> float:
        better = estimate[None, :] > estimate[:, None]
        right = better & (reference[None, :] > reference[:, None])
        below = better.any(axis=1)
        if not below.any():
            return float("nan")
        return float(2 * (right.sum(axis=1)[below] / better.sum(axis=1)[below]).mean() - 1)

    x, y = scores
    expected = (half(x, y) + half(y, x)) / 2
    assert tau_ap_b(x, y) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_tau_ap_makes_up_no_order_for_ties() -> None:
    assert np.isnan(tau_ap(Y_TIED, X))
    assert np.isnan(tau_ap(X, Y_TIED))


@pytest.mark.parametrize("n_systems", range(2, 30))
def test_tau_ap_a_is_exactly_0_where_the_estimate_ties_all(n_systems: int) -> None:
    assert tau_ap_a(np.ones(n_systems), np.arange(float(n_systems))) == 0


def test_tau_ap_a_makes_up_no_order_for_ties_of_the_reference() -> None:
    assert np.isnan(tau_ap_a(X, Y_TIED))
