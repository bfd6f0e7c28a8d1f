"""Runs and qrels of Python, scored for an analysis."""

from typing import Any

import ir_measures
import numpy as np
import pytest

from harness.metrics.shared.register import built_in_metrics
from harness.study.scored_runs import list_measures, read_and_score
from runs import InputError

QRELS = {"t1": {"d1": 1, "d2": 0}, "t2": {"d1": 0, "d2": 1}}
FORWARDS = {"t1": {"d1": 2.0, "d2": 1.0}, "t2": {"d1": 2.0, "d2": 1.0}}
BACKWARDS = {"t1": {"d1": 1.0, "d2": 2.0}, "t2": {"d1": 1.0}}


def test_a_single_measure_of_any_kind_is_a_list_of_one() -> None:
    metric = built_in_metrics()["AP"]
    measure: Any = ir_measures.nDCG @ 5
    assert list_measures("RR") == ["RR"]
    assert list_measures(metric) == [metric]
    assert list_measures(measure) == ["nDCG@5"]
    assert list_measures(["RR", metric]) == ["RR", metric]


def test_what_is_no_measure_is_refused() -> None:
    measures: Any = ["RR", 5]
    with pytest.raises(InputError, match="a measure is a name such as 'nDCG@10', or a metric, got"):
        list_measures(measures)


def test_scores_of_several_runs_of_a_system_are_averaged() -> None:
    runs = {"one": FORWARDS, "both": [FORWARDS, BACKWARDS]}
    work = read_and_score(runs, QRELS, "P@1", relevance_level=1)
    assert work.scores.systems == ("one", "both")
    np.testing.assert_array_equal(work.scores.values[0], [[1.0, 0.0], [0.5, 0.0]])


def test_no_measure_and_too_few_systems_are_refused() -> None:
    with pytest.raises(InputError, match="there is no measure"):
        read_and_score({"a": FORWARDS, "b": BACKWARDS}, QRELS, [], relevance_level=1)
    with pytest.raises(InputError):
        read_and_score({"a": FORWARDS}, QRELS, "P@1", relevance_level=1)
    work = read_and_score({"a": FORWARDS}, QRELS, "P@1", relevance_level=1, min_systems=1)
    assert work.scores.systems == ("a",)
