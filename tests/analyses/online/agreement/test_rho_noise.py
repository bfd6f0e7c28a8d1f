import numpy as np
import pytest

from analyses.online.agreement.rho_noise import RhoNoise, noise_of
from analyses.online.clicks.rates import click_through
from analyses.online.clicks.tallies import tally
from analyses.online.tables.experiment import Experiment
from analyses.ordering import spearman
from runs import InputError

Floats = np.ndarray


def observed(values: Floats, rates: Floats, value_errors: Floats, rate_errors: Floats) -> RhoNoise:
    models = tuple(map(str, range(len(rates))))
    errors = {"value_errors": value_errors[None], "rate_errors": rate_errors}
    found = noise_of(Experiment("w", models, ("m",), values[None], rates, **errors), [0], seed=1)
    assert found is not None
    return found


def test_without_noise_the_interval_is_the_rho_itself() -> None:
    values, rates = np.array([1.0, 3, 2, 5, 4]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    found = observed(values, rates, np.zeros(5), np.zeros(5))
    assert found.low[0] == found.high[0] == found.corrected[0] == found.rhos[0]
    assert (found.of_values[0], found.of_rates) == (1.0, 1.0)


def test_attenuation_is_undone_by_the_reliabilities() -> None:
    """Variances of 2.5, and errors of half of it and of a fifth: rho / sqrt(.5 .8)."""
    values = np.array([1.0, 2, 3, 5, 4])
    found = observed(values, np.arange(5.0), np.full(5, 1.25**0.5), np.full(5, 0.5**0.5))
    assert (found.of_values[0], found.of_rates) == pytest.approx((0.5, 0.8))
    assert found.corrected[0] == pytest.approx(min(0.9 / 0.4**0.5, 1.0))


def test_noise_alone_leaves_any_rho_possible() -> None:
    found = observed(np.arange(8.0), np.arange(8.0), np.full(8, 9.0), np.full(8, 9.0))
    assert found.of_rates == 0.0
    assert np.isnan(found.corrected[0])
    assert found.low[0] < -0.5


@pytest.mark.parametrize(("error", "limit"), [(0.1, "the number of models"), (3.0, "noise")])
def test_what_limits_is_said(error: float, limit: str) -> None:
    values = np.array([0.0, 2, 1, 3, 5, 4, 7, 6])
    said = observed(values, np.arange(8.0), np.zeros(8), np.full(8, error)).finding()
    assert f"{limit} limits more than" in said


def test_without_errors_of_the_rates_nothing_is_said() -> None:
    one = Experiment("w", ("a", "b", "c", "d"), ("m",), np.ones((1, 4)), np.arange(4.0))
    assert noise_of(one, [0], seed=1) is None


def test_errors_below_0_are_refused() -> None:
    with pytest.raises(InputError, match="errors of rates must be numbers of at least 0"):
        observed(np.arange(4.0), np.arange(4.0), np.zeros(4), np.array([0.1, 0.1, -0.1, 0.1]))


def small_world(seed: int, correlation: float | None) -> tuple[RhoNoise, float, list[bool]]:
    """Clicks of users with rates of their own, and values with errors; the truth is known."""
    rng = np.random.default_rng(seed)
    n_models, per_arm = int(rng.integers(5, 14)), int(rng.integers(600, 2000))
    r = rng.uniform(-0.95, 0.95) if correlation is None else correlation
    true = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], n_models)
    rates = 0.03 * np.exp(0.25 * true[:, 1])
    arm = np.repeat(np.arange(n_models), per_arm)
    n_lists = rng.geometric(0.25, len(arm))
    own = np.repeat(rng.beta(10 * rates[arm], 10 * (1 - rates[arm])), n_lists)
    user = np.repeat(np.arange(len(arm)), n_lists)
    names = [str(number) for number in range(n_models)]
    counts = tally(rng.random(len(own)) < own, user=user, arm=arm[user], arms=names)
    found, error = click_through(counts), rng.uniform(0.1, 1.0)
    values = true[:, 0] + error * rng.normal(size=n_models)
    noise = observed(values, found.rates, np.full(n_models, error), found.errors)
    low, high = found.limits
    return noise, float(spearman(true[:, 0], rates)), ((low <= rates) & (rates <= high)).tolist()


@pytest.mark.validity
@pytest.mark.parametrize("correlation", [None, 0.0, 0.9])
def test_intervals_of_rho_and_of_rates_cover_in_200_small_worlds(correlation: float | None) -> None:
    covered, of_rates = [], []
    for seed in range(200):
        noise, truth, rates = small_world(seed, correlation)
        covered.append(noise.low[0] - 1e-9 <= truth <= noise.high[0] + 1e-9)
        of_rates += rates
    assert np.mean(covered) >= 0.93
    assert np.mean(of_rates) >= 0.93
