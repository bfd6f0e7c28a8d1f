import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import nct, t

from analyses.design import TAIL, Design, Settings, design
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork
from analyses.significance.effects import variance_components
from analyses.significance.power import (
    EffectDistribution,
    EffectPrior,
    detectable_effect,
    expected_share,
    needed_users,
    standardised_effects,
    users_for_share,
)
from runs import InputError
from tests.drawn import explained, points_of

QUICK = {"replicates": 20}
N_USERS = 60


def scores_of(values: np.ndarray) -> Scores:
    measures = Measures(Measure(f"m{number}", 5) for number in range(len(values)))
    systems = tuple(f"s{number}" for number in range(values.shape[1]))
    return Scores(values, measures, systems, np.arange(values.shape[2]).astype(np.str_))


def designed(values: np.ndarray, **settings: Any) -> Design:
    return design(ScoresWork(scores_of(values), seed=3), Settings(**QUICK | settings))


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    """Five systems by a sharp measure and a blunt one, with three times the noise."""
    rng = np.random.default_rng(8)
    noise = rng.normal(size=(2, 5, N_USERS)) * np.array([0.1, 0.3])[:, None, None]
    return 0.5 + 0.05 * np.arange(5)[:, None] + noise


@pytest.fixture(scope="module")
def found(values: np.ndarray) -> Design:
    return designed(values)


def test_a_measure_with_three_times_the_noise_needs_about_nine_times_the_users(
    found: Design,
) -> None:
    ratio, low, high = found.ratio(1, 0)
    assert low < 9 < high
    assert ratio == found.needed[1] / found.needed[0]


def test_measures_that_differ_by_chance_alone_seldom_differ_beyond_noise() -> None:
    rng = np.random.default_rng(2)
    beyond = []
    for _ in range(20):
        alike = 0.1 * rng.normal(size=(6, 1)) + rng.normal(size=(5, 6, 100))
        found = designed(alike, replicates=100)
        fewest, most = int(found.needed.argmin()), int(found.needed.argmax())
        beyond.append(found.ratio(most, fewest)[1] > 1)
    assert sum(beyond) <= 3


def test_all_ratios_are_within_their_intervals_in_as_many_replicates_as_stated() -> None:
    rng = np.random.default_rng(4)
    found = designed(0.5 * rng.normal(size=(6, 1)) + rng.normal(size=(4, 6, 100)))
    found = replace(found, replicates=np.exp(rng.normal(size=(4, 4000))))
    inside = np.ones(4000, dtype=bool)
    for more, fewer in combinations(range(4), 2):
        ratios = found.replicates[more] / found.replicates[fewer]
        _, low, high = found.ratio(more, fewer)
        inside &= (low <= ratios) & (ratios <= high)
    assert inside.mean() == pytest.approx(1 - 2 * TAIL, abs=0.003)


def test_a_measure_that_may_never_reach_the_share_needs_any_multiple(found: Design) -> None:
    replicates = found.replicates.copy()
    replicates[1, :5] = np.inf
    _, low, high = replace(found, replicates=replicates).ratio(1, 0)
    assert 1 < low < 9
    assert np.isinf(high)


def test_no_number_may_be_enough_for_systems_of_which_half_are_equal() -> None:
    rng = np.random.default_rng(6)
    unlimited = []
    for _ in range(20):
        means = np.where(np.arange(12) < 7, 0.0, rng.normal(0, 0.3, 12))
        found = designed(means[:, None] + rng.normal(size=(1, 12, 100)), replicates=100)
        unlimited.append(bool(np.isinf(found.interval[1]).all()))
        assert ("(∞)" in "".join(found.cautions())) == unlimited[-1]
    assert sum(unlimited) >= 17


def test_users_of_a_pair_are_those_of_its_standardised_difference(
    found: Design, values: np.ndarray
) -> None:
    d = values[0, 0] - values[0, 1]
    effect = np.abs(d.mean()) / d.std(ddof=1)
    (users,) = needed_users(np.array([effect]), alpha=0.05, power=0.8)
    assert found.observed[0, 0] == users
    (users,) = needed_users(
        0.05 * values[:1].mean() / d.std(ddof=1, keepdims=True), alpha=0.05, power=0.8
    )
    assert found.relative[0, 0] == users


def test_pairs_that_are_alike_by_every_measure_are_left_out(values: np.ndarray) -> None:
    doubled = np.concatenate([values, values[:, :1]], axis=1)
    assert len(designed(doubled).pairs) == 15 - 1


