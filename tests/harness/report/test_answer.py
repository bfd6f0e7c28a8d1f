"""The figure that sums a study up: order of the report measures, and how sure it is."""

import json
import re
from dataclasses import replace
from math import nan
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.stats import t

from analyses.discrimination import Discrimination
from analyses.shared.drawing import COLOURS, explanations
from analyses.shared.families import SubsetValues
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from harness.report.answer import WITHOUT_TRUTH, Answer, Power, respect
from harness.report.study_folder import FinishedStudy
from tests.drawn import points_of, segments_of
from tests.harness.results import discrimination_of
from tests.harness.small import read_frame

MEASURES = Measures([Measure(name, 5) for name in ("P", "AP", "RR", "nDCG")])
WORDS = ("area", "area under the curve", "Robustness", "robust")


def estimates(values: list[float], *, noise: float, falling: bool = False) -> Estimates:
    """Numbers with independent noise."""
    generator, levels = np.random.default_rng(1), np.array(values)
    replicates = levels[:, None] + noise * generator.normal(size=(4, 500))
    limits = levels - 2 * noise, levels + 2 * noise
    return Estimates(*WORDS, MEASURES, levels, *limits, replicates, lower_is_better=falling)


def test_measures_are_in_order() -> None:
    frame = Answer.of([("sparsity", estimates([0.50, 0.90, 0.52, 0.10], noise=0.02))]).frame()
    assert frame.metric.tolist() == ["AP", "RR", "P", "nDCG"]


def test_of_some_numbers_less_is_better() -> None:
    frame = Answer.of(
        [("sparsity", estimates([3.0, 1.0, 2.0, 4.0], noise=0.1, falling=True))]
    ).frame()
    assert frame.metric.tolist() == ["AP", "RR", "P", "nDCG"]


def test_a_measure_without_a_number_is_left_out() -> None:
    frame = Answer.of([("sparsity", estimates([nan, 0.9, 0.5, 0.1], noise=0.01))]).frame()
    assert frame.metric.tolist() == ["AP", "RR", "nDCG"]


def test_a_leader_must_hold_over_the_settings_of_the_systems() -> None:
    robust = replace(estimates([0.60, 0.90, 0.52, 0.10], noise=0.02), threshold=0.3)
    steady = np.array([[0.60, 0.61], [0.90, 0.89], [0.52, 0.53], [0.10, 0.11]])
    varying = np.array([[0.60, 0.90], [0.90, 0.61], [0.52, 0.53], [0.10, 0.11]])
    supported = {}
    for name, values in (("steady", steady), ("varying", varying)):
        own = replace(robust, over_settings=np.repeat(values, 5, axis=1))
        supported[name] = Answer.of([(key, own) for key in WITHOUT_TRUTH]).supported()
    assert [*map(str, supported["steady"])] == ["AP@5"]
    assert {"P@5", "AP@5"} <= {*map(str, supported["varying"])}


def test_nothing_is_shown_of_nothing() -> None:
    answer = Answer.of([("sparsity", estimates([nan] * 4, noise=0.01))])
    assert answer.shown is None
    assert answer.frames() == {}


def test_the_best_is_at_the_top_and_measures_that_are_unbeaten_are_filled() -> None:
    ax = Answer.of([("sparsity", estimates([0.50, 0.90, 0.52, 0.10], noise=0.02))]).plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["AP@5", "RR@5", "P@5", "nDCG@5"]
    assert ax.yaxis_inverted()
    inside = [str(point.get_markerfacecolor()) for point in ax.lines]
    assert inside.index("white") == 1
    assert inside.count("white") == 3
    pyplot.close("all")


def test_by_a_truth_no_measure_that_another_beats_is_supported() -> None:
    valid = replace(estimates([0.90, 0.89, 0.50, 0.20], noise=0.02), threshold=0.3)
    robust = estimates([0.10, 0.20, 0.30, 0.90], noise=0.02)
    answer = Answer.of([("sparsity", robust), ("validity", valid)])
    assert [str(measure) for measure in answer.supported()] == ["P@5", "AP@5"]
    assert {section for _, section in answer.sentences()} == {"validity", ""}


