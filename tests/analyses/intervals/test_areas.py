from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from analyses.intervals.areas import Curves, area
from analyses.intervals.systems import subset_taus
from analyses.ordering import tau_b
from analyses.shared.families import SubsetValues
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from tests.analyses.made import unrelated
from tests.drawn import band_at, curve, points

MEASURES = Measures(Measure(metric, cutoff) for metric in ("P", "AP") for cutoff in (5, 10))
TAUS = np.array([[1.0, 0.5], [1.0, 0.7], [1.0, 0.9], [1.0, 0.7]])


def curves(spread: float = 0.1) -> Curves:
    """Four measures at two levels; all move together when users are resampled."""
    moves = spread * np.random.default_rng(1).normal(size=100)
    areas = TAUS.mean(axis=1)[:, None]
    # By the arcsine of their areas, each in units of what an area varies there.
    moved = 2 * np.sin(np.arcsin(areas) + moves / np.cos(np.arcsin(areas))) - 1
    replicates = np.stack([np.ones((4, 100)), moved], axis=1)
    return Curves(MEASURES, (0.9, 0.2), TAUS, replicates)


def estimates(spread: float = 0.1) -> Estimates:
    return curves(spread).estimates(loss="loss", threshold=0.8)


def test_the_area_is_the_mean_of_a_straight_curve() -> None:
    assert estimates().values.tolist() == pytest.approx([0.75, 0.85, 0.95, 0.85])


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6), st.permutations(range(6)))
def test_the_order_of_levels_does_not_matter(taus: list[float], order: list[int]) -> None:
    levels = np.linspace(1.0, 0.1, len(taus)) ** 2
    order = [place for place in order if place < len(taus)]
    shuffled = area(levels[order].tolist(), np.array(taus)[order])
    assert float(shuffled) == float(area(levels.tolist(), np.array(taus)))


def test_a_curve_undefined_somewhere_has_no_area() -> None:
    assert np.isnan(area([0.9, 0.5], np.array([1.0, np.nan])))


def test_the_level_of_all_judgements_is_no_part_of_an_area() -> None:
    """Nothing is lost there: from .9 to .5, tau is .6 in the mean, whatever it is at 1."""
    assert area([1.0, 0.9, 0.5], np.array([1.0, 0.8, 0.4])) == pytest.approx(0.6)
    assert area([0.5, 1.0], np.array([0.3, np.nan])) == pytest.approx(0.3)


def test_without_loss_there_is_no_area() -> None:
    assert np.isnan(area([1.0], np.array([[1.0], [1.0]]))).tolist() == [True, True]
    estimated = replace(
        curves(), levels=(1.0,), taus=np.ones((4, 1)), replicates=np.ones((4, 1, 5))
    ).estimates(loss="loss", threshold=0.8)
    assert estimated.no_value == "no judgement is lost at any level"


def test_the_area_is_the_mean_height_over_levels_that_are_not_evenly_apart() -> None:
    """From .1 to .2 tau is .3 in the mean, from .2 to .9 it is .7: (.1 x .3 + .7 x .7) / .8."""
    levels, taus = [0.9, 0.1, 0.2], np.array([1.0, 0.2, 0.4])
    assert area(levels, taus) == pytest.approx((0.1 * 0.3 + 0.7 * 0.7) / 0.8)
    assert area(levels, np.stack([taus, -taus])) == pytest.approx([0.52 / 0.8, -0.52 / 0.8])


def test_the_area_at_a_single_level_is_the_tau_there() -> None:
    assert area([0.5], np.array([[0.3], [np.nan]])) == pytest.approx([0.3, np.nan], nan_ok=True)


def test_areas_are_ranked_among_the_measures_that_they_are_compared_with() -> None:
    """At 5 are .75 and .95; at 10, where metrics are reported, .85 and .85 tie as the best."""
    frame = curves().areas()
    assert frame["area"].tolist() == pytest.approx([0.75, 0.85, 0.95, 0.85])
    assert frame["rank"].tolist() == [2, 1, 1, 1]
    assert (frame["lowest_level"] == 0.2).all()
    assert (frame["highest_level"] == 0.9).all()


def test_an_area_that_is_undefined_has_no_rank() -> None:
    taus = TAUS.copy()
    taus[0, 1] = np.nan
    frame = replace(curves(), taus=taus).areas()
    assert frame["rank"].isna().tolist() == [True, False, False, False]
    assert frame["rank"].tolist()[1:] == [1, 1, 1]


def test_limits_of_areas_are_on_the_scale_of_arcsines() -> None:
    """Replicates are .5 and .7 at the lower level, 1 above: areas .75 and .85."""
    replicates = np.stack([np.ones((4, 2)), np.tile([0.5, 0.7], (4, 1))], axis=1)
    found = replace(curves(), replicates=replicates, factor=1.0).areas()
    spread = (np.arcsin(0.85) - np.arcsin(0.75)) / np.sqrt(2)
    low, high = np.arcsin(0.75) - 1.959964 * spread, np.arcsin(0.75) + 1.959964 * spread
    assert found["low"][0] == pytest.approx(np.sin(low), abs=1e-6)
    assert found["high"][0] == pytest.approx(np.sin(min(high, np.pi / 2)), abs=1e-6)
    twice = replace(curves(), replicates=replicates, factor=2.0).areas()
    assert twice["low"][0] == pytest.approx(np.sin(np.arcsin(0.75) - 3.919928 * spread), abs=1e-6)


