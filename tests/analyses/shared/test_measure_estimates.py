"""Which measures pass a threshold, which of them lead, and how their numbers are printed."""

import math
import re
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
import pytest

from analyses.shared.families import SubsetValues, half_widths_from
from analyses.shared.limits import NORMAL_QUANTILE, joint_quantile, standard_deviations
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.sentences import (
    best_measures_sentence,
    compared_with_threshold,
    depth_sentence,
    threshold_in_words,
    values_in_words,
)
from tests.harness.results import discrimination_of, popularity_of, sparsity_of


def accepted(found: Estimates) -> list[str]:
    return [*map(str, compress(found.measures, found.acceptable()))]


def test_a_measure_passes_whose_number_reaches_the_threshold() -> None:
    found = sparsity_of({("P", 20): 0.85, ("AP", 20): 0.9, ("RR", 20): 0.7}).estimates()
    assert accepted(found) == ["P@20", "AP@20"]
    assert best_measures_sentence(found).startswith("AP@20")


def test_where_no_number_passes_nothing_is_best() -> None:
    found = popularity_of({("P", 20): -0.2, ("nDCG", 20): -0.05, ("AP", 20): 0.0}).estimates()
    assert accepted(found) == []
    assert best_measures_sentence(found).startswith("No estimate reaches the threshold")


def test_what_is_undefined_does_not_pass() -> None:
    found = popularity_of({("P", 20): 0.7, ("nDCG", 20): math.nan}).estimates()
    assert accepted(found) == ["P@20"]
    assert best_measures_sentence(sparsity_of({("P", 20): math.nan}).estimates()) == ""


def test_power_passes_by_the_share_of_pairs_that_are_told_apart() -> None:
    few, many = [0.04, 0.2, 0.2], [0.04, 0.04, 0.6]
    found = discrimination_of({("P", 20): few, ("AP", 20): many})
    assert accepted(found.estimates()) == ["AP@20"]


def test_acceptable_measures_stand_out_that_may_be_best() -> None:
    areas = {("P", 20): 0.9, ("nDCG", 20): 0.89, ("AP", 20): 0.7}
    found = sparsity_of(areas, margin=0.05, apart=0.02).estimates()
    assert [*map(str, found.significantly_best())] == ["P@20", "nDCG@20"]
    two = {("P", 20): 0.9, ("nDCG", 20): 0.89}
    assert sparsity_of(two, margin=0.05, apart=0.02).estimates().significantly_best() == []
    poor = sparsity_of({m: a - 0.5 for m, a in areas.items()}, margin=0.05, apart=0.02)
    assert poor.estimates().significantly_best() == []


def test_the_best_of_equal_measures_may_be_best_in_95_percent(rng: np.random.Generator) -> None:
    """Of 400 sets 95 % should have the first; fewer than 365 do with a chance below 1 in 1,000."""
    measures, nothing = Measures([Measure(f"m{n}") for n in range(8)]), np.full(8, np.nan)
    shared, replicates = rng.normal(size=(400, 1)), rng.normal(size=(8, 2000))
    observed = shared + rng.normal(size=(400, 8))
    found = Estimates("n", "q", "s", "good", measures, nothing, nothing, nothing, replicates)
    for falls in (False, True):
        studies = [replace(found, values=values, lower_is_better=falls) for values in observed]
        n_held = sum(study.may_be_best()[0] for study in studies)
        assert 365 <= n_held <= 394


def test_without_a_threshold_every_measure_passes() -> None:
    numbers = np.array([-0.5]), np.array([np.nan]), np.array([np.nan]), np.empty((1, 0))
    assert accepted(Estimates("n", "q", "s", "good", Measures([Measure("P")]), *numbers)) == ["P"]