def test_by_a_truth_no_measure_that_is_not_acceptable_is_supported() -> None:
    valid = replace(estimates([0.30, 0.29, 0.10, 0.20], noise=0.02), threshold=0.7)
    assert Answer.of([("validity", valid)]).supported() == ()


def test_without_a_truth_a_measure_is_unbeaten_and_acceptable_in_all_three_respects() -> None:
    stable = replace(estimates([0.90, 0.90, 0.40, 0.90], noise=0.01), threshold=0.5)
    power = replace(estimates([3.0, 9.0, 3.0, 3.0], noise=0.1, falling=True), threshold=5.0)
    decide = [("sparsity", stable), ("popularity", stable), ("discrimination", power)]
    assert [str(measure) for measure in Answer.of(decide).supported()] == ["P@5", "nDCG@5"]
    assert Answer.of(decide[:2]).supported() == ()


def test_it_opens_the_report_of_a_study(finished: Path) -> None:
    assert json.loads((finished / "manifest.json").read_text())["results"][0] == "answer"
    frame = read_frame(finished, "answer")
    areas = read_frame(finished, "sparsity_areas")
    of_loss = frame[frame.quantity == "area, random loss of judgements"]
    expected = areas.loc[areas.cutoff == 20, "area"].sort_values(ascending=False)
    assert of_loss.value.tolist() == expected.tolist()


def beaten(found: Estimates) -> set[str]:
    """Report measures than which another is significantly better, by plain loops."""
    index, sign = found.measures.index, -1 if found.lower_is_better else 1
    some = [m for m in found.measures.reported if np.isfinite(found.values[index(m)])]
    worse = set()
    for measure in some:
        by = {
            other: sign * (found.replicates[index(other)] - found.replicates[index(measure)])
            for other in some
            if other != measure
        }
        varying = [drawn for drawn in by.values() if np.ptp(drawn) > 0]
        reach = NormalDist().inv_cdf(0.95)
        if varying:
            largest = np.max([(d - d.mean()) / d.std(ddof=1) for d in varying], axis=0)
            reach = max(reach, float(np.quantile(largest, 0.95, method="weibull")))
        for other, drawn in by.items():
            gap = sign * (found.values[index(other)] - found.values[index(measure)])
            if gap > reach * drawn.std(ddof=1):
                worse.add(str(measure))
    return worse


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["finished", "given"])
def test_what_is_supported_follows_from_the_results(
    kind: str, request: pytest.FixtureRequest
) -> None:
    study = FinishedStudy.open(request.getfixturevalue(kind))
    deciding = ["validity"] if "validity" in study.result_classes else [*WITHOUT_TRUTH]
    expected = {str(measure) for measure in study.means.measures.reported}
    for key in deciding:
        found = study.result(key).estimates()
        assert found is not None
        acceptable = {
            str(m) for m, good in zip(found.measures, found.acceptable(), strict=True) if good
        }
        expected &= acceptable - beaten(found)
    answer = study.result("answer")
    assert isinstance(answer, Answer)
    assert {str(measure) for measure in answer.supported()} == expected
    frame = read_frame(study.folder, "answer")
    supported = frame[frame.supported]
    assert set(supported.metric + "@" + supported.cutoff.astype(str)) == expected