def test_a_band_is_moved_to_the_curve_and_ends_at_1() -> None:
    replicates = np.stack([np.ones((4, 5)), np.tile([0.1, 0.3, 0.3, 0.5, 0.8], (4, 1))], axis=1)
    low, high = replace(curves(), replicates=replicates).band
    # From their mean, .4, to .5, .7, .9 and .7; the outer .025 of five are a tenth of a step.
    assert low[:, 1] == pytest.approx(TAUS[:, 1] - 0.28)
    assert high[:, 1] == pytest.approx([0.87, 0.98, 1.0, 0.98])
    assert low[:, 0].tolist() == high[:, 0].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("taus", "moves", "named"),
    [([1.0, 1.0], 0.0, True), ([1.0, 0.99], 0.0, False), ([1.0, 1.0], 0.1, False)],
)
def test_an_ordering_that_never_changes_is_named(
    taus: list[float], moves: float, named: bool
) -> None:
    """Neither with these users nor with others, where judgements are lost."""
    replicates = np.ones((4, 2, 3))
    replicates[2:, 1, 0] -= moves
    replicates[:2] -= 0.1
    found = replace(
        curves(), taus=np.array([[1, 0.5], [1, 0.7], taus, taus]), replicates=replicates
    )
    assert any("by AP never changes" in caution for caution in found.cautions()) == named
    assert replace(found, levels=(1.0, 1.0)).cautions() == []


def test_undefined_levels_of_report_measures_are_named() -> None:
    taus = TAUS.copy()
    taus[1, 1] = np.nan
    reason = replace(curves(), taus=taus).estimates(loss="loss", threshold=0.8).no_value
    assert "undefined at 20 % kept" in reason
    # A cut-off that is not reported does not count.
    taus = TAUS.copy()
    taus[0, 1] = np.nan
    reason = replace(curves(), taus=taus).estimates(loss="loss", threshold=0.8).no_value
    assert "20 %" not in reason


def test_differences_are_paired() -> None:
    # The same resampled users move all curves alike: what is left is rounding.
    (difference,) = estimates(spread=0.02).simultaneous_differences(
        [(Measure("P", 5), Measure("AP", 5))]
    )
    assert difference.value == pytest.approx(-0.2)
    assert difference.high - difference.low < 1e-12
    assert difference.is_beyond_noise


@pytest.mark.parametrize("n_systems", [8, 20])
@pytest.mark.parametrize("noise", [pytest.param(0.2, marks=pytest.mark.validity), 1.0])
def test_intervals_over_systems_hold_the_area_of_the_population(
    n_systems: int, noise: float, rng: np.random.Generator
) -> None:
    """Of normal systems tau is 2 / pi arcsin of the correlation (Kendall); samples share noise."""
    levels, n_samples, n_draws = np.array([1.0, 0.6, 0.2]), 5, 200
    spreads = noise * (1 - levels)
    true = 2 / np.pi * np.arcsin(1 / np.sqrt(1 + spreads**2))
    full = rng.normal(size=(n_draws, 1, n_systems))
    subsets, taus, within = unrelated(n_systems).subsets(seed=1), [], []
    for spread in spreads:
        shared, own = (rng.normal(size=(n_draws, n, n_systems)) for n in (1, n_samples))
        means = full + spread * np.sqrt(0.5) * (shared + own)
        taus.append(tau_b(means, full).mean(axis=1))
        within.append(subset_taus(means, full, subsets).mean(axis=2))
    found = Curves(
        Measures(Measure("P", draw + 1) for draw in range(n_draws)),
        levels.tolist(),
        np.stack(taus, axis=1),
        # No variance over users.
        np.ones((n_draws, len(levels), 2)),
        SubsetValues(n_systems, area(levels.tolist(), np.stack(within, axis=-1))),
    ).estimates(loss="", threshold=0.8)
    truly = float(area(levels.tolist(), true))
    low, high = found.limits_over_all_sources()
    held = (low <= truly) & (truly <= high)
    assert held.mean() >= 0.9


def test_a_single_level_is_drawn_as_a_point() -> None:
    found = Curves(MEASURES, (0.5,), TAUS[:, :1], np.empty((4, 1, 0)))
    ax = Figure().subplots()
    found.plot(ax, metric=None, over="users")
    assert points(ax.lines[0]).tolist() == [[50, 1]]
    assert not ax.collections


def test_curves_of_metrics_are_drawn_with_their_bands_from_all_to_least() -> None:
    replicates = np.stack([np.ones((4, 5)), np.tile([0.1, 0.3, 0.3, 0.5, 0.8], (4, 1))], axis=1)
    found = replace(curves(), replicates=replicates)
    ax = Figure().subplots()
    found.plot(ax, metric=None, over="users")
    assert curve(ax, "P").tolist() == [[90, 1], [20, 0.7]]
    assert curve(ax, "AP").tolist() == [[90, 1], [20, 0.7]]
    assert band_at(ax, 20) == pytest.approx([0.42, 0.98])
    # A fiftieth of the distance is left at both ends.
    assert ax.get_xlim() == pytest.approx((91.4, 18.6))
    of_metric = Figure().subplots()
    found.plot(of_metric, metric="AP", over="users")
    assert [points(line)[1].tolist() for line in of_metric.lines] == [[20, 0.9], [20, 0.7]]
    assert not of_metric.collections
