"""Power of the t-test and its inverses; discriminative power of resampled users."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import chi2, nct, norm
from scipy.stats import t as student

from analyses.intervals.resampling import draw_weights, random_blocks
from analyses.shared.limits import ratio_limits
from analyses.significance.paired_tests import pair_means_and_deviations, t_test
from analyses.significance.permutation import exact_test, pair_indices
from analyses.significance.power import (
    MAX_EFFECT,
    EffectDistribution,
    EffectPrior,
    detectable_effect,
    expected_share,
    needed_users,
    resampled_effects,
    standardised_effects,
    t_power,
    users_for_share,
)
from analyses.significance.power_samples import REPLICATES, PowerSamples, resample_power
from runs.shared.streams import random_uniforms

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


@pytest.mark.parametrize("n_users", [2, 3, 10])
def test_the_power_of_a_t_test_is_that_of_the_noncentral_t(n_users: int) -> None:
    effects = np.array([-1.5, 0.1, 0.5, 1.5])
    reach, centres = student.ppf(0.995, n_users - 1), np.sqrt(n_users) * effects
    above = nct.sf(reach, n_users - 1, centres)
    below = nct.cdf(-reach, n_users - 1, centres)
    found = t_power(effects, n_users, alpha=0.01)
    np.testing.assert_allclose(found, above + below, rtol=1e-8)


@pytest.mark.parametrize("n_users", [2, 3, 10])
def test_the_expected_share_of_pairs_is_that_of_normal_effects_beyond_t_of_n_minus_1(
    n_users: int,
) -> None:
    """Three possible effects, of which the second is twice as likely as the others."""
    means, variances = np.array([0.0, 0.8, -2.0]), np.array([0.0, 0.3, 0.1])
    chances = np.array([0.5, 1.0, 0.5])
    share = expected_share(EffectDistribution(means, variances, chances), n_users, alpha=0.1)
    reach = student.ppf(0.95, n_users - 1)
    z = norm(np.sqrt(n_users) * means, np.sqrt(1 + n_users * variances))
    powers = z.sf(reach) + z.cdf(-reach)
    assert share == pytest.approx((powers[0] + 2 * powers[1] + powers[2]) / 4, rel=1e-9)


def test_one_user_less_gives_less_than_the_share_of_pairs() -> None:
    known = EffectDistribution.certain(
        np.array([[0.1, 0.4, 0.9], [0.3, 0.5, 3.0], [0.01, 0.02, 0.03]])
    )
    users = users_for_share(known, share=0.8, alpha=0.05)
    assert (expected_share(known, users, alpha=0.05) >= 0.8).all()
    assert (expected_share(known, users - 1, alpha=0.05) < 0.8).all()


def test_two_users_are_enough_for_the_largest_effects_and_none_for_no_effect() -> None:
    effects = np.array([[1e6], [0.0]])
    assert users_for_share(EffectDistribution.certain(effects), share=0.8, alpha=0.05).tolist() == [
        2,
        np.inf,
    ]
    assert needed_users(effects.ravel(), alpha=0.05, power=0.8).tolist() == [2, np.inf]


@pytest.mark.parametrize("n_users", [2, 5, 60])
def test_the_least_effect_that_is_found_has_the_power(n_users: int) -> None:
    effect = np.array(detectable_effect(n_users, alpha=0.05, power=0.8))
    assert t_power(effect, n_users, alpha=0.05) == pytest.approx(0.8, abs=1e-9)
    assert np.isnan(detectable_effect(1, alpha=0.05, power=0.8))


def test_an_effect_is_a_mean_in_deviations() -> None:
    means, deviations = np.array([0.3, -0.3, 0.0, 0.2, -0.2]), np.array([0.6, 0.1, 0.0, 0.0, 0.0])
    assert standardised_effects(means, deviations).tolist() == [
        0.5,
        -0.3 / 0.1,
        0.0,
        MAX_EFFECT,
        -MAX_EFFECT,
    ]


def test_effects_of_resampled_users_are_those_of_repeated_users(rng: np.random.Generator) -> None:
    values = rng.normal(size=(3, 7))
    weights = np.array([[1, 1, 1, 1, 1, 1, 1], [0, 2, 1, 0, 3, 0, 1]], dtype=np.float64)
    found = resampled_effects(values[None], weights)[0]
    repeated = [np.repeat(values, row.astype(int), axis=1) for row in weights]
    for number, (first, second) in enumerate([(0, 1), (0, 2), (1, 2)]):
        gaps = [scores[first] - scores[second] for scores in repeated]
        expected = [gap.mean() / gap.std(ddof=1) for gap in gaps]
        np.testing.assert_allclose(found[number], expected, rtol=1e-12)


def test_chances_of_components_are_those_of_plain_steps_of_em() -> None:
    """Pairs count by their weights; each step takes .1 / 4 off the chance of equal systems."""
    effects, shares = np.array([0.0, 0.05, 0.5, -1.2]), np.array([0.1, 0.2, 0.3, 0.4])
    prior = EffectPrior(effects, n_pilot=50, n_systems=4)
    components = np.arange(len(prior.variances))
    likely = norm.pdf(effects, scale=np.sqrt(prior.variances + 1 / 50)[:, None])
    weights = np.full(len(components), 1 / len(components))
    for _ in range(3):
        posterior = weights[:, None] * likely / (weights @ likely)
        weights = posterior @ shares
        weights[0] = max(weights[0] - 0.1 / 4, 0.0)
        weights /= weights.sum()
    expected = weights[:, None] * likely / (weights @ likely)
    (found,) = prior.chances(10 * shares[None], 0.1, steps=3)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_variances_go_from_equal_systems_to_the_largest_effect() -> None:
    variances = EffectPrior(np.array([0.5, -2.0]), n_pilot=50, n_systems=3).variances
    assert variances[:2].tolist() == pytest.approx([0.0, 0.2 / 50])
    assert variances[-1] == pytest.approx(4.0)
    of_small = EffectPrior(np.array([0.01]), n_pilot=50, n_systems=2).variances
    assert of_small[-1] == pytest.approx(4 / 50)


def test_effects_given_the_pilot_keep_their_part_that_is_no_noise() -> None:
    r"""B = v / (v + 1 / N); the mean is B times the effect, and the variance B / N."""
    effects, n_users = np.array([0.3, -0.8]), 40
    prior = EffectPrior(effects, n_pilot=n_users, n_systems=3)
    likely = prior.posterior()
    largest = 0.8**2
    kept = np.array([0.0, largest / (largest + 1 / n_users)])
    np.testing.assert_allclose(likely.means[[0, -1]], kept[:, None] * effects)
    expected = np.repeat(kept[:, None] / n_users, 2, axis=1)
    np.testing.assert_allclose(likely.variances[[0, -1]], expected)


def test_possible_effects_spread_about_the_shrunken_ones(rng: np.random.Generator) -> None:
    """Of large effects B is nearly 1: draws vary about them as the resampled users do."""
    n_users, effects = 50, np.array([6.0, -7.0, 8.0])
    resampled = effects[:, None] + rng.normal(size=(3, 2000)) / np.sqrt(n_users)
    prior = EffectPrior(effects, n_pilot=n_users, n_systems=3)
    drawn = prior.draw(resampled, pair_indices(3), seed=1)
    assert drawn.shape == (2000, 3)
    np.testing.assert_allclose(np.median(drawn, axis=0), effects, rtol=0.01)
    spread = np.quantile(drawn - effects, [0.25, 0.75], axis=0) * np.sqrt(n_users)
    np.testing.assert_allclose(spread, [[norm.ppf(0.25)] * 3, [norm.ppf(0.75)] * 3], atol=0.12)


def test_small_effects_shrink_more_than_large_ones_of_few_systems() -> None:
    first, second = pair_indices(8)
    worth = np.array([3.0, *np.linspace(0, 0.1, 7)])
    effects = (worth[first] - worth[second]) / 2**0.5
    likely = EffectPrior(effects, n_pilot=100, n_systems=8).posterior()
    assert likely.chances.sum(axis=0) == pytest.approx(np.ones(len(effects)))
    kept = (likely.means * likely.chances).sum(axis=0) / np.where(effects == 0, 1, effects)
    assert kept[:7].min() > 0.95
    assert kept[7:].max() < 0.6


def test_systems_that_never_differ_have_no_effect() -> None:
    likely = EffectPrior(np.zeros(6), n_pilot=100, n_systems=4).posterior()
    flat = EffectDistribution(*(each.ravel() for each in likely))
    assert users_for_share(flat, share=0.8, alpha=0.05) == np.inf


def test_effects_that_are_known_need_the_users_of_each() -> None:
    known = EffectDistribution.certain(np.array([[0.3, 0.3, 0.3]]))
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
        true = EffectDistribution.certain((worth[first] - worth[second]) / 2**0.5)
        truth = users_for_share(true, share=0.8, alpha=0.05)
        pilot = worth[:, None] + rng.normal(size=(12, n_users)) + rng.normal(size=n_users)
        found, low, high = from_pilot(pilot, seed=seed, rng=rng)
        inside.append(low <= truth <= high)
        shares.append(expected_share(true, min(found, 1e9), alpha=0.05))
    assert sum(inside) >= 32
    assert 0.7 < np.mean(shares) < 0.87


def from_pilot(pilot: Floats, *, seed: int, rng: np.random.Generator) -> tuple[float, float, float]:
    n_systems, n_users = pilot.shape
    (effects,) = standardised_effects(*pair_means_and_deviations(pilot[None]))
    prior = EffectPrior(effects, n_users, n_systems)
    likely = EffectDistribution(*(each.ravel() for each in prior.posterior()))
    found = users_for_share(likely, share=0.8, alpha=0.05)
    weights = rng.multinomial(n_users, np.full(n_users, 1 / n_users), size=200).astype(np.float64)
    (resampled,) = resampled_effects(pilot[None], weights)
    drawn = EffectDistribution.certain(prior.draw(resampled, pair_indices(n_systems), seed=seed))
    replicates = users_for_share(drawn, share=0.8, alpha=0.05)
    low, high = np.quantile(replicates, [0.025, 0.975], method="inverted_cdf")
    return float(found), float(low), float(high)


def scores_of(rng: np.random.Generator, *, n_systems: int, n_users: int) -> Floats:
    users = rng.normal(0.3, 0.15, n_users) + 0.01 * np.arange(n_systems)[:, np.newaxis]
    return users + rng.normal(0, 0.2, (n_systems, n_users))


def resampled(values: Floats, *, replicates: int, seed: int = 0, n_jobs: int = 1) -> PowerSamples:
    tests = [exact_test(scores) for scores in values]
    p = np.array([test.p for test in tests])
    mid_p = np.array([test.mid_p for test in tests])
    return resample_power(
        values,
        p,
        mid_p,
        pair_indices(values.shape[1]),
        scales=(None,) * len(values),
        groups=np.empty((0, p.shape[1])),
        sets=np.empty((0, p.shape[1]), dtype=np.bool_),
        replicates=replicates,
        seed=seed,
        n_jobs=n_jobs,
    )


def plain_power(values: Floats, weights: Floats, *, unit: float) -> float:
    """DP of users repeated as often as they were drawn, with the correction of so many units."""
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
    monkeypatch.setattr("analyses.significance.power_samples.N_BLOCKS", n_blocks)
    values = np.round(scores_of(rng, n_systems=5, n_users=70), decimals)
    found = resampled(values[np.newaxis], replicates=6, seed=3)
    ((_, of_blocks),) = draw_weights(n_blocks, replicates=6, seed=3)
    weights = of_blocks[:, random_blocks(70, n_blocks=n_blocks, seed=3)]
    unit = 0.1 if decimals == 1 else 0.0
    expected = np.array([plain_power(values, row, unit=unit) for row in weights])
    farther = np.array([plain_power(values, row, unit=-unit) for row in weights])
    mid = (expected + farther) / 2
    expected *= exact_test(values).p.sum() / expected.mean()
    np.testing.assert_allclose(found.powers[0], expected, atol=1e-5)
    mid *= exact_test(values).mid_p.sum() / mid.mean()
    np.testing.assert_allclose(found.mid_powers[0], mid, atol=1e-5)


def test_bands_of_p_values_in_falling_order_are_two_deviations_of_each_place(
    rng: np.random.Generator,
) -> None:
    """1.96 deviations of the p-values of repeated users at each place, within [0, 1]."""
    values = scores_of(rng, n_systems=4, n_users=30)
    found = resampled(values[np.newaxis], replicates=8, seed=3)
    ((_, weights),) = draw_weights(30, replicates=8, seed=3)
    first, second = pair_indices(4)
    drawn = []
    for row in weights[:, random_blocks(30, n_blocks=30, seed=3)]:
        repeated = np.repeat(values, row.astype(int), axis=1)
        gaps = repeated[first] - repeated[second]
        drawn.append(2 * norm.sf(np.abs(gaps.sum(axis=1)) / np.sqrt((gaps**2).sum(axis=1))))
    observed = np.sort(exact_test(values).p)[::-1]
    reach = norm.ppf(0.975) * np.sort(drawn, axis=1)[:, ::-1].std(axis=0, ddof=1)
    np.testing.assert_allclose(found.curve_low[0], np.maximum(observed - reach, 0), atol=1e-5)
    np.testing.assert_allclose(found.curve_high[0], np.minimum(observed + reach, 1), atol=1e-5)


def test_groups_of_pairs_have_the_sums_of_their_p_in_the_first_replicates(
    rng: np.random.Generator,
) -> None:
    values = scores_of(rng, n_systems=3, n_users=25)
    p = exact_test(values).p[np.newaxis]
    groups = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
    found = resample_power(
        values[np.newaxis],
        p,
        p,
        pair_indices(3),
        scales=(None,),
        groups=groups,
        sets=groups > 0,
        replicates=30,
        seed=4,
    )
    assert found.crossed.shape == (1, 20, 3)
    ratios = found.powers[0, :20] / found.crossed[0, :, 2]
    np.testing.assert_allclose(ratios, ratios[0])
    ((_, weights),) = draw_weights(25, replicates=30, seed=4)
    weights = weights[:, random_blocks(25, n_blocks=25, seed=4)]
    gaps = np.repeat(values[0] - values[1], weights[0].astype(int))
    of_first = 2 * norm.sf(np.abs(gaps.sum()) / np.sqrt((gaps**2).sum()))
    assert found.crossed[0, 0, 0] == pytest.approx(of_first, abs=1e-5)


@pytest.mark.parametrize("replicates", [0, 1])
def test_fewer_than_two_replicates_give_no_bands(replicates: int) -> None:
    found = resampled(np.random.default_rng(1).random((1, 3, 9)), replicates=replicates)
    assert found.powers.shape == found.mid_powers.shape == (1, 0)
    assert np.isnan(found.curve_low).all()
    assert np.isnan(found.curve_high).all()


def test_equal_systems_have_no_power_for_any_users() -> None:
    values = np.full((1, 3, 40), 0.5)
    found = resampled(values, replicates=10)
    np.testing.assert_array_equal(found.powers, 3.0)
    np.testing.assert_array_equal(found.mid_powers, 1.5)
    np.testing.assert_array_equal(found.curve_low, 1.0)


def test_thrift_with_memory_changes_no_bit(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = scores_of(rng, n_systems=6, n_users=100)[np.newaxis]
    whole = resampled(values, replicates=20).powers
    monkeypatch.setattr("analyses.significance.power_samples.NUMBERS_AT_ONCE", 300)
    np.testing.assert_array_equal(resampled(values, replicates=20).powers, whole)


@pytest.mark.validity
def test_intervals_cover_the_expected_power(rng: np.random.Generator) -> None:
    """Of 120 intervals of 95 %, fewer than 107 or more than 119 hold with a chance below 1 %."""
    n_sets, n_users = 120, 100
    population = scores_of(rng, n_systems=5, n_users=10_000)
    values = np.array([population[:, rng.integers(0, 10_000, n_users)] for _ in range(n_sets)])
    powers = np.array([exact_test(scores).p.sum() for scores in values])
    low, high = ratio_limits(powers, resampled(values, replicates=100).powers)
    n_held = np.count_nonzero((low <= powers.mean()) & (powers.mean() <= high))
    assert 107 <= n_held <= 119


def test_possible_effects_and_shares_do_not_depend_on_blocks(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    prior = EffectPrior(rng.normal(size=15), 50, 6)
    resampled = prior.effects[:, np.newaxis] + rng.normal(size=(15, 40)) / 7
    systems = pair_indices(6)
    effects = prior.draw(resampled, systems, seed=3)
    grid = EffectDistribution.certain(effects.reshape(8, 5, 15))
    sizes = np.array([10.0, 20.0, 50.0, 100.0, 1000.0])
    shares = expected_share(grid, sizes, alpha=0.05)
    monkeypatch.setattr("analyses.significance.power.NUMBERS_AT_ONCE", 1)
    np.testing.assert_allclose(prior.draw(resampled, systems, seed=3), effects, rtol=1e-12)
    np.testing.assert_array_equal(expected_share(grid, sizes, alpha=0.05), shares)
    users = users_for_share(EffectDistribution.certain(effects), share=0.8, alpha=0.05)
    reached = expected_share(EffectDistribution.certain(effects), users, alpha=0.05)
    assert (reached[np.isfinite(users)] >= 0.8).all()


@pytest.mark.slow
def test_shares_of_many_pairs_keep_within_their_memory(
    rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    """Effects of 200 systems in 300 draws take 46 MB, and six such arrays were held."""
    effects = rng.normal(size=(300, 19_900))
    expected_share(EffectDistribution.certain(effects), 50.0, alpha=0.05)
    assert peak_megabytes() < 120 + effects.nbytes / 2**20


# Draws and searches, by their formulas


def test_components_are_sixteen_from_equal_systems_to_the_largest_effect() -> None:
    """Geometrically, from .2 of the noise; effects above 10 are taken for 10."""
    variances = EffectPrior(np.array([0.5, -2.0]), n_pilot=50, n_systems=3).variances
    np.testing.assert_allclose(variances[1:], np.geomspace(0.2 / 50, 4.0, 15))
    assert EffectPrior(np.array([1e6]), n_pilot=50, n_systems=2).variances[-1] == 100
    assert EffectPrior(np.zeros(0), n_pilot=50, n_systems=2).variances[-1] == 4 / 50


def test_em_takes_two_hundred_steps_unless_asked_for_others() -> None:
    prior = EffectPrior(np.array([0.1, 0.5, -1.2]), n_pilot=50, n_systems=3)
    once = np.ones((1, 3))
    usual, steps = prior.chances(once, 0.1), prior.chances(once, 0.1, steps=200)
    np.testing.assert_array_equal(usual, steps)
    assert (prior.chances(once, 0.1, steps=201) != usual).any()
    nothing = EffectPrior(np.zeros(2), n_pilot=50, n_systems=3).chances(np.ones((4, 2)), 0.1)
    assert nothing.shape == (4, 16, 2)
    assert (nothing[:, 0] == 1).all()
    assert (nothing[:, 1:] == 0).all()


def test_the_number_of_users_has_components_of_a_twentieth_of_the_noise_and_1000_steps() -> None:
    prior = EffectPrior(np.array([0.1, 0.5, -1.2]), n_pilot=50, n_systems=3)
    fine = EffectPrior(prior.effects, 50, 3, smallest_variance=0.05)
    likely = prior.posterior()
    (expected,) = fine.chances(np.ones((1, 3)), 0.1, steps=1000)
    np.testing.assert_array_equal(likely.chances, expected)
    kept = fine.variances / (fine.variances + 1 / 50)
    np.testing.assert_allclose(likely.means, np.multiply.outer(kept, prior.effects))


def test_draws_are_those_of_the_written_uniforms() -> None:
    """Of each draw: one for each system, for each pair, and for the scale of the variances."""
    rng = np.random.default_rng(3)
    effects, n_users, n_systems = rng.normal(size=3), 50, 3
    first, second = pair_indices(3)
    prior = EffectPrior(effects, n_users, n_systems)
    resampled = effects[:, None] + rng.normal(size=(3, 5)) / np.sqrt(n_users)
    found = prior.draw(resampled, (first, second), seed=8)
    for draw in range(5):
        places = draw * 7 + np.arange(7)
        uniforms = random_uniforms(places, 8, "design", "effects")
        exponential = -np.log(uniforms[:3])
        weights = (exponential[first] * exponential[second])[None]
        # More pairs are taken for equal in the first draw, fewer in the second, and so on.
        fewer = 0.1 + (0.15 if draw % 2 else -0.15)
        (chances,) = prior.chances(weights, fewer)
        factor = chi2.isf(uniforms[6], n_systems - 1) / (n_systems - 1)
        for pair in range(3):
            component = int(np.searchsorted(np.cumsum(chances[:, pair]), uniforms[3 + pair]))
            variance = prior.variances[component] / factor
            kept = variance / (variance + 1 / n_users)
            moved = resampled[pair, draw] - effects[pair]
            expected = kept * effects[pair] + np.sqrt(kept) * moved
            assert found[draw, pair] == pytest.approx(expected)


def test_many_users_are_guessed_by_the_normal_distribution() -> None:
    """(z + z')² / effect² and half of z²: from a million on, without a search."""
    effects = np.array([1e-3, 1e-4])
    centre = brentq(lambda c: norm.sf(1.959964 - c) + norm.cdf(-1.959964 - c) - 0.8, 0, 10)
    expected = np.ceil((centre / effects) ** 2 + 1.959964**2 / 2)
    found = needed_users(effects, alpha=0.05, power=0.8)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found[0] > 1e6


def test_more_than_a_trillion_users_are_never_reached() -> None:
    effects = np.array([1e-5, 1e-7])
    assert np.isfinite(needed_users(effects, alpha=0.05, power=0.8)).tolist() == [True, False]
    shares = users_for_share(EffectDistribution.certain(effects[:, None]), share=0.8, alpha=0.05)
    assert np.isfinite(shares).tolist() == [True, False]


def test_the_largest_effect_is_a_million() -> None:
    found = standardised_effects(np.array([1.0, -1.0, 2e7]), np.array([0.0, 0.0, 1.0]))
    assert found.tolist() == [1e6, -1e6, 1e6]


def test_two_users_are_the_fewest_that_are_searched() -> None:
    assert needed_users(np.array([50.0]), alpha=0.5, power=0.2).tolist() == [2]
    assert users_for_share(
        EffectDistribution.certain(np.array([[50.0]])), share=0.2, alpha=0.5
    ).tolist() == [2]
    assert np.isnan(detectable_effect(1, alpha=0.05, power=0.8))
    assert detectable_effect(2, alpha=0.05, power=0.8) > 1


def test_shares_are_of_every_row_of_users_and_effects() -> None:
    effects = EffectDistribution.certain(np.array([[0.1, 0.4], [0.9, 1.4]]))
    sizes = np.array([10.0, 100.0])
    found = expected_share(effects, sizes[:, None], alpha=0.05)
    assert found.shape == (2, 2)
    for row, n_users in enumerate(sizes):
        reach = student.ppf(0.975, n_users - 1)
        for column in range(2):
            z = norm(np.sqrt(n_users) * effects.means[column])
            expected = (z.sf(reach) + z.cdf(-reach)).mean()
            assert found[row, column] == pytest.approx(expected)


def test_four_hundred_resamples_and_five_hundred_blocks_are_made() -> None:
    """A deviation of 400 is good to 1 / sqrt(800), 3.5 %; of 500 blocks to 3.2 %."""
    assert 1 / np.sqrt(2 * REPLICATES) == pytest.approx(0.0354, abs=1e-4)
    values = np.random.default_rng(1).random((1, 2, 700))
    found = resample_power(
        values,
        np.full((1, 1), 0.5),
        np.full((1, 1), 0.5),
        pair_indices(2),
        scales=(None,),
        groups=np.ones((1, 1)),
        sets=np.ones((1, 1), dtype=np.bool_),
        replicates=4,
        seed=1,
    )
    ((_, weights),) = draw_weights(500, replicates=4, seed=1)
    repeats = weights[:, random_blocks(700, n_blocks=500, seed=1)]
    gaps = values[0, 0] - values[0, 1]
    z = np.abs(repeats @ gaps) / np.sqrt(repeats @ gaps**2)
    expected = 2 * norm.sf(z)
    np.testing.assert_allclose(found.crossed[0, :, 0], expected, atol=1e-5)
    np.testing.assert_allclose(found.powers[0], expected * 0.5 / expected.mean(), atol=1e-5)
