"""The figure that sums a study up: order of the report measures, and how sure it is."""

import json
from dataclasses import replace
from math import nan
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.stats import t

from analyses.shared.estimate import Estimates
from analyses.shared.measure import Measure, Measures
from harness.report.answer import WITHOUT_TRUTH, Answer
from harness.report.study_folder import FinishedStudy
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
    study = FinishedStudy.at(request.getfixturevalue(kind))
    deciding = ["validity"] if "validity" in study.kinds else [*WITHOUT_TRUTH]
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
    answer = FinishedStudy.at(finished).result("answer")
    assert isinstance(answer, Answer)
    assert answer.power is not None
    pairs = read_frame(finished, "pvalues")
    of_tests = read_frame(finished, "discrimination").set_index(["metric", "cutoff"])
    for number, measure in enumerate(answer.power.measures):
        own = pairs[(pairs.metric == measure.metric) & (pairs.cutoff == measure.cutoff)]
        assert answer.power.apart[number] == (own.p < 0.05).sum()
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
