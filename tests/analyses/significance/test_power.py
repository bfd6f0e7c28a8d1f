import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from analyses.intervals.resampling import draw_weights, random_blocks
from analyses.shared.estimate import ratio_around
from analyses.significance.permutation import exact_test, pair_indices
from analyses.significance.power import PowerSamples, resample_power

Floats = NDArray[np.float64]


def scores_of(rng: np.random.Generator, *, n_systems: int, n_users: int) -> Floats:
    users = rng.normal(0.3, 0.15, n_users) + 0.01 * np.arange(n_systems)[:, np.newaxis]
    return users + rng.normal(0, 0.2, (n_systems, n_users))


def resampled(values: Floats, *, replicates: int, seed: int = 0, n_jobs: int = 1) -> PowerSamples:
    p = np.array([exact_test(scores).p for scores in values])
    return resample_power(
        values,
        p,
        pair_indices(values.shape[1]),
        scales=(None,) * len(values),
        replicates=replicates,
        seed=seed,
        n_jobs=n_jobs,
    )


def plain_power(values: Floats, weights: Floats, *, unit: float) -> float:
    """DP of users repeated as often as they were drawn."""
    first, second = pair_indices(len(values))
    repeated = np.repeat(values, weights.astype(int), axis=1)
    differences = repeated[first] - repeated[second]
    totals = np.maximum(np.abs(differences.sum(axis=1)) - unit, 0)
    return float(2 * norm.sf(totals / np.sqrt((differences**2).sum(axis=1))).sum())


@pytest.mark.parametrize("n_blocks", [70, 30], ids=["users", "blocks of unequal size"])
@pytest.mark.parametrize("decimals", [1, 15], ids=["lattice", "continuous"])
def test_replicates_are_those_of_repeated_users(
    decimals: int, n_blocks: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In proportion: resampling makes powers larger, and they are scaled to what was observed."""
    monkeypatch.setattr("analyses.significance.power.N_BLOCKS", n_blocks)
    values = np.round(scores_of(rng, n_systems=5, n_users=70), decimals)
    found = resampled(values[np.newaxis], replicates=6, seed=3).powers[0]
    ((_, of_blocks),) = draw_weights(n_blocks, replicates=6, seed=3)
    weights = of_blocks[:, random_blocks(70, n_blocks=n_blocks, seed=3)]
    unit = 0.1 if decimals == 1 else 0.0
    expected = np.array([plain_power(values, row, unit=unit) for row in weights])
    expected *= exact_test(values).p.sum() / expected.mean()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_equal_systems_have_no_power_for_any_users() -> None:
    values = np.full((1, 3, 40), 0.5)
    found = resampled(values, replicates=10)
    np.testing.assert_array_equal(found.powers, 3.0)
    np.testing.assert_array_equal(found.curve_low, 1.0)


def test_bands_hold_the_curve(rng: np.random.Generator) -> None:
    values = scores_of(rng, n_systems=6, n_users=100)
    found = resampled(values[np.newaxis], replicates=50)
    curve = -np.sort(-exact_test(values).p)
    assert (found.curve_low[0] <= curve).all()
    assert (found.curve_high[0] >= curve).all()
    assert found.curve_low.min() >= 0
    assert found.curve_high.max() <= 1


def test_thrift_with_memory_changes_no_bit(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = scores_of(rng, n_systems=6, n_users=100)[np.newaxis]
    whole = resampled(values, replicates=20).powers
    monkeypatch.setattr("analyses.significance.power.NUMBERS_AT_ONCE", 300)
    np.testing.assert_array_equal(resampled(values, replicates=20).powers, whole)


def test_blocks_of_users_say_as_much_of_the_spread(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = scores_of(rng, n_systems=6, n_users=2000)[np.newaxis]
    by_user = resampled(values, replicates=400).powers.std()
    monkeypatch.setattr("analyses.significance.power.N_BLOCKS", 200)
    assert resampled(values, replicates=400).powers.std() == pytest.approx(by_user, rel=0.3)


@pytest.mark.validity
def test_intervals_cover_the_expected_power(rng: np.random.Generator) -> None:
    """Of 120 intervals of 95 %, fewer than 107 or more than 119 hold with a chance below 1 %."""
    n_sets, n_users = 120, 100
    population = scores_of(rng, n_systems=5, n_users=10_000)
    values = np.array([population[:, rng.integers(0, 10_000, n_users)] for _ in range(n_sets)])
    powers = np.array([exact_test(scores).p.sum() for scores in values])
    low, high = ratio_around(powers, resampled(values, replicates=100).powers)
    n_held = np.count_nonzero((low <= powers.mean()) & (powers.mean() <= high))
    assert 107 <= n_held <= 119