def test_systems_that_never_differ_are_never_told_apart() -> None:
    nothing = designed(np.full((2, 3, 10), 0.5))
    assert np.isinf(nothing.needed).all()


def test_standardised_scores_know_no_scale_of_a_user(values: np.ndarray) -> None:
    scales = np.random.default_rng(1).integers(1, 9, size=N_USERS)
    one, other = (designed(v, standardised="normal") for v in (values, values * scales))
    assert one.needed.tolist() == other.needed.tolist()
    assert one.needed.tolist() != designed(values).needed.tolist()


def test_few_users_who_differ_give_no_interval(values: np.ndarray) -> None:
    seldom = np.where(np.arange(N_USERS) < 9, values, 0.5)
    found = designed(np.stack([values[0], seldom[0]]))
    assert np.isnan(found.interval[0]).tolist() == [False, True]
    assert np.isnan(found.ratio(1, 0)[1:]).all()
    assert any(each.startswith("By m1@5, fewer than 10 users") for each in found.cautions())


def test_a_pilot_has_two_systems_and_three_users() -> None:
    with pytest.raises(InputError, match="two systems and three users, got 2 and 2"):
        designed(np.ones((1, 2, 2)))


# Numbers that are stated by hand


def differences_of(values: np.ndarray) -> np.ndarray:
    """Of every pair and user, (n_pairs, n_users)."""
    return np.array([values[i] - values[j] for i, j in combinations(range(len(values)), 2)])


def test_the_users_who_differ_are_counted_in_the_median_pair() -> None:
    """Of the pairs 4, 14 and 18 users differ: 14 in the median, and 12 in the mean."""
    values = np.zeros((1, 3, 20))
    values[0, 0, :4] = 1
    values[0, 2, 4:18] = np.arange(14) + 1
    found = designed(values)
    assert found.differing.tolist() == [14]
    assert np.isfinite(found.interval[0]).all()


@pytest.mark.parametrize(("n_differing", "has_interval"), [(9, False), (10, True)])
def test_an_interval_needs_ten_users_who_differ_in_the_median_pair(
    n_differing: int, has_interval: bool, found: Design
) -> None:
    stated = replace(found, differing=np.array([n_differing, 60]))
    assert np.isfinite(stated.interval[0]).tolist() == [has_interval, True]
    of_two = replace(stated, replicates=found.replicates[:, :2])
    assert np.isfinite(of_two.interval[0]).tolist() == [has_interval, True]
    of_one = replace(stated, replicates=found.replicates[:, :1])
    assert np.isnan(of_one.interval[0]).all()


def test_limits_of_the_users_needed_are_replicates_of_rank_5_and_395_of_400(found: Design) -> None:
    """.0125 of 400 are 5."""
    replicates = np.random.default_rng(1).permuted([np.arange(1.0, 401)] * 2, axis=1)
    low, high = replace(found, replicates=replicates * [[1], [2]]).interval
    assert low.tolist() == [5, 10]
    assert high.tolist() == [395, 790]


def test_a_ratio_ends_at_replicates_of_the_same_rank_on_either_side(found: Design) -> None:
    """Of 1,000, the smaller rank from either end is 13 or less in 26, from .025 on."""
    ranks = np.random.default_rng(1).permutation(np.arange(1.0, 1001))
    needed = np.array([50.0, 200.0])
    stated = replace(found, needed=needed, replicates=np.stack([np.ones(1000), ranks]))
    assert stated.ratio(1, 0) == (4, 13, 987)
    either = np.array([np.inf, 3.0])
    endless = replace(found, needed=either, replicates=np.full((2, 50), np.inf))
    assert endless.ratio(1, 0) == (0, 1, 1)


def test_the_system_furthest_from_the_mean_on_either_side_is_the_outlier() -> None:
    """By the first measure the lowest of four systems, by the second the highest."""
    rng = np.random.default_rng(3)
    worth = np.array([[0.5, 0.55, 0.45, 0.1], [0.9, 0.5, 0.45, 0.55]])
    values = worth[:, :, None] + 0.1 * rng.normal(size=(2, 4, 40))
    found = designed(values)
    assert found.outliers.tolist() == [3, 0]
    for number, others in enumerate(([0, 1, 2], [1, 2, 3])):
        rest = variance_components(values[number : number + 1, others])
        assert found.systems_without[number] == pytest.approx(rest.systems[0])
        assert found.relative_without[number] == pytest.approx(rest.relative[0])
    whole = variance_components(values)
    shares = 100 * (1 - found.systems_without / whole.systems)
    name = ("s3", "s0")[int(shares.argmax())]
    assert any(f"{name} alone makes {shares.max():.0f} %" in one for one in found.cautions())


