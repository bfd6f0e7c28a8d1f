"""A value with its interval, and how both are printed."""

from __future__ import annotations

import math

import pytest

from analyses.shared.estimate import Estimate


@pytest.mark.parametrize(
    ("estimate", "printed"),
    [
        (Estimate(0.6947, 0.6388, 0.7336), ".69 [.64, .73]"),
        (Estimate(3.893, 2.532, 5.986), "3.9 [2.5, 6.0]"),
        (Estimate(-0.00041, -0.0131, 0.0122), ".000 [-.013, .012]"),
        (Estimate(0.5), ".500"),
    ],
)
def test_a_number_has_the_digits_that_its_interval_supports(
    estimate: Estimate, printed: str
) -> None:
    assert str(estimate) == printed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high", "is_beyond"),
    [
        (0.1, 0.2, True),
        (-0.2, -0.1, True),
        (-0.1, 0.1, False),
        (0.0, 0.1, False),
        (-0.1, 0.0, False),
        (math.nan, math.nan, False),
    ],
)
def test_an_interval_without_0_is_beyond_noise(low: float, high: float, is_beyond: bool) -> None:
    assert Estimate(0.0, low, high).is_beyond_noise == is_beyond


def test_limits_are_in_brackets_where_both_are_known() -> None:
    assert Estimate(0.5, 0.4, 0.6).bracketed(2) == "[.40, .60]"
    assert Estimate(0.5, 0.4, math.nan).bracketed(2) == ""
    assert Estimate(0.5, math.nan, 0.6).interval == ""
    assert Estimate(0.5, 0.0001, 0.6).bracketed(2, by_ratio=True) == "[1.0e-04, .60]"
    assert Estimate(0.0001, 0.0001, 0.6).printed(2, by_ratio=True) == "1.0e-04 [1.0e-04, .60]"
