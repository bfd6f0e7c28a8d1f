import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.online.clicks.rates import (
    ClickThrough,
    click_through,
    click_through_by_period,
    rates_of,
)
from analyses.online.clicks.tallies import Tallies, tally
from tests.analyses.online.experiments import simulated

RATES = np.array([0.05, 0.08])


def of_users(*rows: tuple[int, int], arm: int = 0) -> Tallies:
    """One row (lists accepted, lists shown) for each user of arm A."""
    user = np.repeat(np.arange(len(rows)), [shown for _, shown in rows])
    accepted = np.concatenate([np.arange(shown) < taken for taken, shown in rows])
    return tally(accepted, user=user, arm=np.full(len(user), arm), arms=["A", "B"])


def test_the_pooled_rate_is_accepted_by_shown() -> None:
    assert click_through(of_users((1, 1), (0, 3))).rates[0] == 1 / 4


def test_the_mean_of_users_weighs_users_equally() -> None:
    assert click_through(of_users((1, 1), (0, 3))).means_of_users[0] == 1 / 2


def test_an_arm_that_showed_nothing_has_no_rate() -> None:
    found = click_through(of_users((1, 1), (0, 3)))
    assert np.isnan([found.rates[1], found.errors[1], found.means_of_users[1]]).all()


def test_one_user_has_no_error() -> None:
    assert np.isnan(click_through(of_users((1, 3))).errors[0])


def test_the_error_is_that_of_the_delta_method() -> None:
    taken, shown = np.array([1, 0, 2, 2]), np.array([2, 3, 2, 5])
    found = click_through(of_users(*zip(taken.tolist(), shown.tolist(), strict=True)))
    rate = taken.sum() / shown.sum()
    variance = 4 / 3 * ((taken - rate * shown) ** 2).sum() / shown.sum() ** 2
    np.testing.assert_allclose(found.errors[0], np.sqrt(variance))


def test_with_one_list_each_the_error_is_nearly_binomial() -> None:
    found = click_through(of_users(*[(1, 1)] * 300, *[(0, 1)] * 700))
    np.testing.assert_allclose(found.errors[0], np.sqrt(0.3 * 0.7 / 1000), rtol=1e-3)


def test_errors_of_independent_arms_add_up() -> None:
    found = click_through(simulated(np.random.default_rng(0), rates=RATES, n_users=400))
    np.testing.assert_allclose(
        found.differences()["error"].item(), np.hypot(found.errors[0], found.errors[1])
    )


def test_arms_with_the_same_users_do_not_differ_by_chance() -> None:
    user, accepted = np.repeat(np.arange(9), 2), np.repeat([1, 0, 1, 1, 0, 0, 1, 0, 0], 2)
    shared = tally(accepted, user=user, arm=np.tile([0, 1], 9), arms=["A", "B"])
    difference = click_through(shared).differences().set_index(["arm_a", "arm_b"])
    columns = ["difference", "error", "low", "high"]
    np.testing.assert_allclose(difference[columns].to_numpy(), 0.0, atol=1e-12)


def in_two_periods() -> Tallies:
    """3 users accept 1 of 10 lists in the first period, one of them 1 of 2 in the second."""
    user = np.array([0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0])
    accepted = np.array([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0])
    period = (np.arange(12) >= 10).astype(int)
    arm = np.zeros(12, dtype=int)
    return tally(accepted, user=user, arm=arm, arms=["A"], period=period, periods=["1", "2"])


def test_the_thesis_weighs_periods_by_users() -> None:
    found = click_through(in_two_periods(), over_time="thesis")
    np.testing.assert_allclose(found.rates, (3 * 0.1 + 1 * 0.5) / 4)


def test_an_arm_s_periods_are_its_own() -> None:
    user = np.arange(6)
    arm, period = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 2, 2, 2])
    accepted = np.array([1, 0, 1, 0, 0, 1])
    names = ["A v1", "A v2", "B v1"]
    counts = tally(accepted, user=user, arm=arm, arms=["A", "B"], period=period, periods=names)
    found = click_through(counts, over_time="thesis")
    np.testing.assert_allclose(found.rates, [(2 * 0.5 + 1 * 1.0) / 3, 1 / 3])
    assert np.isfinite(found.errors).all()


def test_periods_do_not_matter_to_the_pooled_rate() -> None:
    np.testing.assert_allclose(click_through(in_two_periods()).rates, 2 / 12)