@pytest.mark.parametrize(("left", "cautioned"), [(0.5, True), (0.51, False)])
def test_a_system_that_makes_half_of_the_variance_is_named(
    left: float, cautioned: bool, found: Design
) -> None:
    stated = replace(found, systems_without=left * found.components.systems)
    assert any("alone makes 50 %" in one for one in stated.cautions()) == cautioned


def test_of_two_systems_nothing_is_left_without_the_outlier(values: np.ndarray) -> None:
    found = designed(values[:, :2, :3])
    assert np.isnan(found.systems_without).all()
    assert np.isnan(found.relative_without).all()


@pytest.mark.parametrize(("n_systems", "n_users"), [(1, 10), (2, 2)])
def test_smaller_pilots_are_refused(n_systems: int, n_users: int) -> None:
    values = np.random.default_rng(1).random((1, n_systems, n_users))
    with pytest.raises(InputError, match=f"got {n_systems} and {n_users}"):
        designed(values)


def test_what_the_pilot_detects_has_the_power_by_the_noncentral_t(
    found: Design, values: np.ndarray
) -> None:
    deviations = differences_of(values[1]).std(axis=1, ddof=1)
    np.testing.assert_allclose(found.deviations[1], deviations)
    effects = found.detectable[1] / deviations
    reach = t.ppf(0.975, N_USERS - 1)
    powers = nct.sf(reach, N_USERS - 1, np.sqrt(N_USERS) * effects)
    np.testing.assert_allclose(powers, 0.8, atol=1e-6)


@pytest.fixture(scope="module")
def odd(values: np.ndarray) -> Design:
    """Of three systems, with other settings than by default; the first scores are negative."""
    negative = values[:, :3] * [[[-1]], [[1]]]
    return designed(negative, alpha=0.01, power=0.9, share=0.6, reliability=0.9, difference=0.1)


def test_the_summary_has_medians_over_pairs_and_shares(odd: Design, values: np.ndarray) -> None:
    summary = odd.summary()
    for number, scores in enumerate(values[:, :3]):
        gaps = differences_of(scores)
        deviations = gaps.std(axis=1, ddof=1)
        effects = np.abs(gaps.mean(axis=1)) / deviations
        users = needed_users(effects, alpha=0.01, power=0.9)
        of_tenth = needed_users(0.1 * scores.mean() / deviations, alpha=0.01, power=0.9)
        row = summary.iloc[number]
        assert row.observed_median == np.median(users)
        assert row.relative_median == np.median(of_tenth)
        assert row.found_now == (of_tenth <= N_USERS).mean()
        detectable = detectable_effect(N_USERS, alpha=0.01, power=0.9)
        assert row.detectable_median == pytest.approx(detectable * np.median(deviations))
        parts = variance_components(scores[None])
        users_for_reliability = parts.required_users(0.9)
        assert row.var_systems == pytest.approx(parts.systems[0])
        assert row.var_users == pytest.approx(parts.users[0])
        assert row.var_interaction == pytest.approx(parts.interaction[0])
        assert [row.e_rho2_users, row.phi_users] == [users[0] for users in users_for_reliability]
        limits = [parts.relative_low[0], parts.relative[0], parts.relative_high[0]]
        assert [row.e_rho2_low, row.e_rho2, row.e_rho2_high] == pytest.approx(limits)
        assert row.phi == pytest.approx(parts.absolute[0])
    assert summary.needed.tolist() == odd.needed.tolist()
    assert summary.needed_low.tolist() == odd.interval[0].tolist()
    assert summary.needed_high.tolist() == odd.interval[1].tolist()


def test_of_an_even_number_of_pairs_the_users_are_those_of_the_lower_middle_one(
    found: Design,
) -> None:
    users = np.array([[60.0, 61, 100, 7, 200, np.inf], [1, 1, 1, 9, 9, 9]])
    stated = replace(found, observed=users, relative=users, detectable=users / 1000)
    summary = stated.summary()
    assert summary.observed_median.tolist() == [61, 1]
    assert summary.relative_median.tolist() == [61, 1]
    # The pilot has 60 users.
    assert summary.found_now.tolist() == [pytest.approx(2 / 6), 1]


