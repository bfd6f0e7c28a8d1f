"""Power of the t-test and its inverses; discriminative power of resampled users."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import norm

from analyses.intervals.resampling import draw_weights, random_blocks
from analyses.shared.estimate import ratio_around
from analyses.significance.paired_tests import pair_means_and_deviations, t_test
from analyses.significance.permutation import exact_test, pair_indices
from analyses.significance.power import (
    EffectPrior,
    Likely,
    PowerSamples,
    effects_of,
    expected_share,
    needed_users,
    resample_power,
    resampled_effects,
    t_power,
    users_for_share,
)

Floats = NDArray[np.float64]


def sakai(effect: float, *, alpha: float, beta: float) -> int:
    """Follow Nagata's steps as Sakai (2016, section 3.1) has them, by hand or in a spreadsheet.

    A first number of topics from the normal distribution, then the power by the approximation
    of the noncentral t, one topic more until that is reached.
    """
    reach = ndtri(1 - alpha / 2)
    n = int(((reach - ndtri(beta)) / effect) ** 2 + reach**2 / 2)
    while approximate_power(effect, n, alpha=alpha) < 1 - beta:
        n += 1
    return n


def approximate_power(effect: float, n: int, *, alpha: float) -> float:
    df, centre = n - 1, np.sqrt(n) * effect
    tails = np.array([-1, 1]) * stdtrit(df, 1 - alpha / 2)
    below, above = ndtr((tails * (1 - 1 / (4 * df)) - centre) / np.sqrt(1 + tails**2 / (2 * df)))
    return float(below + 1 - above)


def test_half_a_standard_deviation_takes_the_34_topics_of_sakais_example() -> None:
    assert sakai(0.5, alpha=0.05, beta=0.2) == 34
    assert needed_users(np.array([0.5]), alpha=0.05, power=0.8).tolist() == [34]


@pytest.mark.parametrize(("alpha", "beta"), [(0.01, 0.2), (0.05, 0.2)])
def test_topic_set_sizes_are_those_of_sakais_steps(alpha: float, beta: float) -> None:
    # minD .02 to .2, for variances of differences .05 to .2: 4 to 20,000 topics.
    effects = (np.array([0.02, 0.05, 0.1, 0.2]) / np.sqrt([[0.05], [0.1], [0.2]])).ravel()
    exact = needed_users(effects, alpha=alpha, power=1 - beta)
    steps = np.array([sakai(effect, alpha=alpha, beta=beta) for effect in effects])
    assert np.abs(exact - steps).max() <= 1
    assert (exact == steps).mean() >= 0.75


def test_one_user_less_has_less_than_the_power() -> None:
    effects = np.array([0.003, 0.05, 0.3, 1.0, 3.0])
    users = needed_users(effects, alpha=0.05, power=0.8)
    assert (t_power(effects, users, alpha=0.05) >= 0.8).all()
    assert (t_power(effects, users - 1, alpha=0.05) < 0.8).all()


def test_small_effects_shrink_more_than_large_ones_of_few_systems() -> None:
    first, second = pair_indices(8)
    worth = np.array([3.0, *np.linspace(0, 0.1, 7)])
    effects = (worth[first] - worth[second]) / 2**0.5
    likely = EffectPrior(effects, n_pilot=100, n_systems=8).given_the_pilot()
    assert likely.chances.sum(axis=0) == pytest.approx(np.ones(len(effects)))
    kept = (likely.means * likely.chances).sum(axis=0) / np.where(effects == 0, 1, effects)
    assert kept[:7].min() > 0.95
    assert kept[7:].max() < 0.6


def test_systems_that_never_differ_have_no_effect() -> None:
    likely = EffectPrior(np.zeros(6), n_pilot=100, n_systems=4).given_the_pilot()
    flat = Likely(*(each.ravel() for each in likely))
    assert users_for_share(flat, share=0.8, alpha=0.05) == np.inf


def test_effects_that_are_known_need_the_users_of_each() -> None:
    known = Likely.of(np.array([[0.3, 0.3, 0.3]]))
    (found,) = users_for_share(known, share=0.8, alpha=0.05)
    assert found == pytest.approx(needed_users(np.array([0.3]), alpha=0.05, power=0.8)[0], abs=2)


def test_the_t_test_finds_as_many_as_is_promised(rng: np.random.Generator) -> None:
    for effect, n_users in ((0.5, 34), (0.2, 100), (1.5, 5)):
        drawn = np.stack([rng.normal(effect, size=(4000, n_users)), np.zeros((4000, n_users))], 1)
        found = (t_test(drawn) < 0.05).mean()
        promised = float(t_power(np.array(effect), n_users, alpha=0.05))
        assert found == pytest.approx(promised, abs=4 * np.sqrt(0.25 / 4000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "n_users"),
    [
        ("one far", 50),
        *(pytest.param(w, 50, marks=pytest.mark.validity) for w in ("normal", "tails")),
        pytest.param("normal", 200, marks=pytest.mark.validity),
    ],
)
def test_users_for_a_share_of_pairs_are_right_in_new_samples(world: str, n_users: int) -> None:
    """Of 40 intervals of 95 %, fewer than 32 hold with a chance below 1 in 1,000."""
    inside, shares = [], []
    first, second = pair_indices(12)
    for seed in range(40):
        rng = np.random.default_rng([seed, n_users])
        worth = 0.05 * rng.standard_t(1.5, 12) if world == "tails" else rng.normal(0, 0.1, 12)
        worth[0] = -3 if world == "one far" else worth[0]
        true = Likely.of((worth[first] - worth[second]) / 2**0.5)
        truth = users_for_share(true, share=0.8, alpha=0.05)
        pilot = worth[:, None] + rng.normal(size=(12, n_users)) + rng.normal(size=n_users)
        found, low, high = from_pilot(pilot, seed=seed, rng=rng)
        inside.append(low <= truth <= high)
        shares.append(expected_share(true, min(found, 1e9), alpha=0.05))
    assert sum(inside) >= 32
    assert 0.7 < np.mean(shares) < 0.87


def from_pilot(pilot: Floats, *, seed: int, rng: np.random.Generator) -> tuple[float, float, float]:
    n_systems, n_users = pilot.shape
    (effects,) = effects_of(*pair_means_and_deviations(pilot[None]))
    prior = EffectPrior(effects, n_users, n_systems)
    likely = Likely(*(each.ravel() for each in prior.given_the_pilot()))
    found = users_for_share(likely, share=0.8, alpha=0.05)
    weights = rng.multinomial(n_users, np.full(n_users, 1 / n_users), size=200).astype(np.float64)
    (resampled,) = resampled_effects(pilot[None], weights)
    drawn = Likely.of(prior.draw(resampled, pair_indices(n_systems), seed=seed))
    replicates = users_for_share(drawn, share=0.8, alpha=0.05)
    low, high = np.quantile(replicates, [0.025, 0.975], method="inverted_cdf")
    return float(found), float(low), float(high)


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
        groups=np.empty((0, p.shape[1])),
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


def test_thrift_with_memory_changes_no_bit(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = scores_of(rng, n_systems=6, n_users=100)[np.newaxis]
    whole = resampled(values, replicates=20).powers
    monkeypatch.setattr("analyses.significance.power.NUMBERS_AT_ONCE", 300)
    np.testing.assert_array_equal(resampled(values, replicates=20).powers, whole)


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


def test_possible_effects_and_shares_do_not_depend_on_blocks(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    prior = EffectPrior(rng.normal(size=15), 50, 6)
    resampled = prior.effects[:, np.newaxis] + rng.normal(size=(15, 40)) / 7
    systems = pair_indices(6)
    effects = prior.draw(resampled, systems, seed=3)
    grid = Likely.of(effects.reshape(8, 5, 15))
    sizes = np.array([10.0, 20.0, 50.0, 100.0, 1000.0])
    shares = expected_share(grid, sizes, alpha=0.05)
    monkeypatch.setattr("analyses.significance.power.NUMBERS_AT_ONCE", 1)
    np.testing.assert_allclose(prior.draw(resampled, systems, seed=3), effects, rtol=1e-12)
    np.testing.assert_array_equal(expected_share(grid, sizes, alpha=0.05), shares)
    users = users_for_share(Likely.of(effects), share=0.8, alpha=0.05)
    reached = expected_share(Likely.of(effects), users, alpha=0.05)
    assert (reached[np.isfinite(users)] >= 0.8).all()


@pytest.mark.slow
def test_shares_of_many_pairs_keep_within_their_memory(
    rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    """Effects of 200 systems in 300 draws take 46 MB, and six such arrays were held."""
    effects = rng.normal(size=(300, 19_900))
    expected_share(Likely.of(effects), 50.0, alpha=0.05)
    assert peak_megabytes() < 120 + effects.nbytes / 2**20