def test_the_interaction_is_at_most_the_variance_over_users_but_in_differences(
    rng: np.random.Generator,
) -> None:
    """The second measure never varies, so that their difference is the first one, less .5."""
    measures, nothing = Measures([Measure("P"), Measure("AP")]), np.full(2, np.nan)
    every = np.zeros((3, 2, 400))
    every[:, 0] = [[0.01], [0.05], [0.02]] * rng.normal(size=(3, 400))
    replicates, within, crossed = 0.5 + every
    systems = SubsetValues(8, within, crossed.reshape(2, 20, 20))
    numbers = np.full(2, 0.5), nothing, nothing, replicates
    found = Estimates("n", "q", "s", "good", measures, *numbers, systems=systems)
    users = standard_deviations(replicates) ** 2
    over_systems, shared = systems.variances, systems.interaction_variances
    assert users[0] < shared[0] < over_systems[0]
    (expected,) = half_widths_from([(users[:1], np.inf), (over_systems[:1] - users[:1], 7)])
    assert found.limits_over_all_sources()[1][0] == pytest.approx(0.5 + expected)
    (expected,) = half_widths_from([(users[:1], np.inf), (over_systems[:1] - shared[:1], 7)])
    expected *= joint_quantile(replicates) / NORMAL_QUANTILE
    assert found.differences()["both_high"][0] == pytest.approx(expected)


def test_no_limit_of_dp_is_above_the_number_of_pairs(rng: np.random.Generator) -> None:
    numbers = np.exp(rng.normal(0, 30, (1, 200)))
    limits = np.array([2.0]), np.array([1.0]), np.array([3.0])
    systems = SubsetValues(8, numbers)
    found = Estimates(
        "DP", "q", "s", "good", Measures([Measure("P")]), *limits, numbers,
        systems=systems, by_ratio=True, most=45.0,
    )  # fmt: skip
    assert found.limits_over_all_sources()[1].tolist() == [45.0]


def test_a_metric_without_a_number_is_not_compared_between_cutoffs() -> None:
    areas = {("P", 5): 0.3, ("AP", 5): math.nan, ("P", 20): 0.4, ("AP", 20): 0.2}
    assert "AP" not in depth_sentence(sparsity_of(areas).estimates())


def test_intervals_of_measures_that_sentences_name_hold_for_all_at_once(
    rng: np.random.Generator,
) -> None:
    """Of seven equal measures, the best one's own interval holds in 84 % of 400 draws."""
    n_draws, truth = 400, 0.5
    measures = Measures([Measure(name, 5) for name in "abcdefg"])
    held = {"alone": 0, "at once": 0}
    for _ in range(n_draws):
        values = truth + 0.02 * rng.normal(size=7)
        replicates = values[:, None] + 0.02 * rng.normal(size=(7, 400))
        low, high = values - NORMAL_QUANTILE * 0.02, values + NORMAL_QUANTILE * 0.02
        found = Estimates("x", "x", "X", "x", measures, values, low, high, replicates)
        best = int(np.argmax(values))
        at_once = (found.joint_limits[0][best], found.joint_limits[1][best])
        held["alone"] += low[best] <= truth <= high[best]
        held["at once"] += at_once[0] <= truth <= at_once[1]
    # 95 % of 400, less three standard errors; the best of seven errs upwards alone.
    assert held["alone"] < 0.9 * n_draws
    assert held["at once"] >= 0.95 * n_draws - 13


def test_power_and_its_threshold_have_one_unit() -> None:
    p = {("P", 5): [0.01, 0.5, 0.5], ("AP", 5): [0.2, 0.5, 0.5]}
    sentence = best_measures_sentence(discrimination_of(p).estimates())
    assert "threshold, 50 % of the pairs with mid-p < .05" in sentence
    assert "; 33 % of the pairs with mid-p < .05" in sentence


MEASURES = Measures([Measure(name, 5) for name in ("P", "AP", "RR", "nDCG")])


def stated(values: list[float], *, spread: float = 0.02, n: int = 400, **facts: Any) -> Estimates:
    """Numbers of up to four measures, with independent noise and limits of two deviations."""
    levels = np.array(values)
    replicates = levels[:, None] + spread * np.random.default_rng(3).normal(size=(len(levels), n))
    limits = levels - 2 * spread, levels + 2 * spread
    measures = Measures(MEASURES[: len(values)])
    found = Estimates("DP", "power", "Power", "strong", measures, levels, *limits, replicates)
    return replace(found, **facts)