@pytest.mark.slow
def test_curves_are_the_expected_share_of_the_shrunken_effects(
    odd: Design, values: np.ndarray
) -> None:
    """From 10 users to half as many again as are needed, or twice the pilot's."""
    for number, scores in enumerate(values[:, :3]):
        gaps = differences_of(scores)
        effects = standardised_effects(gaps.mean(axis=1), gaps.std(axis=1, ddof=1))
        likely = EffectPrior(effects, N_USERS, 3).posterior()
        flat = EffectDistribution(*(each.ravel() for each in likely))
        needed = users_for_share(flat, share=0.6, alpha=0.01)
        assert odd.needed[number] == needed
        shares = [expected_share(flat, size, alpha=0.01) for size in odd.sizes]
        np.testing.assert_allclose(odd.shares[number], shares)
        noise = 1 - (likely.variances * likely.chances).sum() * N_USERS / 3
        assert odd.noise[number] == pytest.approx(noise)
    assert odd.sizes[0] == 10
    assert odd.sizes[-1] == np.rint(max(2 * N_USERS, 1.5 * odd.needed.max()))
    curves = {str(line.get_label())[:2]: line for line in odd.plot().lines}
    assert points_of(curves["m1"]) == [*zip(odd.sizes, odd.shares[1], strict=True)]
    ends = [points_of(line) for line in odd.plot().lines]
    assert [(0.0, 0.6), (1.0, 0.6)] in ends
    assert [(N_USERS, 0.0), (N_USERS, 1.0)] in ends


def test_curves_reach_to_twice_the_pilot_where_fewer_are_needed() -> None:
    worth = np.array([0.0, 5.0, 10.0])[:, None]
    found = designed(worth + np.random.default_rng(1).normal(size=(1, 3, 40)))
    assert found.needed[0] < 40
    assert found.sizes[-1] == 80


def test_pairs_have_the_numbers_of_their_systems(odd: Design, values: np.ndarray) -> None:
    row = odd.to_frame().iloc[4]
    gap = values[1, 0] - values[1, 2]
    assert (row.metric, row.system_a, row.system_b) == ("m1", "s0", "s2")
    assert row.difference == pytest.approx(gap.mean())
    assert row.deviation == pytest.approx(gap.std(ddof=1))
    assert row.users_observed == odd.observed[1, 1]
    assert row.users_relative == odd.relative[1, 1]
    assert row.detectable == odd.detectable[1, 1]


def columns_of(table: Any) -> dict[str, list[Any]]:
    """The cells of a table by heading."""
    return {
        heading: list(column)
        for heading, column in zip(table.headings, zip(*table.rows, strict=True), strict=True)
    }


def test_the_table_has_the_measure_that_needs_the_fewest_users_first(odd: Design) -> None:
    stated = replace(
        odd,
        needed=np.array([2000.0, 30.0]),
        means=np.array([0.5, 0.2]),
        detectable=np.array([[0.1, 0.05, 0.3], [0.08, 0.02, 0.01]]),
        observed=np.array([[10.0, 20, 90], [1, 2, 30]]),
        relative=np.array([[100.0, 200, 900], [11, 12, 13]]),
    )
    columns = columns_of(stated.users_needed())
    assert columns["measure"] == ["m1@5", "m0@5"]
    assert columns["60 % of pairs"] == ["30", "2,000"]
    assert columns["observed"] == ["2", "20"]
    assert columns["10 % difference"] == ["12", "200"]
    assert columns["detectable"] == ["10 %", "20 %"]


def test_the_table_of_reliability_has_shares_of_the_variance(odd: Design) -> None:
    parts = replace(
        odd.components,
        systems=np.array([1.0, 2.0]),
        users=np.array([3.0, 2.0]),
        interaction=np.array([16.0, 4.0]),
    )
    columns = columns_of(replace(odd, components=parts).reliability_table())
    assert columns["systems"] == ["5 %", "25 %"]
    assert columns["users"] == ["15 %", "25 %"]
    assert columns["rest"] == ["80 %", "50 %"]
    # Odds of 9 to 1: 9 times 16, and 9 times 4 over 2.
    assert columns["for .9"] == ["144", "18"]
    assert columns["Phi .9"] == ["171", "27"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"noise": np.array([0.0, 0.1])}, "Sampling error is 10 %"),
        ({"needed": np.array([601.0, 3.0])}, "By m0@5, more than 10 times"),
        ({"differing": np.array([60, 9])}, "By m1@5, fewer than 10"),
        ({"n_users": 199}, "is 10 % if"),
    ],
)
def test_a_pilot_that_is_too_small_is_named(
    changes: dict[str, Any], text: str, found: Design
) -> None:
    assert any(text in sentence for sentence in replace(found, **changes).cautions())


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"noise": np.array([0.0, 0.099])}, "Sampling error"),
        ({"needed": np.array([600.0, np.inf])}, "more than 10 times"),
        ({"differing": np.array([60, 10])}, "fewer than 10"),
        ({"n_users": 200}, "if scores are about normal"),
    ],
)
def test_a_pilot_that_is_large_enough_is_not(
    changes: dict[str, Any], text: str, found: Design
) -> None:
    assert not any(text in sentence for sentence in replace(found, **changes).cautions())