def test_each_period_has_rates_of_its_own() -> None:
    found = click_through_by_period(in_two_periods())
    assert [found[name].rates[0] for name in ("1", "2")] == [0.1, 0.5]


def test_how_many_users_a_period_has_is_uncertain_too() -> None:
    # 30 users see one list each and reject it, 10 come a period later and accept.
    period = np.repeat([0, 1], [30, 10])
    arm = np.zeros(40, dtype=int)
    user = np.arange(40)
    counts = tally(period, user=user, arm=arm, arms=["A"], period=period, periods=["1", "2"])
    found = click_through(counts, over_time="thesis")
    np.testing.assert_allclose(found.rates, 0.25)
    np.testing.assert_allclose(found.errors, np.sqrt(0.25 * 0.75 / 39))


def of_many_periods(seed: int) -> Tallies:
    rng = np.random.default_rng(seed)
    n_slates = 3_000
    user = rng.integers(0, 400, n_slates)
    period = rng.integers(0, 3, n_slates)
    own = rng.beta(1, 4, 400)
    accepted = rng.random(n_slates) < own[user] * (0.5 + period / 4)
    arm = np.zeros(n_slates, dtype=int)
    return tally(accepted, user=user, arm=arm, arms=["A"], period=period, periods=["1", "2", "3"])


def test_errors_over_periods_are_those_of_resampled_users() -> None:
    counts = of_many_periods(1)
    found = click_through(counts, over_time="thesis")
    cells = np.stack([counts.period == period for period in range(3)])
    columns = np.stack([np.ones(len(counts.user)), counts.n_slates, counts.n_accepted])
    weights = np.random.default_rng(3).poisson(1.0, (400, 400))[:, counts.user]
    sums = np.einsum("cr,pr,br->cpb", columns, cells, weights)
    again = rates_of(sums[:, np.newaxis], over_time="thesis")
    np.testing.assert_allclose(again.std(), found.errors[0], rtol=0.15)


@pytest.mark.slow
def test_errors_over_periods_are_those_that_repetitions_have() -> None:
    found = [click_through(of_many_periods(seed), over_time="thesis") for seed in range(200)]
    spread = np.std([one.rates[0] for one in found])
    np.testing.assert_allclose(np.mean([one.errors[0] for one in found]), spread, rtol=0.2)


def covers(found: ClickThrough) -> list[bool]:
    """Whether intervals hold the true rate of the first arm, the difference, and if binomial."""
    of_arm, of_pair = found.to_frame().iloc[0], found.differences().iloc[0]
    difference = RATES[0] - RATES[1]
    return [
        of_arm["low"] <= RATES[0] <= of_arm["high"],
        of_pair["low"] <= difference <= of_pair["high"],
        abs(of_arm["rate"] - RATES[0]) <= 1.96 * binomial_error(found)[0],
    ]


def binomial_error(found: ClickThrough) -> NDArray[np.float64]:
    """The error if lists were independent."""
    return np.asarray(np.sqrt(found.rates * (1 - found.rates) / found.n_slates))


@pytest.mark.validity
def test_intervals_by_users_cover_and_the_binomial_one_does_not() -> None:
    found = [
        click_through(simulated(np.random.default_rng(seed), rates=RATES, n_users=600, spread=3.0))
        for seed in range(120)
    ]
    *by_users, binomial = np.mean([covers(one) for one in found], axis=0)
    # Of 120 intervals of 95 %, fewer than 106 cover with a chance of about 1 in 200.
    assert min(by_users) > 105.5 / 120, by_users
    assert binomial < 0.9, binomial


def test_robots_move_the_pooled_rate_but_not_the_mean_of_users() -> None:
    rng = np.random.default_rng(2)
    people = [(int(rng.binomial(4, 0.05)), 4) for _ in range(3_000)]
    found = click_through(of_users(*people, *[(0, 4_000)] * 3))
    assert found.rates[0] < 0.03
    assert 0.045 < found.means_of_users[0] < 0.055
    assert found.errors[0] > 5 * np.sqrt(found.rates[0] * (1 - found.rates[0]) / found.n_slates[0])


def test_the_figure_has_one_place_for_each_arm() -> None:
    found = click_through(simulated(np.random.default_rng(0), rates=RATES, n_users=100))
    labels = [label.get_text() for label in found.plot().get_yticklabels()]
    assert labels == ["A", "B"]
    assert "200 users" not in found.caption()
    assert "100 users" in found.caption()