@pytest.mark.slow
def test_what_the_users_show_follows_from_the_p_values(finished: Path) -> None:
    answer = FinishedStudy.open(finished).result("answer")
    assert isinstance(answer, Answer)
    assert answer.power is not None
    pairs = read_frame(finished, "pvalues")
    of_tests = read_frame(finished, "discrimination").set_index(["metric", "cutoff"])
    for number, measure in enumerate(answer.power.measures):
        own = pairs[(pairs.metric == measure.metric) & (pairs.cutoff == measure.cutoff)]
        assert answer.power.apart[number] == (own.p_mid < 0.05).sum()
        detectable = of_tests.detectable[measure.metric][measure.cutoff]
        errors = (own.upper - own.lower) / 2 / t.ppf(0.975, answer.power.n_users - 1)
        needed = sum(t.ppf(level, answer.power.n_users - 1) for level in (0.975, 0.8))
        assert detectable == pytest.approx(np.median(errors * needed))
        assert answer.power.detectable[number] == pytest.approx(detectable)


def test_an_analysis_that_gave_no_number_is_not_called_missing() -> None:
    stable = replace(estimates([0.90, 0.90, 0.40, 0.90], noise=0.01), threshold=0.5)
    nothing = replace(estimates([nan] * 4, noise=0.01), no_value="tau is undefined at 79 % kept")
    answer = Answer.of([("sparsity", stable), ("popularity", nothing)])
    (first, _), *_ = answer.sentences()
    assert "lacks the analysis discrimination;" in first
    assert "popularity was made, but gives no number, as tau is undefined at 79 % kept" in first


def test_dp_says_which_direction_is_better() -> None:
    power = estimates([3.0, 9.0, 3.0, 3.0], noise=0.1, falling=True)
    assert "lower is better" in Answer.of([("discrimination", power)]).plot().get_xlabel()
    pyplot.close("all")


# Numbers that are stated by hand

PAIRS = {("P", 5): [0.01, 0.049, 0.05], ("AP", 5): [0.01, 0.02, 0.03], ("RR", 5): [0.2, 0.3, 0.05]}


def pair_tests_of(p: dict[tuple[str, int], list[float]], *, errors: list[float]) -> Discrimination:
    """Tests of the pairs of three systems by 60 users, whose standard errors are the same."""
    found = discrimination_of(p)
    half_widths = (
        t.ppf(0.975, 59) * np.tile(errors, (len(p), 1)) * np.arange(1, len(p) + 1)[:, None]
    )
    limits = {"lower": -half_widths, "upper": half_widths}
    return replace(found, effects={**found.effects, **limits})


def test_the_power_counts_pairs_below_the_level_and_has_the_median_difference() -> None:
    power = Power.of(pair_tests_of(PAIRS, errors=[0.01, 0.02, 0.09]))
    assert power.apart.tolist() == [2, 3, 0]
    expected = 0.02 * (t.ppf(0.975, 59) + t.ppf(0.8, 59)) * np.arange(1, 4)
    np.testing.assert_allclose(power.detectable, expected)
    assert (power.n_pairs, power.n_users) == (3, 60)


def test_the_power_is_of_the_report_measures() -> None:
    found = pair_tests_of(PAIRS, errors=[0.01, 0.02, 0.09])
    reported = Measures(found.measures, reported=[found.measures[2], found.measures[0]])
    power = Power.of(replace(found, measures=reported))
    assert [*map(str, power.measures)] == ["RR@5", "P@5"]
    assert power.apart.tolist() == [0, 2]
    np.testing.assert_allclose(power.detectable[0], 3 * power.detectable[1])


def test_the_sentence_on_power_has_the_numbers_of_its_measure_and_the_range_of_the_others() -> None:
    power = Power.of(pair_tests_of(PAIRS, errors=[0.01, 0.02, 0.09]))
    of_best = power.sentence(None, "user")
    assert "Under AP@5, 3 of 3 pairs" in of_best
    assert "0 to 2 under the other measures" in of_best
    detectable = 2 * 0.02 * (t.ppf(0.975, 59) + t.ppf(0.8, 59))
    assert f"{detectable:.3f}".lstrip("0") in of_best
    assert "60 users" in of_best
    of_precision = power.sentence(power.measures[0], "user")
    assert "Under P@5, 2 of 3 pairs" in of_precision
    assert "0 to 3 under the other measures" in of_precision
    equal = Power.of(pair_tests_of(dict.fromkeys(PAIRS, PAIRS["AP", 5]), errors=[0.01, 0.02, 0.09]))
    assert ", and 3 under the other measures" in equal.sentence(None, "user")


