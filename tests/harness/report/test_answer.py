"""The figure that sums a study up: order of the report measures, and how sure it is."""

import json
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
    frame = Answer.of([estimates([0.50, 0.90, 0.52, 0.10], noise=0.02)]).frame()
    assert frame.metric.tolist() == ["AP", "RR", "P", "nDCG"]
    assert frame.groups.tolist() == ["a", "b", "b", "c"]


def test_of_some_numbers_less_is_better() -> None:
    frame = Answer.of([estimates([3.0, 1.0, 2.0, 4.0], noise=0.1, falling=True)]).frame()
    assert frame.metric.tolist() == ["AP", "RR", "P", "nDCG"]


def test_a_measure_without_a_number_is_left_out() -> None:
    frame = Answer.of([estimates([nan, 0.9, 0.5, 0.1], noise=0.01)]).frame()
    assert frame.metric.tolist() == ["AP", "RR", "nDCG"]


def test_nothing_is_shown_of_nothing() -> None:
    answer = Answer.of([estimates([nan] * 4, noise=0.01)])
    assert answer.shown is None
    assert answer.frames() == {}


def test_the_best_is_at_the_top_and_lines_join_groups_of_several() -> None:
    ax = Answer.of([estimates([0.50, 0.90, 0.52, 0.10], noise=0.02)]).plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["AP", "RR", "P", "nDCG"]
    assert ax.yaxis_inverted()
    _, *lines = ax.lines
    assert [np.asarray(line.get_ydata()).tolist() for line in lines] == [[0.8, 2.2]]
    pyplot.close("all")


def test_it_opens_the_report_of_a_study(finished: Path) -> None:
    assert json.loads((finished / "manifest.json").read_text())["results"][0] == "answer"
    frame = read_frame(finished, "answer")
    areas = read_frame(finished, "sparsity_areas")
    of_loss = frame[frame.quantity == "area, random loss of judgements"]
    expected = areas.loc[areas.cutoff == 20, "area"].sort_values(ascending=False)
    assert of_loss.value.tolist() == expected.tolist()
