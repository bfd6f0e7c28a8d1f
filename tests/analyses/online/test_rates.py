"""Click-through rates, their errors over users, and the test of the split of users."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyses.online.rates import click_through, differences, planned_shares, rates_of, sample_ratio
from runs import InputError
from tests.conftest import examples

RATES = np.array([0.05, 0.08])


def counts_of(accepted: Any, user: Any, arm: Any = 0, period: Any = 0) -> pd.DataFrame:
    """Count lists, of which each has a row, by user and period."""
    lists = pd.DataFrame({"user": user, "arm": arm, "period": period, "ok": accepted})
    found = lists.groupby(["user", "arm", "period"])["ok"].agg(lists="size", accepted="sum")
    return found.reset_index()


def of_users(*rows: tuple[int, int]) -> pd.DataFrame:
    """One row (lists accepted, lists shown) for each user of arm A."""
    user = np.repeat(np.arange(len(rows)), [shown for _, shown in rows])
    return counts_of(np.concatenate([np.arange(shown) < taken for taken, shown in rows]), user)


def simulated(seed: int, *, n_users: int, spread: float = 10.0) -> pd.DataFrame:
    """Rates of users of one arm each, with a rate and a number of lists of their own.

    Numbers and rates of users are independent, so that arms' rates are means of users' rates.
    """
    rng = np.random.default_rng(seed)
    arm = np.arange(n_users) % 2
    own = rng.beta(RATES[arm] * spread, (1 - RATES[arm]) * spread)
    user = np.repeat(np.arange(n_users), rng.geometric(0.2, n_users))
    return click_through(counts_of(rng.random(len(user)) < own[user], user, arm[user]), "AB")


def of_periods(seed: int) -> pd.DataFrame:
    """400 users of one arm with rates of their own, in three periods."""
    rng = np.random.default_rng(seed)
    user, period = rng.integers(0, 400, 3_000), rng.integers(0, 3, 3_000)
    own = rng.beta(1, 4, 400)
    return counts_of(rng.random(3_000) < own[user] * (0.5 + period / 4), user, period=period)


def test_rates_and_errors_are_those_of_the_delta_method() -> None:
    taken, shown = np.array([1, 0, 2, 2]), np.array([2, 3, 2, 5])
    found = click_through(of_users(*zip(taken.tolist(), shown.tolist(), strict=True)), "A")
    rate = taken.sum() / shown.sum()
    variance = 4 / 3 * ((taken - rate * shown) ** 2).sum() / shown.sum() ** 2
    np.testing.assert_allclose(found[["rate", "error"]], [[rate, np.sqrt(variance)]])


def test_an_arm_that_showed_nothing_has_no_rate() -> None:
    found = click_through(of_users((1, 1), (0, 3)), "AB")
    assert found[["rate", "error"]].iloc[1].isna().all()
    assert np.isnan(click_through(of_users((1, 3)), "A")["error"][0])


def test_errors_of_arms_add_up_and_p_values_are_those_of_normal_deviates() -> None:
    found = simulated(0, n_users=400)
    row = differences(found).iloc[0]
    np.testing.assert_allclose(row["error"], np.hypot(*found["error"]))
    np.testing.assert_allclose(row["p"], 2 * stats.norm.sf(abs(row["difference"] / row["error"])))


def test_arms_without_a_click_or_a_miss_have_exact_intervals() -> None:
    exact = stats.binomtest(0, 10).proportion_ci(method="exact").high
    found = click_through(of_users(*[(0, 2)] * 5), "A")
    np.testing.assert_allclose(found[["low", "high"]], [[0.0, exact]])
    found = click_through(of_users(*[(2, 2)] * 5), "A")
    np.testing.assert_allclose(found[["low", "high"]], [[1 - exact, 1.0]])


def test_the_thesis_weighs_periods_by_users() -> None:
    """3 users accept 1 of 10 lists in the first period, one of them 1 of 2 in the second."""
    user, accepted = np.array([0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0]), np.isin(np.arange(12), [0, 10])
    counts = counts_of(accepted, user, period=np.arange(12) >= 10)
    thesis, pooled = click_through(counts, "A", over_time="thesis"), click_through(counts, "A")
    np.testing.assert_allclose(thesis["rate"], (3 * 0.1 + 1 * 0.5) / 4)
    np.testing.assert_allclose(pooled["rate"], 2 / 12)


def test_errors_over_periods_are_those_of_resampled_users() -> None:
    counts, rng = of_periods(1), np.random.default_rng(3)
    found = click_through(counts, "A", over_time="thesis")
    again = []
    for _ in range(400):
        weights = rng.poisson(1.0, 400)[counts["user"]]
        drawn = counts.assign(users=1)[["users", "lists", "accepted"]].mul(weights, axis=0)
        cells = drawn.groupby([counts["arm"], counts["period"]]).sum()
        again.append(rates_of(cells, over_time="thesis").iloc[0])
    np.testing.assert_allclose(np.std(again), found["error"][0], rtol=0.15)


@pytest.mark.validity
def test_errors_over_periods_are_those_that_repetitions_have() -> None:
    found = [click_through(of_periods(seed), "A", over_time="thesis") for seed in range(200)]
    spread = np.std([one["rate"][0] for one in found])
    np.testing.assert_allclose(np.mean([one["error"][0] for one in found]), spread, rtol=0.2)


def covers(found: pd.DataFrame) -> list[bool]:
    """Whether intervals hold the true rate of the first arm, the difference, and if binomial."""
    of_arm, of_pair = found.iloc[0], differences(found).iloc[0]
    binomial = np.sqrt(of_arm["rate"] * (1 - of_arm["rate"]) / of_arm["lists"])
    return [
        of_arm["low"] <= RATES[0] <= of_arm["high"],
        of_pair["low"] <= RATES[0] - RATES[1] <= of_pair["high"],
        abs(of_arm["rate"] - RATES[0]) <= 1.96 * binomial,
    ]


@pytest.mark.validity
def test_intervals_by_users_cover_and_the_binomial_one_does_not() -> None:
    found = [simulated(seed, n_users=600, spread=3.0) for seed in range(120)]
    *by_users, binomial = np.mean([covers(one) for one in found], axis=0)
    # Of 120 intervals of 95 %, fewer than 106 cover with a chance of about 1 in 200.
    assert min(by_users) > 105.5 / 120, by_users
    assert binomial < 0.9, binomial


def split_of(*daily: tuple[int, ...], shares: Mapping[str, float] | None = None) -> pd.DataFrame:
    """New users of arms A, B, ... on each day."""
    n_arms = len(daily[0])
    arm = np.concatenate([np.repeat(np.arange(n_arms), of_day) for of_day in daily])
    day = np.repeat(np.arange(len(daily)), np.sum(daily, axis=1))
    firsts, arms = pd.DataFrame({"arm": arm, "day": day}), "abcdef"[:n_arms].upper()
    return sample_ratio(firsts, arms, planned_shares(arms, shares))


@examples(30)
@given(st.lists(st.integers(1, 500), min_size=2, max_size=6), st.data())
def test_the_test_is_that_of_scipy(counts: list[int], data: st.DataObject) -> None:
    n_arms = len(counts)
    weights = data.draw(st.lists(st.integers(1, 9), min_size=n_arms, max_size=n_arms))
    shares = np.array(weights) / sum(weights)
    expected = stats.chisquare(counts, shares * sum(counts))
    planned = dict(zip("ABCDEF", weights, strict=False))
    row = split_of(tuple(counts), shares=planned).iloc[0]
    found = row["chi_square"], row["p"]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


def test_all_arms_but_one_are_free() -> None:
    """Of 10, 20, 30 users, 20 each are expected: chi-square 10, whose p on 2 degrees is e^-5."""
    row = split_of((10, 20, 30)).iloc[0]
    assert (row["chi_square"], row["degrees_of_freedom"]) == (pytest.approx(10), 2)
    assert row["p"] == pytest.approx(np.exp(-5))
    # With two arms it is the square of a normal deviate.
    two = split_of((40, 60)).iloc[0]
    assert (two["chi_square"], two["degrees_of_freedom"]) == (pytest.approx(4), 1)
    assert two["p"] == pytest.approx(2 * stats.norm.sf(2))


def test_p_values_of_the_thesis() -> None:
    """The users of the five arms of data set A (table 4.2)."""
    row = split_of((7012, 7122, 6986, 7117, 7102)).iloc[0]
    np.testing.assert_allclose([row["chi_square"], row["p"]], [2.31, 0.68], rtol=0.01)


def test_only_an_unplanned_split_is_a_mismatch() -> None:
    assert not bool(split_of((900, 100), shares={"B": 1, "A": 9})["mismatch"][0])
    assert not bool(split_of((900, 800))["mismatch"][0])
    assert bool(split_of((900, 700))["mismatch"][0])


def test_days_are_adjusted_for_their_number_and_users_have_percentages() -> None:
    frame = split_of((50, 50), (80, 40))
    assert frame["users_A"].tolist() == [130, 50, 80]
    np.testing.assert_allclose(frame["percent_A"], [13000 / 220, 50, 8000 / 120])
    p, adjusted = frame["p"].to_numpy(), frame["p_holm"].to_numpy()
    np.testing.assert_allclose(p, stats.chi2.sf(frame["chi_square"], 1))
    np.testing.assert_allclose(adjusted, [p[0], p[1], 2 * p[2]])


@pytest.mark.parametrize(
    "shares",
    [{"A": 1.0}, {"A": 1, "C": 1}, {"A": 1, "B": 0}, {"A": 1, "B": -1}, {"A": 1, "B": np.nan}],
)
def test_shares_must_be_positive_and_one_for_each_arm(shares: dict[str, float]) -> None:
    with pytest.raises(InputError, match="must be one positive number for each of A, B, got"):
        split_of((3, 2), shares=shares)


# Numbers that are stated by hand


def test_intervals_reach_196_hundredths_of_the_error_within_0_and_1() -> None:
    """Of 10, 10 and 10 lists 4, 5 and 6 are accepted: the rate is .5, squares are 1, 0 and 1."""
    found = click_through(of_users((4, 10), (5, 10), (6, 10)), "A").iloc[0]
    error = np.sqrt(3 / 2 * 2) / 30
    reach = stats.norm.ppf(0.975) * error
    assert found[["users", "lists", "accepted", "rate"]].tolist() == [3, 30, 15, 0.5]
    assert found.index.tolist() == [
        *("arm", "users", "lists", "accepted", "rate", "error", "low", "high")
    ]
    assert found["error"] == pytest.approx(error)
    assert [found["low"], found["high"]] == pytest.approx([0.5 - reach, 0.5 + reach])
    wide = click_through(of_users((0, 10), (1, 1), (1, 1)), "A").iloc[0]
    assert wide["low"] == 0
    high = click_through(of_users((10, 10), (0, 1), (0, 1)), "A").iloc[0]
    assert high["high"] == 1


def test_two_users_have_an_error_and_one_has_none() -> None:
    """Of two users who accept 1 of 2 and 2 of 2, the squares are each (1/2)^2."""
    found = click_through(of_users((1, 2), (2, 2)), "A").iloc[0]
    assert found["error"] == pytest.approx(np.sqrt(2 / 1 * (0.25 + 0.25)) / 4)
    one = click_through(of_users((1, 2)), "A").iloc[0]
    assert np.isnan(one["error"])


def test_errors_over_periods_by_hand() -> None:
    """User 0 accepts 1 of 2 and then 0 of 2, user 1 accepts 2 of 2; rates are 3/4 and 0.

    The mean weighted by users is (2 * 3/4 + 0) / 3 = 1/2. In the first period a user moves it by
    (2 * w + 3/4 - 1/2) / 3, with w of -.5/4 and .5/4, and in the second by -1/2 / 3.
    """
    counts = pd.DataFrame(
        {
            "user": [0, 1, 0],
            "arm": [0, 0, 0],
            "period": [0, 0, 1],
            "lists": [2, 2, 2],
            "accepted": [1, 2, 0],
        }
    )
    found = click_through(counts, "A", over_time="thesis").iloc[0]
    assert found["rate"] == pytest.approx(0.5)
    moved = [(-0.25 + 0.25) / 3 - 0.5 / 3, (0.25 + 0.25) / 3]
    assert found["error"] == pytest.approx(np.sqrt(2 * (moved[0] ** 2 + moved[1] ** 2)))


def test_differences_are_of_all_pairs_and_adjusted_for_their_number() -> None:
    rates = pd.DataFrame({"arm": [*"ABC"], "rate": [0.5, 0.2, 0.4], "error": [0.03, 0.04, np.nan]})
    found = differences(rates)
    assert found[["arm_a", "arm_b"]].to_numpy().tolist() == [["A", "B"], ["A", "C"], ["B", "C"]]
    assert found["difference"].tolist() == pytest.approx([0.3, 0.1, -0.2])
    reach = stats.norm.ppf(0.975) * 0.05
    first = found.iloc[0]
    assert first["error"] == pytest.approx(0.05)
    assert [first["low"], first["high"]] == pytest.approx([0.3 - reach, 0.3 + reach])
    p = 2 * stats.norm.sf(6)
    assert first["p"] == pytest.approx(p)
    assert differences(rates[:1]).empty
    known = differences(rates.assign(error=[0.03, 0.04, 0.05]))
    assert known["p_holm"][0] == pytest.approx(3 * p)


def test_planned_shares_are_scaled_and_equal_by_default() -> None:
    assert planned_shares("AB", {"B": 3.0, "A": 1.0}) == [0.25, 0.75]
    assert planned_shares("ABCD", None) == [0.25] * 4
    with pytest.raises(InputError, match="one positive number for each of A, B"):
        planned_shares("AB", {"A": 1.0, "B": np.inf})


@pytest.mark.parametrize(("gap", "is_mismatch"), [(164, False), (166, True)])
def test_a_split_is_a_mismatch_if_its_p_is_below_one_in_a_thousand(
    gap: int, is_mismatch: bool
) -> None:
    """Of 2,500 users, chi-square is the squared gap over 2,500; its limit is 10.83."""
    assert stats.chi2.isf(0.001, 1) == pytest.approx(164.5**2 / 2500, abs=0.01)
    row = split_of((1250 + gap // 2, 1250 - gap // 2)).iloc[0]
    assert row["mismatch"] == is_mismatch


def test_days_of_a_split_have_their_dates_and_arms_without_users_a_column() -> None:
    firsts = pd.DataFrame({"arm": [0, 0, 2, 2], "day": [1, 1, 1, 3]})
    found = sample_ratio(firsts, "ABC", [0.5, 0.25, 0.25])
    assert found["day"].tolist() == ["all", "1970-01-02", "1970-01-04"]
    assert found["users_B"].tolist() == [0, 0, 0]
    assert found["users_C"].tolist() == [2, 1, 1]
    assert found["percent_A"].tolist() == pytest.approx([50, 200 / 3, 0])
    expected = [
        stats.chisquare([2, 0, 2], [2, 1, 1]),
        stats.chisquare([2, 0, 1], [1.5, 0.75, 0.75]),
    ]
    assert found["chi_square"][:2].tolist() == pytest.approx([each.statistic for each in expected])
