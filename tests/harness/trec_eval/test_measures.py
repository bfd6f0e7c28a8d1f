"""Measures by trec_eval's names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from harness.metrics.shared.register import built_in_metrics
from harness.trec_eval.measures import (
    LEFT_OUT,
    MEASURES,
    NICKNAMES,
    RUN_ID,
    Column,
    TrecMeasure,
    read_measures,
    remarks,
)
from qrels import Judged, Qrels, judge
from runs import InputError, Run
from tests.conftest import examples
from tests.lists import pytrec_eval_scores, random_case, runs_and_qrels

METRICS = built_in_metrics()
OWN = {
    name: measure.score
    for name, measure in MEASURES.items()
    if isinstance(measure, Column) and not measure.is_count and measure.per_topic
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


@examples(30)
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


RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
NUMBERED = {
    "iprec_at_recall": [f"{i / 10:.2f}" for i in range(11)],
    "Rprec_mult": [f"{i / 5:.2f}" for i in range(1, 11)],
    **{name: [*map(str, RANKS)] for name in ("P", "recall", "ndcg_cut", "map_cut", "relative_P")},
    "success": ["1", "5", "10"],
}
COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_without_parameters_is_printed_for_those_of_trec_eval(name: str) -> None:
    assert names(name) == [f"{name}_{n}" for n in NUMBERED[name]] if name in NUMBERED else [name]


@pytest.mark.parametrize("name", MEASURES)
def test_counts_are_whole_and_what_is_of_all_topics_is_not_printed_for_one(name: str) -> None:
    columns = read_measures([name], METRICS)
    assert {column.is_count for column in columns} == {name in COUNTS}
    of_all = ("runid", "num_q", "gm_map", "gm_bpref")
    assert {column.per_topic for column in columns} == {name not in of_all}
    several = np.array([0.25, 1.0])
    means = {"gm_map": 0.5, "gm_bpref": 0.5} | dict.fromkeys(COUNTS, 1.25)
    for column in columns:
        assert column.average(several) == pytest.approx(means.get(name, 0.625))


def test_counts_are_those_of_the_list_and_of_the_judgements() -> None:
    judged = Judged(
        np.array([[1.0, np.nan, 0.0, -1.0], [np.nan] * 4]),
        np.array([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, np.nan, np.nan, np.nan, np.nan]]),
        lengths=np.array([4, 0]),
    )
    found = {
        column.name: np.asarray(column.score(judged)).tolist()
        for column in (*read_measures(COUNTS, METRICS), RUN_ID)
    }
    assert found == {
        "runid": [0, 0],
        "num_q": [1, 1],
        "num_ret": [4, 0],
        "num_rel": [2, 0],
        "num_rel_ret": [1, 0],
        "num_nonrel_judged_ret": [1, 0],
    }


SINGLE = {
    name: measure
    for name, measure in MEASURES.items()
    if isinstance(measure, TrecMeasure) and not measure.parameters and "gm" not in name
}


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("n_judged", [3, 33])
def test_a_metric_is_the_measure_of_its_name(name: str, n_judged: int) -> None:
    run, qrels = random_case(3, n_users=40, n_items=80, depth=40, n_judged=n_judged)
    (column,) = read_measures([name], METRICS)
    expected = pytrec_eval_scores(run, qrels, name)
    np.testing.assert_allclose(column.score(judge(run, qrels)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NUMBERED)
def test_a_metric_with_parameters_is_the_measure_at_each_of_them(name: str) -> None:
    run, qrels = random_case(3, n_users=20, n_items=80, depth=40, n_judged=33)
    judged = judge(run, qrels)
    for column in read_measures([name], METRICS):
        expected = pytrec_eval_scores(run, qrels, column.name)
        np.testing.assert_allclose(
            column.score(judged), expected, rtol=0, atol=1e-12, err_msg=column.name
        )


def test_nicknames_stand_for_measures_in_trec_evals_order() -> None:
    assert NICKNAMES["all_trec"] == tuple(MEASURES)
    assert NICKNAMES["official"][-2:] == ("iprec_at_recall", "P")
    assert len(NICKNAMES["official"]) == 12
    assert NICKNAMES["set"] == (
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility"),
        *("set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    )
    assert names("set", "official")[:5] == list(NICKNAMES["set"][:5])


def test_a_nickname_with_parameters_is_none() -> None:
    with pytest.raises(InputError, match="'official"):
        read_measures(["official.5"], METRICS)


def test_what_all_trec_leaves_out_is_told_where_it_is_asked_for() -> None:
    assert remarks(["P", "official"]) == []
    (remark,) = remarks(["P", "all_trec"])
    assert remark.startswith(f"all_trec leaves out {', '.join(LEFT_OUT)};")
    for name, why in LEFT_OUT.items():
        with pytest.raises(InputError, match=f"trec_eval's '{name}' is not offered: {why}"):
            read_measures([f"{name}.2"], METRICS)


def test_a_metric_of_ones_own_may_have_the_name_of_what_is_left_out() -> None:
    mine = {**METRICS, "unj": METRICS["P"]}
    assert [column.name for column in read_measures(["unj"], mine)] == ["P"]


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InputError, match=r"(?s)'recal'.*he measure 'map' takes no"):
        read_measures(["recal", "P.5", "map.5"], METRICS)


def test_names_of_others_are_columns_of_ours() -> None:
    assert names("ndcg_cut_10", "MRR@5", " P@3 ") == ["nDCG@10", "RR@5", "P@3"]
    judged = judge(*random_case(3, n_users=9, n_items=40, depth=20, n_judged=30))
    (column,) = read_measures(["AP(mean=geometric)@5"], METRICS)
    scores = column.score(judged)
    assert scores.tolist() == METRICS["AP"](judged, cutoff=5, mean="geometric").tolist()
    assert column.average(scores) == pytest.approx(np.exp(scores.mean()))


@pytest.mark.parametrize(("rounding", "expected"), [("up", 0.5), ("nearest", 1.0)])
def test_recall_points_become_numbers_of_items_in_one_way(rounding: str, expected: float) -> None:
    judged = Judged(np.array([[1.0, np.nan, np.nan, 1.0]]), np.ones((1, 4)))
    (column,) = read_measures(["iprec_at_recall.0.3"], METRICS, rounding=rounding)
    assert column.score(judged).tolist() == [expected]
    (column,) = read_measures(["IPrec(recall=0.3)"], METRICS, rounding=rounding)
    assert column.name == "IPrec(recall=0.3)"


SETS = Judged(
    np.array([[1.0, np.nan, 2.0, 0.0], [np.nan] * 4]),
    np.array([[1.0, 2.0, 0.0, 1.0], [1.0, np.nan, np.nan, np.nan]]),
    lengths=np.array([4, 0]),
)


def test_retrieved_sets_by_hand() -> None:
    """Two of three relevant items in a set of four; nothing is retrieved for the second topic."""
    found = {
        column.name: column.score(SETS).tolist()
        for column in read_measures(
            ["set_P", "set_recall", "set_F", "set_F.3", "set_map", "set_relative_P", "utility"],
            METRICS,
        )
    }
    assert found == {
        "utility": [0, 0],
        "set_P": [1 / 2, 0],
        "set_relative_P": [2 / 3, 0],
        "set_recall": [2 / 3, 0],
        "set_map": [4 / 12, 0],
        "set_F": [pytest.approx(2 * (1 / 2) * (2 / 3) / (2 / 3 + 1 / 2)), 0],
        "set_F_3": [pytest.approx(4 * (1 / 2) * (2 / 3) / (2 / 3 + 3 / 2)), 0],
    }
    assert METRICS["SetP"](SETS, cutoff=3).tolist() == [2 / 3, 0]
    assert METRICS["SetP"](SETS, cutoff=9).tolist() == [1 / 2, 0]
