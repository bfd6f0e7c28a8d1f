import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.shared.estimate import (
    REACH,
    arcsine_around,
    deviations,
    joint_reach,
    ratio_around,
    spread_around,
    stabilised,
)

NUMBERS = st.lists(st.floats(0.01, 0.99), min_size=3, max_size=9)


@given(st.floats(0.01, 0.99), NUMBERS)
def test_every_scale_has_the_estimate_in_its_interval(estimate: float, values: list[float]) -> None:
    for around in (spread_around, ratio_around, arcsine_around):
        low, high = around(np.array(estimate), np.array(values))
        assert low <= estimate + 1e-12
        assert high >= estimate - 1e-12


def test_limits_of_a_range_are_kept() -> None:
    replicates = np.array([0.1, 0.5, 0.9, 0.99])
    assert arcsine_around(np.array(0.95), replicates)[1] <= 1
    assert ratio_around(np.array(2.0), replicates, highest=3.0)[1] == 3.0
    assert ratio_around(np.array(2.0), replicates)[0] > 0


@pytest.mark.parametrize("around", [spread_around, ratio_around, arcsine_around])
@pytest.mark.parametrize("n_replicates", [0, 1])
def test_fewer_than_two_replicates_tell_nothing(around: object, n_replicates: int) -> None:
    assert callable(around)
    assert np.isnan(around(np.array([0.5]), np.full((1, n_replicates), 0.5))).all()


def test_what_does_not_vary_has_an_interval_of_one_point() -> None:
    assert deviations(np.full((1, 7), 0.1)).tolist() == [0.0]
    low, high = spread_around(np.array([0.1]), np.full((1, 7), 0.1))
    assert low.tolist() == high.tolist() == [0.1]


def test_replicates_near_an_end_are_spread_as_an_estimate_there_would_be() -> None:
    angles = np.arcsin(0.5) + np.array([-0.1, 0.0, 0.1])
    near_the_end = stabilised(np.array([0.99]), np.sin(angles)[None])
    in_the_middle = stabilised(np.array([0.0]), np.sin(angles)[None])
    assert deviations(near_the_end)[0] == pytest.approx(np.cos(np.arcsin(0.99)) * 0.1)
    assert deviations(in_the_middle)[0] == pytest.approx(0.1)


def test_one_comparison_is_reached_as_far_as_alone(rng: np.random.Generator) -> None:
    assert joint_reach(np.zeros((0, 9))) == joint_reach(np.zeros((4, 9))) == REACH
    assert joint_reach(rng.uniform(size=(1, 999))) == REACH


def test_equal_comparisons_count_once(rng: np.random.Generator) -> None:
    one = rng.normal(size=(1, 999))
    assert joint_reach(one.repeat(50, axis=0)) == pytest.approx(joint_reach(one))


def test_joint_intervals_hold_for_all_at_once(rng: np.random.Generator) -> None:
    """Of 400 families of 15, 95 % should hold; fewer than 365 do with a chance below 1 in 1,000."""
    truths, replicates = np.zeros((400, 15)), rng.normal(size=(15, 2000))
    observed = truths + rng.normal(size=truths.shape)
    low, high = spread_around(observed, replicates, reach=joint_reach(replicates))
    n_held = np.count_nonzero(((low <= truths) & (truths <= high)).all(axis=1))
    assert 365 <= n_held <= 394