def test_the_finding_compares_the_measures_that_need_most_and_fewest(found: Design) -> None:
    stated = replace(found, needed=np.array([480.0, 40.0]))
    first, second, *_ = stated.findings()
    assert first.startswith("m1@5 needs 40 users")
    assert re.match(r"m0@5 needs 480 users, 12(\.0+)? ", second)
    nothing = replace(found, needed=np.array([np.inf, 40.0]))
    assert any("By m0@5, no number of users" in one for one in nothing.findings())
    (sentence,) = replace(found, needed=np.array([np.inf, np.inf])).findings()
    assert "no number of users is enough" in sentence


def test_the_finding_on_reliability_has_the_users_of_the_best_and_the_worst(odd: Design) -> None:
    parts = replace(odd.components, systems=np.array([1.0, 2.0]), interaction=np.array([16.0, 4.0]))
    stated = replace(odd, components=parts)
    assert "with 18 users by m1@5 and with 144 by m0@5" in stated.findings()[-1]
    none = replace(odd, components=replace(parts, systems=np.array([0.0, 2.0])))
    assert "with 18 users by m1@5 and with no number by m0@5" in none.findings()[-1]


def test_pairs_with_equal_means_whose_users_differ_are_kept() -> None:
    """The second system swaps the users of the first; the third is the first again."""
    one = np.random.default_rng(4).integers(0, 9, 20).astype(np.float64)
    found = designed(np.stack([one, one[::-1], one])[None])
    assert found.pairs.tolist() == [0, 2]
    assert found.differences.tolist() == [[0, 0]]


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert (settings.difference, settings.power, settings.alpha) == (0.05, 0.8, 0.05)
    assert (settings.share, settings.reliability) == (0.8, 0.95)
    assert (settings.standardised, settings.replicates) == (None, 1000)
    shares = ("power", "alpha", "share", "reliability")
    for name in shares:
        for value in (0.01, 0.99):
            assert getattr(Settings.model_validate({name: value}), name) == value
    assert Settings(alpha=1e-9, replicates=0, difference=3.0).alpha == 1e-9
    refused = [{name: value} for name in shares for value in (0.0, 1.0)]
    for changes in (*refused, {"alpha": 9e-10}, {"difference": 0.0}, {"replicates": -1}):
        with pytest.raises(ValidationError):
            Settings.model_validate(changes)


def test_frames_are_those_of_measures_pairs_and_curves(odd: Design) -> None:
    frames = odd.frames()
    assert [*frames] == ["design", "design_pairs", "design_curves"]
    assert frames["design"].equals(odd.summary())
    assert frames["design_pairs"].equals(odd.to_frame())
    curves = frames["design_curves"]
    own = curves[curves.metric == "m1"]
    assert own["users"].tolist() == odd.sizes.tolist()
    assert own["significant"].tolist() == odd.shares[1].tolist()
    # Sizes of a geometric grid that are whole, each once: 60 of them at most.
    assert (np.diff(odd.sizes) > 0).all()
    assert len(odd.sizes) <= 60
    grid = np.geomspace(10, max(2 * N_USERS, 1.5 * odd.needed[np.isfinite(odd.needed)].max()), 60)
    assert odd.sizes.tolist() == np.unique(np.rint(grid)).tolist()


def test_curves_reach_to_20_users_at_least() -> None:
    """Of 5 users, twice as many are 10, where curves begin."""
    values = np.random.default_rng(3).normal(size=(1, 3, 5)) + 9 * np.arange(3)[:, None]
    assert designed(values).sizes[[0, -1]].tolist() == [10, 20]


def test_no_number_of_users_may_reach_a_reliability(odd: Design) -> None:
    parts = replace(odd.components, systems=np.zeros(2))
    last = replace(odd, components=parts).findings()[-1]
    assert last == "No number of users reaches a reliability (E rho²) of .90."