@pytest.mark.parametrize(
    ("detectable", "printed"),
    [
        (0.0, ".000"),
        (0.5, ".500"),
        (0.0123, ".012"),
        (0.00123, ".0012"),
        (0.000456, ".00046"),
        (2.5, "2.500"),
    ],
)
def test_a_detectable_difference_has_two_digits_and_three_decimals_at_least(
    detectable: float, printed: str
) -> None:
    numbers = np.array([1.0]), np.array([detectable])
    power = Power(Measures([Measure("P", 5)]), *numbers, 3, 60, "test")
    assert f"a difference of {printed} in mean" in power.sentence(None, "user")


def test_a_truth_decides_alone() -> None:
    robust, valid = (estimates([0.1, 0.2, 0.3, 0.4], noise=0.01) for _ in range(2))
    decided = Answer.of([("sparsity", robust), ("validity", valid)]).deciding
    assert [*decided] == ["validity"]
    others = [(key, robust) for key in ("discrimination", "popularity", "users", "sparsity")]
    assert [*Answer.of(others).deciding] == ["sparsity", "popularity", "discrimination"]


def test_rows_are_in_the_order_of_the_number_that_decides_first() -> None:
    valid = estimates([0.1, nan, 0.3, 0.4], noise=0.01)
    robust = estimates([0.1, 0.9, 0.3, 0.2], noise=0.01)
    answer = Answer.of([("sparsity", robust), ("validity", valid)])
    assert [*map(str, answer.rows)] == ["nDCG@5", "RR@5", "P@5", "AP@5"]
    table = answer.table()
    cells = {row[0]: row[1:] for row in table.rows}
    assert [*cells] == ["nDCG@5", "RR@5", "P@5", "AP@5"]
    assert table.format(0.25) == "0.250"
    assert cells["nDCG@5"] == [0.2, "[.180, .220]", 0.4, "[.380, .420]"]
    value, limits, undefined, nothing = cells["AP@5"]
    assert (value, limits, nothing) == (0.9, "[.880, .920]", "")
    assert np.isnan(undefined)


def test_the_frame_has_limits_and_who_is_acceptable_unbeaten_and_supported() -> None:
    stable = replace(estimates([0.90, 0.89, 0.40, 0.70], noise=0.02), threshold=0.7)
    frame = Answer.of([(key, stable) for key in WITHOUT_TRUTH]).frame()
    assert frame.metric.tolist() == ["P", "AP", "nDCG", "RR"] * 3
    assert frame.index.tolist() == [*range(12)]
    assert frame.value.tolist() == [0.9, 0.89, 0.7, 0.4] * 3
    np.testing.assert_allclose(frame.low, frame.value - 0.04)
    np.testing.assert_allclose(frame.high, frame.value + 0.04)
    assert frame.acceptable.tolist() == [True, True, True, False] * 3
    assert frame.unbeaten.tolist() == [True, True, False, False] * 3
    assert frame.supported.tolist() == [True, True, False, False] * 3


def test_a_measure_must_be_supported_in_every_respect() -> None:
    """P is best in two respects, and beaten in the third."""
    one = estimates([0.90, 0.89, 0.40, 0.70], noise=0.02)
    other = estimates([0.40, 0.89, 0.40, 0.70], noise=0.02)
    answer = Answer.of([("sparsity", one), ("popularity", one), ("discrimination", other)])
    assert [*map(str, answer.supported())] == ["AP@5"]


def over_more(values: list[float], spread: float) -> Estimates:
    """Numbers that vary over subsets of 12 families of systems, too."""
    of_users = estimates(values, noise=0.02)
    of_systems = np.random.default_rng(9).normal(size=(4, 200)) * spread
    within = SubsetValues(12, np.array(values)[:, None] + of_systems)
    return replace(of_users, systems=within, threshold=0.3)


