"""Measures of ir_measures and of trec_eval as metrics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.shared.ir_measures import metric_of_ir_measures, metric_of_trec_eval
from harness.metrics.shared.metric import Metric, metric
from harness.metrics.shared.register import built_in_metrics
from qrels import Judged, Qrels, judge
from runs import InputError, Run
from runs.shared.arrays import Floats
from tests.conftest import examples
from tests.lists import pytrec_eval_scores, random_case, runs_and_qrels

METRICS = built_in_metrics()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("P", "P"), ("R", "Recall"), ("AP", "AP"), ("nDCG", "nDCG"), ("Bpref", "bpref")],
)
@examples(30)
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


def test_their_measures_are_named_and_described() -> None:
    theirs = metric_of_ir_measures("ir_measures:nDCG(dcg='exp-log2')@10")
    assert (str(theirs), theirs.has_level, theirs.high) == (
        "ir_measures:nDCG(dcg=exp-log2)",
        False,
        np.inf,
    )
    assert theirs.doc == "Normalised Discounted Cumulative Gain, as ir_measures computes it."
    assert [option.name for option in theirs.all_options] == ["condensed", "mean"]


JUDGED = Judged(
    np.array([[2.0, np.nan, 1.0], [0.0, 1.0, 0.0], [np.nan, np.nan, np.nan]]),
    np.array([[2.0, 1.0, 2.0], [1.0, 0.0, 0.0], [np.nan] * 3]),
    relevance_level=2,
    lengths=np.array([3, 2, 0]),
)


@pytest.mark.parametrize(
    ("name", "cutoff", "expected"),
    [
        ("P", 2, [0.5, 0, 0]),  # the level of the qrels is theirs, too
        ("P(rel=1)", 2, [0.5, 0.5, 0]),
        ("P(rel=1)", 3, [2 / 3, 1 / 3, 0]),
        ("R(rel=1)", 1, [1 / 3, 0, 0]),
        ("Judged", 2, [0.5, 1, 0]),
        ("NumRet(rel=1)", None, [2, 1, 0]),
        ("NumRet(rel=1)", 2, [1, 1, 0]),  # it has no cut-off, so that lists are cut
    ],
)
def test_users_are_scored_by_grades_and_ranks(
    name: str, cutoff: int | None, expected: list[float]
) -> None:
    found = metric_of_ir_measures(f"ir_measures:{name}")(JUDGED, cutoff=cutoff)
    np.testing.assert_allclose(found, expected)


def declared(trec_eval: str) -> Metric:
    def score(judged: Judged, *, cutoff: int | None = None, beta: float = 2.0) -> Floats:
        return np.zeros(judged.n_users)

    return metric("mine", source="here", trec_eval=trec_eval)(score)


@pytest.mark.parametrize(
    ("text", "cutoff", "measure", "depth"),
    [
        ("P.n", 3, "P_3", None),
        ("P.n", None, "P_12", None),  # whole lists are 12 ranks deep
        ("ndcg_cut.n", 5, "ndcg_cut_5", None),
        ("map_cut.n", 5, "map_cut_5", None),
        ("recall.n", 5, "recall_5", None),
        ("success.n", 2, "success_2", None),
        ("relative_P.n", 5, "relative_P_5", None),
        ("P.7", 3, "P_7", None),
        ("map with -M n", 4, "map", 4),
        ("recip_rank", None, "recip_rank", None),
        ("set_F.beta with -M n", 6, "set_F_2.0", 6),
        ("set_F.0.5", 6, "set_F_0.5", 6),
        ("iprec_at_recall.0.3", None, "iprec_at_recall_0.3", None),
    ],
)
def test_a_measure_that_a_metric_names_is_computed_by_trec_eval(
    text: str, cutoff: int | None, measure: str, depth: int | None
) -> None:
    run, qrels = random_case(2, n_users=20, n_items=40, depth=12, n_judged=20)
    theirs = metric_of_trec_eval(declared(text))
    expected = pytrec_eval_scores(run, qrels, measure, cutoff=depth)
    np.testing.assert_allclose(theirs(judge(run, qrels), cutoff=cutoff), expected)
    assert (theirs.name, theirs.high) == (f"trec_eval's {text.partition(' ')[0]}", np.inf)


def test_users_without_judgements_score_0() -> None:
    assert metric_of_trec_eval(declared("num_ret"))(JUDGED).tolist() == [3, 2, 0]
    assert metric_of_trec_eval(declared("num_rel"))(JUDGED).tolist() == [2, 0, 0]


def test_a_measure_with_several_values_or_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"'mine': trec_eval has no measure 'mapp'.*'map'"):
        metric_of_trec_eval(declared("mapp"))
    several = metric_of_trec_eval(declared("iprec_at_recall"))
    with pytest.raises(InputError, match="iprec_at_recall has several values: declare a parameter"):
        several(JUDGED)
