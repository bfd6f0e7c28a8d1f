import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from analyses.significance.paired_tests import pair_means_and_deviations, t_test
from analyses.significance.permutation import pair_indices
from analyses.significance.power import (
    detectable_effect,
    effects_of,
    expected_share,
    fewest,
    needed_users,
    possible_effects,
    resampled_effects,
    shrunk_effects,
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


@pytest.mark.parametrize(("alpha", "beta"), [(0.01, 0.1), (0.01, 0.2), (0.05, 0.1), (0.05, 0.2)])
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


def test_no_difference_is_never_found_and_a_huge_one_by_two_users() -> None:
    found = needed_users(np.array([0.0, 1e-9, 1e6]), alpha=0.05, power=0.8)
    assert found.tolist() == [np.inf, np.inf, 2]


def test_what_can_be_detected_is_found_with_the_power() -> None:
    effect = detectable_effect(120, alpha=0.01, power=0.9)
    assert t_power(np.array(effect), 120, alpha=0.01) == pytest.approx(0.9)
    assert needed_users(np.array([effect]), alpha=0.01, power=0.9).tolist() == [120]


def test_the_fewest_users_are_found_to_the_last() -> None:
    limits = np.array([2.0, 3.0, 17.0, 123_456.0, np.inf])
    assert fewest(lambda n: n / limits, 1.0, (5,)).tolist() == limits.tolist()


def test_effects_that_are_noise_alone_shrink_to_nothing() -> None:
    shrunk, variance = shrunk_effects(np.full((1, 6), 0.09), n_pilot=100)
    assert (shrunk.tolist(), variance.tolist()) == ([[0.0] * 6], [0.0])
    assert users_for_share(shrunk, share=0.8, alpha=0.05, variance=variance).tolist() == [np.inf]


def test_large_effects_hardly_shrink() -> None:
    shrunk, variance = shrunk_effects(np.array([[3.0, -3.0]]), n_pilot=1000)
    assert shrunk == pytest.approx(np.array([[3.0, -3.0]]), rel=2e-4)
    assert variance == pytest.approx(1e-3, rel=2e-4)


def test_all_users_once_resample_to_what_was_observed(rng: np.random.Generator) -> None:
    values = rng.random((2, 4, 30))
    found = resampled_effects(values, np.ones((1, 30)))[:, :, 0]
    assert found == pytest.approx(effects_of(*pair_means_and_deviations(values)))


def test_the_t_test_finds_as_many_as_is_promised(rng: np.random.Generator) -> None:
    for effect, n_users in ((0.5, 34), (0.2, 100), (1.5, 5)):
        drawn = np.stack([rng.normal(effect, size=(4000, n_users)), np.zeros((4000, n_users))], 1)
        found = (t_test(drawn) < 0.05).mean()
        promised = float(t_power(np.array(effect), n_users, alpha=0.05))
        assert found == pytest.approx(promised, abs=4 * np.sqrt(0.25 / 4000))


@pytest.mark.validity
@pytest.mark.parametrize(("n_systems", "n_users"), [(8, 100), (12, 400)])
def test_users_for_a_share_of_pairs_are_right_in_new_samples(n_systems: int, n_users: int) -> None:
    rng = np.random.default_rng(n_users)
    inside, ratios = [], []
    for number in range(60):
        means = rng.normal(size=n_systems) * 0.2
        pilot = means[:, None] + rng.normal(size=(n_systems, n_users)) + rng.normal(size=n_users)
        first, second = pair_indices(n_systems)
        truth = users_for_share((means[first] - means[second]) / 2**0.5, share=0.8, alpha=0.05)
        found, low, high = from_pilot(pilot, seed=number, rng=rng)
        inside.append(low <= truth <= high)
        ratios.append(found / truth)
    assert sum(inside) >= 51
    # Taken at face value, differences of the smaller pilots ask for .6 to .75 of the users.
    assert 0.8 < np.median(ratios) < 1.4


def from_pilot(pilot: Floats, *, seed: int, rng: np.random.Generator) -> tuple[float, float, float]:
    n_systems, n_users = pilot.shape
    effects = effects_of(*pair_means_and_deviations(pilot[None]))
    shrunk, variance = shrunk_effects(effects, n_pilot=n_users)
    found = users_for_share(shrunk, share=0.8, alpha=0.05, variance=variance)
    weights = rng.multinomial(n_users, np.full(n_users, 1 / n_users), size=200).astype(np.float64)
    resampled = resampled_effects(pilot[None], weights)
    possible = possible_effects(effects, resampled, n_systems=n_systems, n_pilot=n_users, seed=seed)
    replicates = users_for_share(possible, share=0.8, alpha=0.05)[0]
    low, high = np.quantile(replicates, [0.025, 0.975], method="inverted_cdf")
    return float(found[0]), float(low), float(high)


def test_expected_shares_rise_with_users() -> None:
    sizes = np.array([2.0, 10.0, 100.0, 1e4])
    shares = expected_share(np.array([[0.1, 0.3]]), sizes, alpha=0.05, variance=1e-3)
    assert (np.diff(shares) > 0).all()