def test_over_users_and_systems_more_measures_may_be_best_than_over_users() -> None:
    answer = Answer.of([("validity", over_more([0.90, 0.60, 0.50, 0.40], 0.3))])
    assert answer.is_over_more
    assert answer.sources == ["12 families of related systems"]
    assert [*map(str, answer.supported(systems=False))] == ["P@5"]
    assert {"P@5", "AP@5"} <= {*map(str, answer.supported())}
    alone = [sentence for sentence, _ in answer.sentences() if "alone, P@5 would" in sentence]
    assert len(alone) == 1


def test_sources_are_those_of_all_numbers_that_decide() -> None:
    of_users = replace(estimates([0.9, 0.6, 0.5, 0.4], noise=0.02), threshold=0.3)
    of_both = over_more([0.9, 0.6, 0.5, 0.4], 0.3)
    mixed = Answer.of([("sparsity", of_both), ("popularity", of_users)])
    assert mixed.sources == []
    assert not mixed.is_over_more
    under_settings = replace(of_users, over_settings=np.tile([[0.9, 0.8]], (4, 1)))
    settings = Answer.of([("sparsity", under_settings), ("popularity", under_settings)])
    assert settings.sources == ["settings of the systems"]


def test_the_threshold_lies_in_intervals_that_reach_it() -> None:
    values = [0.60, 0.50, 0.40, 0.66]
    valid = replace(estimates(values, noise=0.02), threshold=0.7)
    exactly = replace(valid, high=np.array([0.65, 0.6999, 0.44, 0.70]))
    (sentence, _), *_ = Answer.of([("validity", exactly)]).sentences()
    assert "of nDCG@5 (over users)" in sentence
    assert "nDCG@5 comes closest" in sentence
    every = replace(valid, high=np.array([0.7, 0.7, 0.7, 0.7]))
    (sentence, _), *_ = Answer.of([("validity", every)]).sentences()
    assert "of all 4 measures (over users)" in sentence
    none = replace(valid, high=np.array([0.6, 0.6, 0.6, 0.6]))
    (sentence, _), *_ = Answer.of([("validity", none)]).sentences()
    assert "The threshold lies" not in sentence


def test_the_answer_by_a_truth_names_whom_to_report_and_whom_not() -> None:
    valid = replace(estimates([0.90, 0.89, 0.50, 0.20], noise=0.02), threshold=0.3)
    (report, _), (others, _), *_ = Answer.of([("validity", valid)]).sentences()
    assert "Report P@5 or AP@5:" in report
    assert "Do not rely on RR@5 and nDCG@5:" in others
    level = replace(estimates([0.90, 0.90, 0.90, 0.90], noise=0.02), threshold=0.3)
    (report, _), *more = Answer.of([("validity", level)]).sentences()
    assert "any of the 4 measures" in report
    assert not any("Do not rely" in sentence for sentence, _ in more)


def test_in_a_respect_the_unbeaten_measures_that_pass_the_threshold_are_named() -> None:
    found = replace(estimates([0.90, 0.89, 0.50, 0.20], noise=0.02), threshold=0.3).in_order()
    assert "better than P@5 or AP@5" in respect(found, systems=False)
    level = replace(estimates([0.9, 0.9, 0.9, 0.9], noise=0.02), threshold=0.3).in_order()
    assert "better than another" in respect(level, systems=False)
    poor = replace(estimates([0.2, 0.1, 0.1, 0.1], noise=0.02), threshold=0.3).in_order()
    sentence = respect(poor, systems=False)
    assert "no estimate reaches" in sentence
    assert "P@5 (" in sentence
    # The measure that passes by its share of pairs is beaten by one that does not.
    shares = np.array([0.2, 0.6, 0.2, 0.2])
    beaten_one = replace(
        estimates([0.9, 0.5, 0.1, 0.1], noise=0.02), threshold=0.5, shares=shares
    ).in_order()
    sentence = respect(beaten_one, systems=False)
    assert "significantly worse than another" in sentence


