import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.intervals.areas import Curves, area
from analyses.intervals.systems import taus_within
from analyses.ordering import tau_b
from analyses.shared.estimate import Estimates
from analyses.shared.families import WithinSubsets
from analyses.shared.measure import Measure, Measures
from tests.analyses.made import unrelated

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
    assert np.isnan(area([1.0, 0.5], np.array([1.0, np.nan])))


def test_differences_are_paired() -> None:
    # The same resampled users move all curves alike: what is left is rounding.
    (difference,) = estimates(spread=0.02).simultaneous([(Measure("P", 5), Measure("AP", 5))])
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
        within.append(taus_within(means, full, subsets).mean(axis=2))
    found = Curves(
        Measures(Measure("P", draw + 1) for draw in range(n_draws)),
        levels.tolist(),
        np.stack(taus, axis=1),
        np.empty((n_draws, len(levels), 0)),
        WithinSubsets(n_systems, area(levels.tolist(), np.stack(within, axis=-1))),
    ).estimates(loss="", threshold=0.8)
    truly = float(area(levels.tolist(), true))
    low, high = found.over_systems()
    held = (low <= truly) & (truly <= high)
    assert held.mean() >= 0.9
