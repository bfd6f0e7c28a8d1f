from itertools import permutations, product
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from analyses.ordering import rbo, rbo_floor
from tests.analyses.ordering.examples import TIED_PAIRS, X_TIED, Y_TIED, X, Y
from tests.analyses.ordering.test_tau_ap import broken_ties

Floats = NDArray[np.float64]


def overlap(x: Floats, y: Floats, persistence: float) -> float:
    """The definition, without ties: what the sets of the top d have in common."""
    first, second = np.argsort(-x), np.argsort(-y)
    depths = range(1, len(x) + 1)
    agreements = [len({*first[:d]} & {*second[:d]}) / d for d in depths]
    weighted = sum(persistence**d * a for d, a in zip(depths, agreements, strict=True))
    return float((1 - persistence) / persistence * weighted + persistence ** len(x))


@pytest.mark.parametrize(
    ("x", "y", "persistence", "variant", "value"),
    [
        (X, Y, 0.9, "a", 0.9184213),
        (X, Y, 0.9, "b", 0.9184213),
        (X_TIED, Y_TIED, 0.9, "a", 0.8392536),
        (X_TIED, Y_TIED, 0.9, "b", 0.8878420),
        (Y_TIED, Y_TIED, 0.9, "a", 0.9261126),
        (Y_TIED, Y_TIED, 0.9, "b", 1.0),
        (X, Y, 0.8, "b", 0.8779390),
        (X_TIED, Y_TIED, 0.8, "a", 0.7242390),
        (X_TIED, Y_TIED, 0.8, "b", 0.8045876),
    ],
)
def test_the_reference_values(
    x: Floats, y: Floats, persistence: float, variant: Literal["a", "b"], value: float
) -> None:
    assert rbo(x, y, persistence=persistence, variant=variant) == pytest.approx(value, abs=5e-8)


@pytest.mark.parametrize(("persistence", "floor"), [(0.9, 0.5116076), (0.8, 0.2473058)])
def test_the_floor_is_that_of_the_reversed_order(persistence: float, floor: float) -> None:
    assert rbo(X, -X, persistence=persistence) == pytest.approx(floor, abs=5e-8)
    assert rbo_floor(len(X), persistence=persistence) == pytest.approx(floor, abs=5e-8)


def test_no_permutation_is_below_the_floor() -> None:
    orders = np.array([*permutations(np.arange(5.0))])
    assert rbo(orders, orders[0]).min() == pytest.approx(rbo_floor(5), abs=1e-12)


def test_variant_a_is_the_mean_over_all_ways_to_break_ties() -> None:
    x, y = np.array([2.0, 2, 1, 3, 1]), np.array([1.0, 3, 3, 3, 2])
    both = product(broken_ties(x), broken_ties(y))
    mean = np.mean([overlap(first, second, 0.7) for first, second in both])
    assert rbo(x, y, persistence=0.7, variant="a") == pytest.approx(mean, abs=1e-12)


@given(TIED_PAIRS)
def test_variant_b_lets_a_tied_ordering_agree_with_itself(scores: Floats) -> None:
    assert rbo(scores, scores) == pytest.approx(np.ones(2), abs=1e-12)