@pytest.mark.slow
def test_the_figure_has_both_intervals_and_room_for_0_and_1() -> None:
    found = over_more([0.90, 0.60, 0.50, 0.40], 0.1)
    answer = Answer.of([("validity", found)])
    ax = answer.plot()
    ordered = answer.every[0]
    low, high = ordered.limits_over_all_sources()
    over_both = [((low[row], row), (high[row], row)) for row in range(4)]
    over_users = [((ordered.low[row], row), (ordered.high[row], row)) for row in range(4)]
    np.testing.assert_allclose(segments_of(ax), [*over_both, *over_users])
    points = [points_of(line)[0] for line in ax.lines if line.get_marker() == "o"]
    assert points == [(0.9, 0), (0.6, 1), (0.5, 2), (0.4, 3)]
    thresholds = [points_of(line) for line in ax.lines if line.get_linestyle() == ":"]
    assert thresholds == [[(0.3, 0), (0.3, 1)]]
    left, right = ax.get_xlim()
    least, most = min(0.0, float(low.min())), max(1.0, float(high.max()))
    assert left < least
    assert right > most
    room = 0.03 * (most - least)
    assert (left, right) == pytest.approx((least - room, most + room))
    assert ax.get_ylim() == (3.5, -0.5)
    shares = replace(found, shares=np.array([0.9, 0.6, 0.5, 0.4]))
    of_shares = Answer.of([("validity", shares)]).plot()
    assert not [line for line in of_shares.lines if line.get_linestyle() == ":"]
    pyplot.close("all")


@pytest.mark.slow
def test_thresholds_of_numbers_are_named_and_not_those_of_shares() -> None:
    """One number has no threshold, and that of another is of shares."""
    found = estimates([0.9, 0.6, 0.5, 0.4], noise=0.02)
    shares = np.array([0.9, 0.6, 0.5, 0.4])
    answer = Answer.of(
        [
            ("users", replace(found, subject="Users")),
            ("sparsity", replace(found, subject="Loss", threshold=0.7)),
            ("discrimination", replace(found, subject="Power", threshold=0.5, shares=shares)),
        ]
    )
    figure, ax = pyplot.subplots()
    answer.plot(ax, subject="Loss")
    (sentence,) = [one for one in explanations(figure) if one.startswith("Dotted lines")]
    assert re.findall(r"\d*\.\d+", sentence) == [".7"]
    pyplot.close("all")


@pytest.mark.parametrize(
    ("values", "level"), [([0.60, 0.59, 0.40, 0.10], "AP@5"), ([0.6, 0.6, 0.6, 0.6], "the others")]
)
def test_below_the_threshold_the_best_is_named_with_those_that_it_does_not_beat(
    values: list[float], level: str
) -> None:
    valid = replace(estimates(values, noise=0.02), threshold=0.7)
    (sentence, _), *_ = Answer.of([("validity", valid)]).sentences()
    assert "P@5 comes closest" in sentence
    assert f"not significantly more valid than {level} (" in sentence


def test_pairs_are_counted_whatever_the_number_of_measures() -> None:
    """Under two measures: one pair of three differs, and none."""
    p = {("P", 5): [0.01, 0.2, 0.3], ("AP", 5): [0.1, 0.2, 0.3]}
    power = Power.of(pair_tests_of(p, errors=[0.01, 0.02, 0.09]))
    assert (power.n_pairs, power.apart.tolist()) == (3, [1, 0])
    sentence = power.sentence(None, "user")
    assert "1 of 3 pairs of systems differs significantly, and 0 under the other" in sentence
    other = power.sentence(power.measures[1], "user")
    assert "0 of 3 pairs of systems differ significantly, and 1 under the other" in other