def named(some: Any) -> list[str]:
    return [*map(str, some)]


def test_a_threshold_is_passed_where_it_is_reached() -> None:
    found = stated([0.5, 0.7, 0.6, math.nan], threshold=0.6)
    assert found.acceptable().tolist() == [False, True, True, False]
    falling = replace(found, lower_is_better=True)
    assert falling.acceptable().tolist() == [True, False, True, False]
    shares = np.array([0.6, 0.59, 0.7, 0.9])
    of_shares = replace(falling, shares=shares, requirement="of the pairs")
    assert of_shares.acceptable().tolist() == [True, False, True, False]
    assert replace(found, threshold=None).acceptable().tolist() == [True] * 4


def test_a_threshold_is_printed_in_its_unit() -> None:
    found = stated([0.5, 0.7], threshold=0.65)
    assert threshold_in_words(found) == ".7"
    assert threshold_in_words(stated([0.5])) == ".0"
    shares = np.array([0.25, 0.5])
    of_shares = replace(found, shares=shares, threshold=0.5, requirement="of the pairs")
    assert threshold_in_words(of_shares) == "50 % of the pairs"
    assert threshold_in_words(replace(of_shares, threshold=None)) == "0 % of the pairs"


def test_shares_are_printed_one_by_one_up_to_three() -> None:
    shares = np.array([0.25, 0.5, 0.75, 0.1])
    found = stated([0.5, 0.7, 0.6, 0.4], shares=shares, requirement="of the pairs")
    one = compared_with_threshold(found, found.measures[:1])
    assert one.endswith("; 25 % of the pairs")
    three = compared_with_threshold(found, found.measures[:3])
    assert three.endswith("; 25 %, 50 % and 75 % of the pairs")
    four = compared_with_threshold(found, found.measures)
    assert four.endswith("; 10 % to 75 % of the pairs")
    assert "%" not in compared_with_threshold(replace(found, shares=None), found.measures)


def test_values_are_printed_one_by_one_up_to_three() -> None:
    """Their limits hold for all at once; a wide interval has fewer decimals."""
    found = stated([0.5, 0.7, 0.6, 0.4])
    low, high = found.joint_limits
    limits = [f"[{a:.2f}, {b:.2f}]".replace("0.", ".") for a, b in zip(low, high, strict=True)]
    assert values_in_words(found, found.measures[:1]) == f"power = .50 {limits[0]}, joint intervals"
    assert values_in_words(found, found.measures[:3]) == (
        f"power = .50 {limits[0]}, .70 {limits[1]} and .60 {limits[2]}, joint intervals"
    )
    assert values_in_words(found, found.measures) == "power from .40 to .70"
    exact = replace(found, decimals=1)
    assert values_in_words(exact, found.measures) == "power from .4 to .7"
    assert values_in_words(exact, found.measures[:1]).startswith("power = .5 [")


def test_a_range_has_two_decimals_at_least() -> None:
    assert values_in_words(stated([0.5, 0.7, 0.6, 0.4], spread=0.9), MEASURES) == (
        "power from .40 to .70"
    )
    assert values_in_words(stated([0.5, 0.7, 0.6, 0.4], spread=0.004), MEASURES) == (
        "power from .400 to .700"
    )


def test_what_is_too_small_to_be_printed_has_no_equals_sign() -> None:
    found = stated([1e-14], by_ratio=True, decimals=1)
    tiny = replace(found, low=found.values, high=found.values, replicates=np.ones((1, 2)))
    assert values_in_words(tiny, tiny.measures) == "power < 1e-12 [< 1e-12, < 1e-12]"


def test_measures_are_in_order_from_the_best() -> None:
    found = stated([0.5, 0.7, math.nan, 0.5])
    assert named(found.in_order().measures) == ["AP@5", "P@5", "nDCG@5"]
    falling = replace(found, lower_is_better=True).in_order()
    assert named(falling.measures) == ["P@5", "nDCG@5", "AP@5"]
    assert falling.values.tolist() == [0.5, 0.5, 0.7]


