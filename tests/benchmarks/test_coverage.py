"""Intervals hold in populations that no constant was chosen on, and narrower ones are seen."""

import numpy as np
import pytest

from analyses.shared import limits
from tests.benchmarks import coverage
from tests.benchmarks.coverage import (
    FILE,
    FIRST_SEED,
    Cell,
    Floats,
    Population,
    differences_from,
    low_cells,
    mean_share,
    rows_of,
)


def two_tiers(rng: np.random.Generator, n_systems: int) -> Floats:
    """Draw qualities of systems of which every second is far below the others."""
    tiers = np.where(np.arange(n_systems) % 2, 0.4, 1.2)
    return np.asarray(tiers + rng.normal(0, 0.1, n_systems))


def ladder(rng: np.random.Generator, n_systems: int) -> Floats:
    """Draw qualities at equal distances."""
    return np.linspace(0.5, 1.5, n_systems) + rng.uniform(-0.02, 0.02, n_systems)


# Only tests know these: no script that a constant was chosen with may import them.
HELD_OUT = {
    "two tiers": Population(two_tiers, lambda uniform: -np.log1p(-uniform)),
    "ladder": Population(ladder, lambda uniform: np.where(uniform < 0.3, 0.0, 3 * uniform**2)),
}


@pytest.mark.validity
@pytest.mark.parametrize("name", HELD_OUT)
@pytest.mark.parametrize("part", ["DP", "area, random loss", "area, popular items", "validity"])
@pytest.mark.parametrize(("n_systems", "n_users"), [(8, 100), (20, 100)])
def test_intervals_hold_in_populations_that_nothing_was_chosen_on(
    name: str, part: str, n_systems: int, n_users: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "POPULATIONS", HELD_OUT)
    seeds = range(FIRST_SEED, FIRST_SEED + 8)
    by_population = [coverage.coverage(part, name, n_systems, n_users, seed) for seed in seeds]
    for quantity in by_population[0]:
        share, error, _ = mean_share([shares[quantity] for shares in by_population])
        assert share + 2 * error >= 0.93, quantity
        assert share >= coverage.LEAST_ACCEPTABLE, quantity


def test_intervals_that_hold_in_92_instead_of_95_percent_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Half-widths of 1.75 standard deviations: 92 % of a normal distribution.
    monkeypatch.setattr(limits, "NORMAL_QUANTILE", 1.7507)
    cell: Cell = ("validity", "apart", 8, 30)
    _, name, n_systems, n_users = cell
    seeds = range(FIRST_SEED, FIRST_SEED + coverage.DRAWN)
    by_population = [
        coverage.coverage("validity", name, n_systems, n_users, seed) for seed in seeds
    ]
    shares = {"validity": mean_share([of["validity"] for of in by_population])}
    (fault,) = differences_from(rows_of(FILE), cell, shares)
    assert fault.startswith("validity, apart, 8 systems, 30 users")


def test_a_coverage_below_85_percent_is_a_fault() -> None:
    rows = rows_of(FILE)
    assert low_cells(rows) == []
    rows["validity", 8, 30]["apart"] = "84.9 ± 1.0 −"
    (fault,) = low_cells(rows)
    assert "0.849" in fault
