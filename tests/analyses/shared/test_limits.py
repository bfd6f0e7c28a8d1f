"""Limits of intervals from replicates, on every scale."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.shared.limits import (
    NORMAL_QUANTILE,
    arcsine_limits,
    joint_quantile,
    normal_limits,
    ratio_limits,
    standard_deviations,
    variance_stabilised,
)

NUMBERS = st.lists(st.floats(0.01, 0.99), min_size=3, max_size=9)


@given(st.floats(0.01, 0.99), NUMBERS)
def test_every_scale_has_the_estimate_in_its_interval(estimate: float, values: list[float]) -> None:
    for around in (normal_limits, ratio_limits, arcsine_limits):
        low, high = around(np.array(estimate), np.array(values))
        assert low <= estimate + 1e-12
        assert high >= estimate - 1e-12


@pytest.mark.parametrize("around", [normal_limits, ratio_limits, arcsine_limits])
@pytest.mark.parametrize("n_replicates", [0, 1])
def test_fewer_than_two_replicates_tell_nothing(around: object, n_replicates: int) -> None:
    assert callable(around)
    assert np.isnan(around(np.array([0.5]), np.full((1, n_replicates), 0.5))).all()


def test_replicates_near_an_end_are_spread_as_an_estimate_there_would_be() -> None:
    angles = np.arcsin(0.5) + np.array([-0.1, 0.0, 0.1])
    near_the_end = variance_stabilised(np.array([0.99]), np.sin(angles)[None])
    in_the_middle = variance_stabilised(np.array([0.0]), np.sin(angles)[None])
    assert standard_deviations(near_the_end)[0] == pytest.approx(np.cos(np.arcsin(0.99)) * 0.11)
    assert standard_deviations(in_the_middle)[0] == pytest.approx(0.11)


def test_equal_comparisons_count_once(rng: np.random.Generator) -> None:
    one = rng.normal(size=(1, 999))
    assert joint_quantile(one.repeat(50, axis=0)) == pytest.approx(joint_quantile(one))


def test_joint_intervals_hold_for_all_at_once(rng: np.random.Generator) -> None:
    """Of 400 families of 15, 95 % should hold; fewer than 365 do with a chance below 1 in 1,000."""
    truths, replicates = np.zeros((400, 15)), rng.normal(size=(15, 2000))
    observed = truths + rng.normal(size=truths.shape)
    low, high = normal_limits(observed, replicates, quantile=joint_quantile(replicates))
    n_held = np.count_nonzero(((low <= truths) & (truths <= high)).all(axis=1))
    assert 365 <= n_held <= 394


# Numbers that are stated by hand

NORMAL = NormalDist()


def test_deviations_are_of_what_is_defined() -> None:
    values = np.array([[1.0, 2.0, 4.0], [1.0, np.nan, 4.0], [1.0, np.nan, np.inf]])
    expected = [float(np.std([1, 2, 4], ddof=1)), float(np.std([1, 4], ddof=1)), np.nan]
    np.testing.assert_allclose(standard_deviations(values), expected)
    # In binary, the mean of ten times .1 is not .1.
    assert standard_deviations(np.full((2, 10), 0.1)).tolist() == [0, 0]


def test_an_interval_reaches_1_96_deviations_to_each_side_and_ends_at_the_limits() -> None:
    estimates, replicates = np.array([0.5, 0.9]), np.array([[0.4, 0.6], [0.8, 1.0]])
    width = 1.959964 * np.sqrt(0.02)
    low, high = normal_limits(estimates, replicates)
    np.testing.assert_allclose(low, estimates - width, rtol=1e-6)
    np.testing.assert_allclose(high, estimates + width, rtol=1e-6)
    low, high = normal_limits(estimates, replicates, quantile=1.0, bounds=(0.45, 0.95))
    np.testing.assert_allclose(low, [0.45, 0.9 - np.sqrt(0.02)])
    np.testing.assert_allclose(high, [0.5 + np.sqrt(0.02), 0.95])


def test_an_interval_of_ratios_is_one_of_logarithms() -> None:
    """Logarithms of 1 and e² deviate by sqrt(2)."""
    width = 1.959964 * np.sqrt(2)
    low, high = ratio_limits(np.array([2.0]), np.array([[1.0, np.e**2]]))
    np.testing.assert_allclose([*low, *high], [2 / np.exp(width), 2 * np.exp(width)], rtol=1e-5)
    _, high = ratio_limits(np.array([2.0]), np.array([[1.0, np.e**2]]), highest=3.0)
    assert high.tolist() == [3]


def test_what_is_below_1e16_is_as_good_as_0() -> None:
    low, high = ratio_limits(np.array([0.0]), np.array([[0.0, 1e-17]]))
    assert [*low, *high] == pytest.approx([1e-16, 1e-16], rel=1e-9)


def test_an_interval_of_arcsines_is_a_tenth_wider_and_ends_at_1() -> None:
    angles = np.array([[0.1, 0.3]])
    width = 1.1 * 1.959964 * np.sqrt(0.02)
    low, high = arcsine_limits(np.array([0.0]), np.sin(angles))
    np.testing.assert_allclose([*low, *high], [-np.sin(width), np.sin(width)], rtol=1e-6)
    low, high = arcsine_limits(np.array([0.0]), np.sin(angles), factor=1.0)
    np.testing.assert_allclose(high, np.sin(width / 1.1), rtol=1e-6)
    for end in (-1.0, 1.0):
        low, high = arcsine_limits(np.array([end]), np.sin(5 * angles))
        assert {float(low[0]), float(high[0])} >= {end}
    # Wider than the whole range.
    low, high = arcsine_limits(np.array([0.0]), np.sin(np.array([[-1.0, 1.0]])))
    assert [*low, *high] == [-1, 1]


def test_moved_replicates_have_the_estimate_as_their_mean() -> None:
    angles = np.arcsin(0.5) + np.array([[-0.1, 0.0, 0.1]])
    moved = variance_stabilised(np.array([0.3]), np.sin(angles), factor=1.0)
    cosine = np.sqrt(1 - 0.3**2)
    np.testing.assert_allclose(moved, [[0.3 - 0.1 * cosine, 0.3, 0.3 + 0.1 * cosine]])
    # An estimate at the end is taken to be a deviation, .1, from it.
    at_end = variance_stabilised(np.array([1.0]), np.sin(angles))
    np.testing.assert_allclose(at_end[0] - 1, 1.1 * np.sin(0.1) * np.array([-0.1, 0, 0.1]))
    # Never farther than the middle.
    wide = variance_stabilised(np.array([0.0]), np.sin(np.array([[-1.5, 1.5]])), factor=1.0)
    np.testing.assert_allclose(wide, [[-1.5, 1.5]])


@pytest.mark.parametrize("one_sided", [False, True])
def test_the_joint_reach_is_the_95th_percentile_of_the_largest_deviation(
    one_sided: bool, rng: np.random.Generator
) -> None:
    """Of 999 replicates, the 950th largest of all, of those rows that vary."""
    replicates = rng.normal(size=(5, 999)) * np.arange(1, 6)[:, None]
    replicates[3] = 2.0
    largest = []
    for column in range(999):
        own = []
        for row in (0, 1, 2, 4):
            values = replicates[row]
            deviation = (values[column] - values.mean()) / values.std(ddof=1)
            own.append(deviation if one_sided else abs(deviation))
        largest.append(max(own))
    expected = sorted(largest)[949]
    assert joint_quantile(replicates, one_sided=one_sided) == pytest.approx(expected)


def test_the_joint_reach_is_never_less_than_that_of_one() -> None:
    flat = np.ones((3, 10))
    assert joint_quantile(flat) == NORMAL_QUANTILE == pytest.approx(NORMAL.inv_cdf(0.975))
    assert joint_quantile(flat, one_sided=True) == pytest.approx(NORMAL.inv_cdf(0.95))
    two = np.array([[0.0, 1.0] * 50])
    assert joint_quantile(two) == pytest.approx(NORMAL.inv_cdf(0.975))
