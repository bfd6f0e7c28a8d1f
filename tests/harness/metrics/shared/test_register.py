"""Metrics kept as data, and those of ir_measures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.shared.ir_measures import metric_of_ir_measures
from harness.metrics.shared.register import built_in_metrics
from qrels import Qrels, judge
from runs import InputError, Run
from tests.lists import random_case, runs_and_qrels

METRICS = built_in_metrics()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("P", "P"), ("R", "Recall"), ("AP", "AP"), ("nDCG", "nDCG"), ("Bpref", "bpref")],
)
@given(case=runs_and_qrels(), cutoff=st.integers(1, 9))
def test_their_measure_scores_lists_as_ours_does(
    theirs: str, ours: str, case: tuple[Run, Qrels], cutoff: int
) -> None:
    judged = judge(*case)
    scores = metric_of_ir_measures(f"ir_measures:{theirs}")(judged, cutoff=cutoff)
    np.testing.assert_allclose(scores, METRICS[ours](judged, cutoff=cutoff), rtol=0, atol=1e-12)


def test_their_infap_is_not_ours() -> None:
    judged = judge(*random_case(2, n_users=20, n_items=60, depth=20, n_judged=10))
    theirs = metric_of_ir_measures("ir_measures:infAP")(judged)
    np.testing.assert_allclose(theirs, METRICS["AP"](judged), atol=1e-4)
    assert not np.allclose(theirs, METRICS["infAP"](judged), atol=1e-2)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("ir_measures:nDGC", "ir_measures has no measure 'nDGC'; did you mean 'nDCG'"),
        ("ir_measures:P(level=2)", "ir_measures' P: unsupport.* its parameters are: .*rel"),
        ("ir_measures:P(rel=x)", "ir_measures' P: invalid param rel='x'"),
    ],
)
def test_what_they_do_not_have_is_answered_in_a_sentence(text: str, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        metric_of_ir_measures(text)