def last_of(answer: Answer) -> str:
    """The sentence on what the answer holds for."""
    return answer.sentences()[-1][0]


def test_the_scope_of_the_answer_is_told() -> None:
    of_users = replace(estimates([0.9, 0.6, 0.5, 0.4], noise=0.02), threshold=0.3)
    alone = last_of(Answer.of([("validity", of_users)]))
    assert "over users alone. Intervals" in alone
    assert "Other systems, splits or data sets" in alone
    assert "No true ordering is known" not in alone
    more = last_of(Answer.of([("validity", over_more([0.9, 0.6, 0.5, 0.4], 0.3))]))
    assert "over users and 12 families of related systems. Intervals" in more
    assert "Other splits or data sets" in more
    without = last_of(Answer.of([(key, of_users) for key in WITHOUT_TRUTH]))
    assert without.endswith("No true ordering is known here: a stable measure need not be right.")
    nothing = replace(estimates([nan] * 4, noise=0.01), no_value="it is undefined")
    unknown = last_of(Answer.of([("validity", nothing), ("sparsity", of_users)]))
    assert unknown.endswith(
        "The analysis validity was made, but gives no number, as it is undefined."
    )


def test_without_a_deciding_number_there_are_no_sources() -> None:
    answer = Answer.of([("users", over_more([0.9, 0.6, 0.5, 0.4], 0.3))])
    assert answer.sources == []
    assert answer.supported() == ()


def test_analyses_that_a_study_lacks_are_counted() -> None:
    stable = replace(estimates([0.9, 0.6, 0.5, 0.4], noise=0.02), threshold=0.3)
    (one, _), *_ = Answer.of([("sparsity", stable), ("popularity", stable)]).sentences()
    assert "the study lacks the analysis discrimination." in one
    (two, _), *_ = Answer.of([("sparsity", stable)]).sentences()
    assert "the study lacks the analyses popularity and discrimination." in two


def test_no_other_measure_is_closer_to_the_truth_than_those_that_are_reported() -> None:
    valid = replace(estimates([0.90, 0.89, 0.50, 0.20], noise=0.02), threshold=0.3)
    (report, _), *_ = Answer.of([("validity", valid)]).sentences()
    assert ": no other measure orders the systems significantly closer" in report
    level = replace(estimates([0.90, 0.90, 0.90, 0.90], noise=0.02), threshold=0.3)
    (report, _), *_ = Answer.of([("validity", level)]).sentences()
    assert ": no measure orders the systems significantly closer" in report


def test_the_caption_names_subjects_and_what_orders_the_measures() -> None:
    valid = replace(estimates([0.9, 0.6, 0.5, 0.4], noise=0.02), subject="Validity of all")
    robust = replace(valid, subject="Robustness")
    both_of = Answer.of([("sparsity", robust), ("validity", valid)]).caption()
    assert "by robustness and validity of all, ordered by validity of all, with" in both_of
    assert "An area is the mean" in both_of
    assert "DP (discriminative" not in both_of
    alone = Answer.of([("discrimination", replace(robust, quantity="DP"))]).caption()
    assert "ordered by robustness, with" in alone
    assert "DP (discriminative power) is the sum" in alone
    assert "An area is" not in alone
    assert "ordered" not in Answer.of([("users", robust)]).caption()


@pytest.mark.parametrize(("n_characters", "n_lines"), [(26, 1), (27, 2)])
def test_titles_of_panels_have_lines_of_26_characters(n_characters: int, n_lines: int) -> None:
    subject = "a" * (n_characters - 2) + " b"
    found = replace(estimates([0.9, 0.6, 0.5, 0.4], noise=0.02), subject=subject)
    ax = Answer.of([("validity", found)]).plot()
    assert len(ax.get_title().split("\n")) == n_lines
    assert {str(line.get_color()) for line in ax.lines if line.get_marker() == "o"} == {COLOURS[0]}
    pyplot.close("all")
