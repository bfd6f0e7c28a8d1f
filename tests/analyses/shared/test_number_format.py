"""Numbers as they are printed, in tables and sentences."""

from __future__ import annotations

from math import inf, nan

import pytest

from analyses.shared.number_format import (
    common_decimals,
    format_cell,
    percent,
    rounded,
    supported_decimals,
)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (0.12345, "0.1235"),
        (5e-5, "0.0001"),
        (4.9e-5, "4.9e-05"),
        (-4.9e-5, "-4.9e-05"),
        (0.0, "0.0000"),
        (1e-12, "1.0e-12"),
        (0.9e-12, "< 1e-12"),
        (-0.5, "-0.5000"),
        (nan, "–"),
        (7, "7"),
        (12345, "12345"),
        ("a", "a"),
    ],
)
def test_a_cell_has_four_decimals_or_a_power_where_these_are_zero(
    cell: float | str, text: str
) -> None:
    assert format_cell(cell) == text


def test_a_number_is_lost_where_its_decimals_are_zero() -> None:
    assert format_cell(0.05, decimals=1) == "0.1"
    assert format_cell(0.049, decimals=1) == "4.9e-02"


@pytest.mark.parametrize(
    ("low", "high", "decimals"),
    [
        (0.0, 0.08, 2),
        (0.0, 0.0799, 3),
        (-0.04, 0.04, 2),
        (0.0, 0.8, 1),
        (0.0, 8.0, 0),
        (0.0, 800.0, 0),
        (0.0, 8e-5, 5),
        (0.0, 8e-7, 5),
        (0.5, 0.5, 3),
        (0.6, 0.5, 3),
        (nan, 0.5, 3),
        (0.5, nan, 3),
        (0.3, inf, 2),
        (3.0, inf, 1),
        (0.0, inf, 1),
    ],
)
def test_the_last_decimal_is_at_most_an_eighth_of_the_interval(
    low: float, high: float, decimals: int
) -> None:
    """Without an upper limit, the interval is taken to be from 0 to the lower one."""
    assert supported_decimals(low, high) == decimals


def test_a_table_has_the_lower_median_of_the_decimals() -> None:
    highs = [8.0, 0.8, 0.08, 0.008]
    assert common_decimals([0.0] * 4, highs) == 1
    assert common_decimals([0.0] * 3, highs[:3]) == 1
    assert common_decimals([0.0] * 3, reversed(highs[1:])) == 2
    assert common_decimals([], []) == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.6947, ".695"),
        (-0.6947, "-.695"),
        (-0.0004, ".000"),
        (1.0, "1.000"),
        (10.5, "10.500"),
        (1234.5, "1,234.500"),
        (inf, "∞"),
        (nan, "–"),
    ],
)
def test_a_number_in_a_sentence_has_three_decimals_and_no_0_before_the_point(
    value: float, text: str
) -> None:
    assert rounded(value) == text


def test_a_share_has_two_digits_or_three_near_1() -> None:
    assert percent(0.9949) == "99 %"
    assert percent(0.995) == "99.5 %"
    assert percent(0.9994) == "99.9 %"
    assert percent(1.0) == "100 %"
    assert percent(0.0) == "0 %"
    assert percent(0.00123) == "0.12 %"
    assert percent(nan) == percent(inf) == "–"


def test_shares_are_taken_to_be_exact_to_twelve_decimals() -> None:
    assert percent(0.165) == percent(0.165 + 3e-13) == "16 %"
    assert percent(0.165 + 3e-12) == "17 %"
