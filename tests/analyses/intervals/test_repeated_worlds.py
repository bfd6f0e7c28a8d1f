import numpy as np
import pytest
from scipy import stats

from analyses.intervals.systems import over_worlds
from analyses.ordering import tau_b


def test_the_interval_of_a_mean_is_student_s(rng: np.random.Generator) -> None:
    values = rng.normal(size=(4, 10))
    known = stats.t.interval(0.95, 9, values.mean(axis=1), stats.sem(values, axis=1))
    for limit, expected in zip(over_worlds(values), known, strict=True):
        assert limit == pytest.approx(expected)


def test_intervals_that_hold_at_once_are_those_of_a_higher_level(rng: np.random.Generator) -> None:
    values = rng.normal(size=10)
    known = stats.t.interval(0.99, 9, values.mean(), stats.sem(values))
    assert over_worlds(values, at_once=5) == pytest.approx(known)


def test_worlds_in_which_a_value_is_undefined_are_left_out(rng: np.random.Generator) -> None:
    values = rng.random(6)
    holed = np.insert(values, [0, 3], np.nan)
    assert over_worlds(holed) == pytest.approx(over_worlds(values))


def test_of_one_world_no_interval_is_known() -> None:
    assert np.isnan(over_worlds(np.array([[0.5], [np.nan]]))).all()


def test_worlds_that_are_all_the_same_give_an_interval_without_width() -> None:
    assert over_worlds(np.full(10, 0.1)) == pytest.approx((0.1, 0.1), abs=0)


def test_intervals_end_at_the_limits() -> None:
    low, high = over_worlds(np.array([0.2, 1.0]), limits=(-1.0, 1.0))
    assert (float(low), float(high)) == (-1.0, 1.0)


@pytest.mark.parametrize("n_systems", [8, 20])
@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_intervals_over_worlds_hold_the_mean_tau_of_all_worlds(
    n_systems: int, correlation: float, rng: np.random.Generator
) -> None:
    """Of normal systems mean tau is 2 / pi arcsin of the correlation (Kendall)."""
    truly = 2 / np.pi * np.arcsin(correlation)
    true, noise = rng.normal(size=(2, 1000, 10, n_systems))
    measured = correlation * true + np.sqrt(1 - correlation**2) * noise
    low, high = over_worlds(tau_b(measured, true), limits=(-1.0, 1.0))
    assert ((low <= truly) & (truly <= high)).mean() >= 0.9
