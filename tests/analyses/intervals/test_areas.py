import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.intervals.areas import Curves, area
from analyses.shared.estimate import Estimates
from analyses.shared.measure import Measure, Measures

MEASURES = Measures(Measure(metric, cutoff) for metric in ("P", "AP") for cutoff in (5, 10))
TAUS = np.array([[1.0, 0.5], [1.0, 0.7], [1.0, 0.9], [1.0, 0.7]])


def curves(spread: float = 0.1) -> Curves:
    """Four measures at two levels; all move together when users are resampled."""
    moves = spread * np.random.default_rng(1).normal(size=100)
    areas = TAUS.mean(axis=1)[:, None]
    # By the arcsine of their areas, each in units of what an area varies there.
    moved = 2 * np.sin(np.arcsin(areas) + moves / np.cos(np.arcsin(areas))) - 1
    replicates = np.stack([np.ones((4, 100)), moved], axis=1)
    return Curves(MEASURES, (1.0, 0.2), TAUS, replicates)


def estimates(spread: float = 0.1) -> Estimates:
    return curves(spread).estimates(loss="loss")


def test_the_area_is_the_mean_of_a_straight_curve() -> None:
    assert curves().areas()["area"].tolist() == pytest.approx([0.75, 0.85, 0.95, 0.85])


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6), st.permutations(range(6)))
def test_the_order_of_levels_does_not_matter(taus: list[float], order: list[int]) -> None:
    levels = np.linspace(1.0, 0.1, len(taus)) ** 2
    order = [place for place in order if place < len(taus)]
    shuffled = area(levels[order].tolist(), np.array(taus)[order])
    assert float(shuffled) == float(area(levels.tolist(), np.array(taus)))


@given(st.floats(-1, 1), st.integers(1, 5))
def test_the_area_of_a_level_curve_is_its_tau(tau: float, n_levels: int) -> None:
    levels = np.linspace(0.2, 0.9, n_levels).tolist()
    assert float(area(levels, np.full(n_levels, tau))) == pytest.approx(tau)


def test_levels_count_by_the_width_between_them() -> None:
    assert float(area([0.0, 0.9, 1.0], np.array([0.0, 0.0, 1.0]))) == pytest.approx(0.05)


def test_a_curve_undefined_somewhere_has_no_area() -> None:
    assert np.isnan(area([1.0, 0.5], np.array([1.0, np.nan])))


def test_ranks_are_among_the_metrics_at_a_cutoff() -> None:
    assert curves().areas()["rank"].tolist() == [2, 1, 1, 1]


def test_the_range_is_printed() -> None:
    frame = curves().areas()
    assert set(frame.lowest_level) == {0.2}
    assert set(frame.highest_level) == {1.0}


def test_intervals_lie_around_areas() -> None:
    frame = curves().areas()
    assert (frame.low < frame["area"]).all()
    assert (frame["area"] < frame.high).all()


def test_differences_are_paired() -> None:
    # The same resampled users move all curves alike: what is left is rounding.
    difference = estimates(spread=0.02).difference(Measure("P", 5), Measure("AP", 5))
    assert difference.value == pytest.approx(-0.2)
    assert difference.high - difference.low < 1e-12
    assert difference.is_beyond_noise


def test_equal_areas_are_not_beyond_noise() -> None:
    difference = estimates().difference(Measure("P", 10), Measure("AP", 10))
    assert difference.value == 0
    assert not difference.is_beyond_noise


def test_metrics_meet_at_a_cutoff_and_cutoffs_within_a_metric() -> None:
    frame = estimates().differences()
    pairs = frame[["metric_a", "cutoff_a", "metric_b", "cutoff_b"]].to_numpy().tolist()
    assert pairs == [["P", 5, "P", 10], ["P", 5, "AP", 5], ["P", 10, "AP", 10], ["AP", 5, "AP", 10]]


def test_metrics_that_no_loss_moves_are_named() -> None:
    measures = Measures([Measure(name, 10) for name in ("ILD", "AP", "P")])
    replicates = np.ones((3, 2, 5))
    replicates[2, 1, 0] = 0.9
    taus = np.array([[1.0, 1.0], [1.0, 0.9], [1.0, 1.0]])
    (caution,) = Curves(measures, (1.0, 0.5), taus, replicates).cautions()
    assert "changes the ordering of the systems by ILD. A metric" in caution
    assert Curves(measures, (1.0,), taus[:, :1], replicates[:, :1]).cautions() == []