def test_what_is_known_of_measures_is_kept_with_them() -> None:
    found = stated([0.5, 0.7, 0.6, 0.4])
    some = replace(
        found,
        systems=SubsetValues(9, np.arange(8.0).reshape(4, 2)),
        over_settings=np.arange(12.0).reshape(4, 3),
        shares=np.arange(4.0),
    ).select([MEASURES[2], MEASURES[0]])
    assert named(some.measures.reported) == ["RR@5", "P@5"]
    assert some.values.tolist() == [0.6, 0.5]
    assert some.low.tolist() == pytest.approx([0.56, 0.46])
    assert some.high.tolist() == pytest.approx([0.64, 0.54])
    assert some.replicates.tolist() == found.replicates[[2, 0]].tolist()
    assert some.systems is not None
    assert some.systems.values.tolist() == [[4, 5], [0, 1]]
    assert some.over_settings is not None
    assert some.over_settings.tolist() == [[6, 7, 8], [0, 1, 2]]
    assert some.shares is not None
    assert some.shares.tolist() == [2, 0]


def test_estimates_are_given_by_the_labels_of_their_measures() -> None:
    found = stated([0.5, math.nan])
    estimates = found.by_label(found.measures)
    assert [*estimates] == ["P"]
    assert (estimates["P"].value, estimates["P"].low) == (0.5, 0.46)
    assert estimates["P"].high == pytest.approx(0.54)
    assert [(str(a), str(b)) for a, b in stated([1.0, 2.0, math.nan, 3.0]).reported_pairs] == [
        ("P@5", "AP@5"),
        ("P@5", "nDCG@5"),
        ("AP@5", "nDCG@5"),
    ]


def test_differences_have_intervals_from_two_replicates_on() -> None:
    assert not stated([0.5], n=0).has_replicates
    assert not stated([0.5], n=1).has_replicates
    assert stated([0.5], n=2).has_replicates


def test_joint_limits_are_as_much_wider_as_all_at_once_need() -> None:
    found = stated([0.5, 0.7, 0.6, 0.4])
    factor = joint_quantile(found.replicates) / 1.959964
    assert factor > 1.2
    low, high = found.joint_limits
    np.testing.assert_allclose(low, found.values - factor * 0.04, rtol=1e-6)
    np.testing.assert_allclose(high, found.values + factor * 0.04, rtol=1e-6)


def test_joint_limits_of_a_single_measure_are_its_own() -> None:
    found = stated([0.5])
    low, high = found.joint_limits
    assert (low[0], high[0]) == (found.low[0], found.high[0])


def test_joint_limits_end_at_1_where_those_of_one_do() -> None:
    near = stated([0.97, -0.97], spread=0.015)
    low, high = near.joint_limits
    assert (low[1], high[0]) == (-1, 1)
    beyond = stated([0.97, -0.97, 3.0], spread=0.02)
    low, high = beyond.joint_limits
    assert high[0] > 1
    assert low[1] < -1
    assert high[2] > 3


def test_joint_limits_of_ratios_are_wider_by_a_power() -> None:
    replicates = np.exp(stated([0.0, 0.0]).replicates)
    limits = np.exp([-0.2, -0.4]), np.exp([0.2, 0.4])
    measures = Measures(MEASURES[:2])
    found = Estimates(
        "DP", "DP", "Power", "strong", measures, np.ones(2), *limits, replicates, by_ratio=True
    )
    factor = joint_quantile(np.log(replicates)) / 1.959964
    low, high = found.joint_limits
    np.testing.assert_allclose(low, np.exp([-0.2 * factor, -0.4 * factor]), rtol=1e-6)
    np.testing.assert_allclose(high, np.exp([0.2 * factor, 0.4 * factor]), rtol=1e-6)
    assert replace(found, most=1.1).joint_limits[1].tolist() == [1.1, 1.1]


