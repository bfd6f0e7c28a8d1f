"""Measures by trec_eval's names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from harness.metrics.shared.register import built_in_metrics
from harness.trec_eval.measures import MEASURES, Column, read_measures
from qrels import Qrels, judge
from runs import InputError, Run
from tests.lists import pytrec_eval_scores, random_case, runs_and_qrels

METRICS = built_in_metrics()
OWN = {
    name: measure.score
    for name, measure in MEASURES.items()
    if isinstance(measure, Column) and not measure.whole and measure.per_topic
}
"""Measures of trec_eval that no metric computes."""


def names(*texts: str) -> list[str]:
    return [column.name for column in read_measures(texts, METRICS)]


def test_cut_offs_rise_whatever_the_order_asked_for() -> None:
    assert names("P.20,5", "P.10") == ["P_5", "P_10", "P_20"]


def test_recall_points_and_multiples_are_printed_with_two_decimals() -> None:
    assert names("Rprec_mult.2,.5", "iprec_at_recall..1,0") == [
        "iprec_at_recall_0.00",
        "iprec_at_recall_0.10",
        "Rprec_mult_0.50",
        "Rprec_mult_2.00",
    ]


def test_a_measure_told_its_parameters_stands_behind_the_one_that_is_not() -> None:
    assert names("set_F.0.5", "ndcg.1=3,2=9", "set_F.2", "set_F") == [
        "ndcg_1=3,2=9",
        "set_F",
        "set_F_0.5",
        "set_F_2",
    ]


@pytest.mark.parametrize(
    ("told", "untold"), [("set_F.1", "set_F"), ("set_F.1e9", "set_recall"), ("ndcg.7=1", "ndcg")]
)
def test_parameters_are_what_they_say(told: str, untold: str) -> None:
    judged = judge(*random_case(3, n_users=9, n_items=40, depth=20, n_judged=30))
    scores = [read_measures([text], METRICS)[0].score(judged) for text in (told, untold)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6)


def test_official_measures_come_in_trec_evals_order() -> None:
    official = names("official")
    assert official[:7] == ["runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map"]
    assert official[10:21] == [f"iprec_at_recall_{i / 10:.2f}" for i in range(11)]
    assert official[-9:] == [f"P_{n}" for n in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]


def test_a_name_with_a_cut_off_of_ours_is_ours() -> None:
    assert names("infAP@10", "P(rel=4)@5", "bpref(rel=2)") == [
        "infAP@10",
        "P(rel=4)@5",
        "bpref(rel=2)",
    ]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("recal", "no metric is called 'recal'; did you mean 'recall'"),
        ("P.5,5", "5 is duplicated behind 'P'"),
        ("iprec_at_recall..1,0.10", "0.1 is duplicated behind 'iprec_at_recall'"),
        ("iprec_at_recall.half", "parameters of 'iprec_at_recall' must be numbers, got 'half'"),
        ("iprec_at_recall.2", "'recall' must be a number, .*, got 2"),
        ("Rprec_mult.0", "'multiple' must be a number, above 0, got 0"),
        ("relstring", "trec_eval's 'relstring' is not offered: it is no number"),
        ("P.0", "the cut-offs of 'P': a cut-off must be a whole number from 1 to"),
        ("ndcg_cut.23.4", "must be a whole number from 1 to 10,000,000, got '23.4'"),
        ("P.5,", "must be a whole number from 1 to 10,000,000, got ''"),
        ("set_F.0", "'beta' must be a number, above 0, got 0"),
        ("set_F.1,2", "parameters of 'set_F' must be numbers, got '1,2'"),
        ("ndcg.1", "'1' is no grade:gain"),
        ("utility.1,-1,0,0", "the measure 'utility' takes no parameters, got '1,-1,0,0'"),
        ("map.5", "the measure 'map' takes no parameters, got '5'"),
        ("P(level=4)@5", "P has no option 'level'"),
    ],
)
def test_a_measure_that_is_none_is_refused(text: str, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        read_measures([text], METRICS)


@given(case=runs_and_qrels(lowest=-2))
def test_measures_are_pytrec_evals(case: tuple[Run, Qrels]) -> None:
    judged = judge(*case)
    for name, score in OWN.items():
        expected = pytrec_eval_scores(*case, name)
        np.testing.assert_allclose(score(judged), expected, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("n_judged", [3, 33, 300])
def test_a_measure_on_long_lists_is_pytrec_evals(name: str, n_judged: int) -> None:
    run, qrels = random_case(3, n_users=40, n_items=400, depth=100, n_judged=n_judged)
    scores = OWN[name](judge(run, qrels))
    np.testing.assert_allclose(scores, pytrec_eval_scores(run, qrels, name), rtol=0, atol=1e-12)


@pytest.mark.parametrize("after_the_last", [0, 1, 2])
def test_the_end_of_the_list_counts_two_ranks_after_the_last_gain(after_the_last: int) -> None:
    items = np.arange(1 + after_the_last, dtype=np.int32)[None, ::-1].copy()
    qrels = Qrels(
        np.array([0, 1]),
        np.array([0], dtype=np.int32),
        np.array([1], dtype=np.int32),
        relevance_level=1,
    )
    run = Run("s", items)
    found = OWN["Rndcg"](judge(run, qrels))
    np.testing.assert_allclose(found, pytrec_eval_scores(run, qrels, "Rndcg"), rtol=0, atol=1e-12)
