"""The figure that sums a study up: order of the report measures, and how sure it is."""

import json
from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
from matplotlib import pyplot

from analyses.shared.estimate import Estimates
from analyses.shared.measure import Measure, Measures
from harness.report.answer import Answer
from tests.harness.small import read_frame

MEASURES = Measures([Measure(name, 5) for name in ("P", "AP", "RR", "nDCG")])
WORDS = ("area", "area under the curve", "Robustness", "robust")


def estimates(values: list[float], *, noise: float, falling: bool = False) -> Estimates:
    """Numbers with independent noise."""
    generator, levels = np.random.default_rng(1), np.array(values)
    replicates = levels[:, None] + noise * generator.normal(size=(4, 500))
    limits = levels - 2 * noise, levels + 2 * noise
    return Estimates(*WORDS, MEASURES, levels, *limits, replicates, lower_is_better=falling)


def test_measures_are_in_order_and_share_letters_with_what_is_like_them() -> None:
    frame = Answer.of([("sparsity", estimates([0.50, 0.90, 0.52, 0.10], noise=0.02))]).frame()
    assert frame.metric.tolist() == ["AP", "RR", "P", "nDCG"]
    assert frame.groups.tolist() == ["a", "b", "b", "c"]


def test_of_some_numbers_less_is_better() -> None:
    frame = Answer.of(
        [("sparsity", estimates([3.0, 1.0, 2.0, 4.0], noise=0.1, falling=True))]
    ).frame()
    assert frame.metric.tolist() == ["AP", "RR", "P", "nDCG"]


def test_a_measure_without_a_number_is_left_out() -> None:
    frame = Answer.of([("sparsity", estimates([nan, 0.9, 0.5, 0.1], noise=0.01))]).frame()
    assert frame.metric.tolist() == ["AP", "RR", "nDCG"]


def test_nothing_is_shown_of_nothing() -> None:
    answer = Answer.of([("sparsity", estimates([nan] * 4, noise=0.01))])
    assert answer.shown is None
    assert answer.frames() == {}


def test_the_best_is_at_the_top_and_measures_that_are_unbeaten_are_filled() -> None:
    ax = Answer.of([("sparsity", estimates([0.50, 0.90, 0.52, 0.10], noise=0.02))]).plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["AP@5", "RR@5", "P@5", "nDCG@5"]
    assert ax.yaxis_inverted()
    filled, hollow = ax.lines
    assert np.asarray(filled.get_ydata()).tolist() == [0]
    assert np.asarray(hollow.get_ydata()).tolist() == [1, 2, 3]
    pyplot.close("all")


def test_by_a_truth_all_that_are_not_significantly_less_valid_are_supported() -> None:
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