def test_what_intervals_are_over_beside_users_is_named() -> None:
    alone = stated([0.5, 0.6])
    of_one = replace(alone, systems=SubsetValues(9, np.zeros((2, 1))))
    of_two = replace(alone, systems=SubsetValues(9, np.zeros((2, 2))))
    settings = replace(alone, over_settings=np.zeros((2, 3)))
    assert [each.further_sources for each in (alone, of_one, of_two, settings)] == [
        *([], [], ["systems"], ["settings"])
    ]
    assert [each.has_further_sources for each in (alone, of_one, of_two, settings)] == [
        *(False, False, True, True)
    ]
    assert [each.has_system_intervals for each in (alone, of_two, settings)] == [False, True, False]


def test_limits_over_systems_are_by_the_jackknife_and_end_at_1() -> None:
    """Variances over subsets of .02² times 6 / 2, and Student's t of 7 degrees: 2.3646."""
    values = np.array([0.5, 0.98])[:, None] + np.array([-0.02, 0.02])
    found = stated([0.5, 0.98], spread=0.0, systems=SubsetValues(8, values))
    width = 2.364624 * np.sqrt(3) * 0.02
    low, high = found.limits_over_all_sources()
    np.testing.assert_allclose(low, [0.5 - width, 0.98 - width], rtol=1e-6)
    np.testing.assert_allclose(high, [0.5 + width, 1.0], rtol=1e-6)
    turned = replace(found, values=-found.values)
    assert turned.limits_over_all_sources()[0][1] == -1
    assert np.isnan(stated([0.5]).limits_over_all_sources()).all()


def test_limits_over_settings_add_their_variance_to_that_over_users() -> None:
    """The values under 3 settings vary by .1² on 2 degrees of freedom."""
    settings = np.array([[0.4, 0.5, 0.6]])
    found = stated([0.5], spread=0.05, over_settings=settings)
    users = standard_deviations(found.replicates) ** 2
    (expected,) = half_widths_from([(users, np.inf), (np.array([0.01]), 2)])
    low, high = found.limits_over_all_sources()
    assert [*low, *high] == pytest.approx([0.5 - expected, 0.5 + expected])
    assert [*found.limit_columns()] == ["both_low", "both_high"]
    assert found.limit_columns()["both_high"] == pytest.approx(high)


def test_resampled_users_are_a_tenth_wider_but_for_differences() -> None:
    """What is drawn for the numbers themselves is in `resampled`, not in the replicates."""
    resampled = np.array([[0.4, 0.6], [0.3, 0.3]])
    within = SubsetValues(8, np.full((2, 2), 0.5), resampled=resampled)
    found = stated([0.5, 0.3], spread=0.0, systems=within)
    variance = 0.02
    (expected,) = half_widths_from([(np.array([1.21 * variance]), np.inf), (np.array([0.0]), 7)])
    assert found.limits_over_all_sources()[1][0] == pytest.approx(0.5 + expected)
    (difference,) = found.simultaneous_differences([(MEASURES[0], MEASURES[1])], all_sources=True)
    (expected,) = half_widths_from([(np.array([variance]), np.inf), (np.array([0.0]), 7)])
    assert difference.high - difference.value == pytest.approx(expected)


def test_differences_are_of_the_first_minus_the_second_and_hold_at_once() -> None:
    found = stated([0.5, 0.7, 0.6])
    pairs = [(MEASURES[0], MEASURES[1]), (MEASURES[2], MEASURES[0])]
    first, second = found.simultaneous_differences(pairs)
    replicates = found.replicates[[0, 2]] - found.replicates[[1, 0]]
    reach = joint_quantile(replicates)
    width = reach * replicates.std(axis=1, ddof=1)
    assert (first.value, second.value) == pytest.approx((-0.2, 0.1))
    assert [first.low, first.high] == pytest.approx([-0.2 - width[0], -0.2 + width[0]])
    assert [second.low, second.high] == pytest.approx([0.1 - width[1], 0.1 + width[1]])
    assert found.simultaneous_differences([]) == []