def test_one_user_is_a_user(odd: Design) -> None:
    """Variances of 18 and 1 need odds of 9 times .5; of 4 and 1 it is a half: one user each."""
    parts = replace(odd.components, systems=np.array([36.0, 18.0]), interaction=np.ones(2))
    last = replace(odd, components=parts).findings()[-1]
    assert "with 1 user by" in last
    two = replace(odd.components, systems=np.array([9.0, 5.0]), interaction=np.array([2.0, 2.0]))
    assert "with 2 users by" in replace(odd, components=two).findings()[-1]


def test_findings_of_one_measure_compare_nothing(values: np.ndarray) -> None:
    first, second = designed(values[:1, :3]).findings()
    assert re.match(r"m0@5 needs [\d,]+ users for 80 % of the system pairs .*p < .05\)\.$", first)
    assert re.search(r"with [\d,]+ users by m0@5\.$", second)


@pytest.mark.parametrize(("needed", "times"), [(95.0, "9.5"), (100.0, "10")])
def test_small_multiples_of_users_have_a_decimal(needed: float, times: str, found: Design) -> None:
    """Replicates say no more than that it is between 1 and 100."""
    replicates = np.stack([np.full(50, 10.0), np.linspace(10, 1000, 50)])
    stated = replace(found, needed=np.array([10.0, needed]), replicates=replicates)
    assert f"needs {needed:.0f} users, {times} [" in stated.findings()[1]


def test_the_caption_has_the_settings_of_the_design(odd: Design) -> None:
    caption = odd.caption()
    assert "with which 60 % of the 3 pairs of 3 systems are expected" in caption
    assert "(p < .01), from a pilot of 60 users" in caption
    assert "Observed, 10 % difference:" in caption
    assert "one of 10 % of the mean score" in caption
    assert "with a power of .90." in caption
    assert "that 60 users find" in caption
    assert "standardised" not in caption
    assert "Scores are standardised for each user (normal)." in (
        replace(odd, standardised="normal").caption()
    )
    table = odd.reliability_table()
    assert "coefficients of 60 users" in table.note
    assert "for .9: users needed for a coefficient of .9" in table.note


def test_cautions_have_the_share_of_the_noise_and_the_error_of_a_variance(found: Design) -> None:
    """Of 199 users the root of 2 / 198 is 10 %, and of 51 it is 20 %."""
    few = replace(found, n_users=51).cautions()
    assert any("With a pilot of 51 users" in one and "is 20 % if" in one for one in few)
    endless = replace(found, replicates=np.full(found.replicates.shape, np.inf)).cautions()
    assert any(
        "By m0@5 and m1@5, more than 20 % of the pairs may be equal" in one for one in endless
    )


def test_a_system_without_variance_is_no_outlier(found: Design) -> None:
    """Where no measure has a variance between systems, no system makes half of it."""
    parts = replace(found.components, systems=np.zeros(2))
    still = replace(found, components=parts, systems_without=np.zeros(2)).cautions()
    assert not any("alone makes" in one for one in still)


@pytest.mark.slow
def test_the_figure_has_the_users_of_each_curve_in_its_name(odd: Design) -> None:
    stated = replace(odd, needed=np.array([2000.0, 30.0]))
    ax = stated.plot()
    labels = [str(line.get_label()) for line in ax.lines]
    assert {"m0@5 (2,000)", "m1@5 (30)"} <= {*labels}
    assert ax.get_ylim() == (0, 1.02)
    assert ax.get_ylabel() == "share of pairs with p < .01"
    explanation = explained(ax)
    assert "Horizontal line: 60 % of the pairs." in explanation
    assert "Dotted line: the 60 users of the pilot." in explanation
    assert "with which a curve reaches 60 %." in explanation


def test_a_ratio_needs_users_who_differ_under_both_measures(found: Design) -> None:
    stated = replace(found, differing=np.array([9, 60]))
    assert np.isnan(stated.ratio(1, 0)[1:]).all()
    assert np.isnan(stated.ratio(0, 1)[1:]).all()
    assert not np.isnan(replace(found, differing=np.array([10, 10])).ratio(1, 0)).any()


def test_frames_have_the_columns_of_their_docstrings(odd: Design) -> None:
    frames = odd.frames()
    assert frames["design_pairs"].columns.tolist() == [
        *("metric", "cutoff", "system_a", "system_b", "difference", "deviation"),
        *("users_observed", "users_relative", "detectable"),
    ]
    assert frames["design_curves"].columns.tolist() == ["metric", "cutoff", "users", "significant"]