def test_all_pairs_that_can_be_compared_have_their_differences() -> None:
    """P@5 and AP@10 share neither metric nor cut-off, and are not both reported."""
    measures = Measures([Measure("P", 5), Measure("P", 10), Measure("AP", 10)])
    values = np.array([0.5, 0.6, 0.75])
    replicates = stated([0.5, 0.6, 0.75]).replicates
    found = Estimates("x", "x", "X", "x", measures, values, values, values, replicates)
    frame = found.differences()
    labels = frame[["metric_a", "cutoff_a", "metric_b", "cutoff_b"]].to_numpy().tolist()
    assert labels == [["P", 5, "P", 10], ["P", 10, "AP", 10]]
    assert frame.difference.tolist() == pytest.approx([-0.1, -0.15])
    drawn = replicates[[0, 1]] - replicates[[1, 2]]
    width = drawn.std(axis=1, ddof=1)
    np.testing.assert_allclose(frame.low, [-0.1, -0.15] - NORMAL_QUANTILE * width)
    np.testing.assert_allclose(frame.high, [-0.1, -0.15] + NORMAL_QUANTILE * width)
    np.testing.assert_allclose(frame.joint_low, [-0.1, -0.15] - joint_quantile(drawn) * width)
    assert frame.jointly_beyond_noise.tolist() == [True, True]
    assert not frame.beyond_both.any()
    assert np.isnan(frame.both_low).all()
    level = replace(found, values=np.array([0.5, 0.5, 0.75])).differences()
    assert level.jointly_beyond_noise.tolist() == [False, True]


def test_what_is_compared_by_ratio_has_ratios() -> None:
    replicates = np.exp(stated([0.0, 1.0]).replicates)
    values = np.exp([0.0, 1.0])
    nothing = np.full(2, np.nan)
    measures = Measures(MEASURES[:2])
    found = Estimates(
        "x", "x", "X", "x", measures, values, nothing, nothing, replicates, by_ratio=True
    )
    (row,) = found.differences().to_dict("records")
    width = NORMAL_QUANTILE * np.log(replicates[0] / replicates[1]).std(ddof=1)
    assert row["ratio"] == pytest.approx(np.exp(-1))
    assert [row["low"], row["high"]] == pytest.approx([np.exp(-1 - width), np.exp(-1 + width)])
    assert row["jointly_beyond_noise"]


def test_measures_may_be_best_that_no_other_beats() -> None:
    """One-sided, at once: 3 deviations apart are beyond noise, 1 is not."""
    found = stated([0.7, 0.69, 0.5, math.nan])
    assert found.may_be_best().tolist() == [True, True, False, False]
    falling = replace(found, lower_is_better=True)
    assert falling.may_be_best().tolist() == [False, False, True, False]
    unknown = replace(found, replicates=np.empty((4, 0)))
    assert unknown.may_be_best().tolist() == [True, True, True, False]


def test_limits_of_the_best_are_one_sided(rng: np.random.Generator) -> None:
    """A difference of 1.8 deviations is beyond 1.645 of them, and not beyond 1.96."""
    drawn = rng.normal(size=400)
    replicates = np.array([np.zeros(400), (drawn - drawn.mean()) / drawn.std(ddof=1)])
    values, nothing = np.array([1.8, 0.0]), np.full(2, np.nan)
    measures = Measures(MEASURES[:2])
    found = Estimates("x", "x", "X", "x", measures, values, nothing, nothing, replicates)
    assert found.may_be_best().tolist() == [True, False]
    (difference,) = found.simultaneous_differences([(MEASURES[0], MEASURES[1])])
    assert not difference.is_beyond_noise


def test_none_stands_out_where_all_may_be_best() -> None:
    assert stated([0.7, 0.7, math.nan]).significantly_best() == []
    assert named(stated([0.7, 0.5, math.nan]).significantly_best()) == ["P@5"]
    poor = stated([0.7, 0.69, 0.5], threshold=0.695)
    assert named(poor.significantly_best()) == ["P@5"]


def test_estimates_show_their_values_and_limits() -> None:
    text = repr(stated([0.5, 0.75]))
    assert text.startswith("Power: power\n")
    assert re.findall(r"[0-9.]+", text.splitlines()[3]) == ["5", "0.5000", "0.4600", "0.5400"]
