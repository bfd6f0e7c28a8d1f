"""Metrics as values: with options, at a cut-off."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, MultipleOf

import harness
from harness.metrics.shared.metric import (
    Metric,
    geometric_mean,
    logarithms,
    metric,
    name_users_in_errors,
    ratio,
)
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import built_in_metrics, find_metric
from qrels import Judged
from runs import InputError
from runs.shared.errors import InputWarning
from tests.harness.small import write_collection

METRICS = built_in_metrics()
JUDGED = Judged(np.array([[1.0, np.nan, 1.0]]), np.ones((1, 2)))


@metric("Found", source="here", high=np.inf)
def found(  # type: ignore[no-untyped-def]
    judged: Any,
    *,
    cutoff: Any = None,
    weight: Annotated[float, Ge(0), Le(2)] = 1.0,
    kind: Literal["all", "first"] = "all",
    strict: bool = False,
    depth: Annotated[int, Gt(0)] | None = None,
    plain=3,
) -> Any:
    """Hits.

    Parameters
    ----------
    weight
        What a hit *counts*.
    """
    return weight * judged.hits(cutoff) + strict


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_in_the_front(name: str) -> None:
    value = getattr(harness, name.replace("-", "_"))
    assert value == METRICS[name]
    assert str(value @ 10) == f"{name}@10"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (METRICS["nDCG"](gains="exp") @ 10, "nDCG(gains=exp)@10"),
        ((METRICS["P"] @ 5)(rel=4), "P(rel=4)@5"),
        (METRICS["nDCG"](gains={2: 3.0, 1: 0.5}), "nDCG(gains={1:0.5,2:3})"),
        (METRICS["RBP"](p=0.9), "RBP"),
        (found(strict=True, weight=2) @ 3, "Found(weight=2,strict=true)@3"),
    ],
)
def test_a_value_prints_as_a_study_writes_it_and_reads_back(value: Any, text: str) -> None:
    assert str(value) == repr(value) == text
    again = find_metric(text, {**METRICS, "Found": found})
    assert (again if parse_name(text).cutoff is None else again @ value.cutoff) == value


def test_a_mean_that_is_taken_back_leaves_the_metric_as_it_was() -> None:
    geometric = METRICS["P"](mean="geometric")
    assert (geometric.low < 0, geometric.as_declared.low, geometric(mean="arithmetic").low) == (
        True,
        0,
        0,
    )


def test_keywords_with_a_default_are_options() -> None:
    assert {option.name: option.help for option in found.options} == {
        "weight": "a number, at least 0 and at most 2; 1 by default. What a hit counts",
        "kind": "all or first; all by default",
        "strict": "true or false; false by default",
        "depth": "a whole number, above 0",
        "plain": "a whole number; 3 by default",
    }


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"weight": 3}, r"'weight' must be a number, at least 0 and at most 2, got 3\."),
        ({"weight": True}, r"'weight' must be a number.*, got True\."),
        ({"kind": "last"}, r"'kind' must be all or first, got 'last'\."),
        ({"strict": 1}, r"'strict' must be true or false, got 1\."),
        ({"depth": 0}, r"'depth' must be a whole number, above 0, got 0\."),
        ({"wait": 1}, "Found has no option 'wait'; its options are rel: "),
    ],
)
def test_what_an_option_does_not_take_is_refused(options: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        found(**options)


def without_default(judged: Any, *, cutoff: Any = None, p: float) -> Any: ...
def of_no_type(judged: Any, *, cutoff: Any = None, p: Annotated[Any, "free"] = 1) -> Any: ...
def of_no_bound(
    judged: Any, *, cutoff: Any = None, p: Annotated[int, MultipleOf(2)] = 2
) -> Any: ...
def out_of_range(judged: Any, *, cutoff: Any = None, p: Annotated[int, Gt(3)] = 1) -> Any: ...
def of_all(judged: Any, *, cutoff: Any = None, mean: str = "x") -> Any: ...


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (without_default, "the keyword 'p' of without_default is an option, and needs a default"),
        (of_no_type, "the keyword 'p' of of_no_type is an option, whose type must be int, float"),
        (of_no_bound, "the keyword 'p' of of_no_bound is an option, whose type must be"),
        (out_of_range, "must be a whole number, above 3, got the default 1"),
        (of_all, "X: 'mean' is an option that metrics have already"),
    ],
)
def test_a_keyword_that_can_be_no_option_is_refused(function: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        metric("X", source="here")(function)


def test_runs_are_scored_by_values_beside_names(tmp_path: Path) -> None:
    write_collection(tmp_path)
    measures: list[str | Metric] = ["P@2", harness.nDCG(gains="exp") @ 2, found(weight=2) @ 1]
    scores = harness.score(str(tmp_path / "*.run"), tmp_path / "test.qrels", measures)
    assert [str(m) for m in scores.measures] == ["P@2", "nDCG(gains=exp)@2", "Found(weight=2)@1"]
    assert scores.values[2, :, 0].tolist() == [2.0, 0.0]


def test_another_metric_of_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    mine = metric("P", source="here")(lambda judged, *, cutoff=None: judged.hits(cutoff))
    with pytest.raises(InputError, match="another metric called 'P' exists already"):
        harness.score("*.run", "test.qrels", [mine @ 5])


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("P", "sum"),
        ("P(rel=4)", "sum"),
        ("P(condensed=true)", ""),
        ("P(mean=geometric)", ""),
        ("DCG", "sum"),
        ("DCG(gains=exp)", "sum"),
        ("DCG(beta=0.5)", ""),
        ("RR", "max"),
        ("ERR", ""),  # the scale is that of the grades, which a judgement may raise
        ("ERR(top=5)", "cascade"),
        ("ERR(top=5,condensed=true)", ""),
        ("AP", ""),
    ],
)
def test_scores_have_a_residual_where_every_relevant_item_adds_to_them(text: str, how: str) -> None:
    assert find_metric(text, METRICS).accumulation == how


def test_every_metric_can_leave_unjudged_items_out_and_be_averaged_otherwise_from_0_on() -> None:
    signed = metric("Signed", source="here", low=-1.0)(lambda judged, *, cutoff=None: 0)
    level_free = METRICS["nDCG"]
    assert [option.name for option in found.all_options][:1] == ["rel"]
    assert [option.name for option in found.all_options][-2:] == ["condensed", "mean"]
    assert [option.name for option in signed.all_options] == ["rel", "condensed"]
    assert "rel" not in [option.name for option in level_free.all_options]
    assert "mean" in [option.name for option in found(mean="geometric").all_options]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rel": 0}, "'rel' must be a whole number, at least 1, got 0"),
        ({"rel": 1.0}, r"'rel' must be a whole number, at least 1, got 1\.0"),
        ({"condensed": 1}, "'condensed' must be true or false, got 1"),
        ({"mean": "median"}, "'mean' must be arithmetic or geometric, got 'median'"),
    ],
)
def test_options_of_all_metrics_take_what_they_say(options: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        found(**options)


def test_options_of_all_metrics_say_what_they_do() -> None:
    told = {option.name: option.help.partition(". ")[0] for option in METRICS["P"].all_options}
    assert told == {
        "rel": "a whole number, at least 1",
        "condensed": "true or false; false by default",
        "mean": "arithmetic or geometric; arithmetic by default",
    }
    assert METRICS["P"](rel=1).label == "P(rel=1)"
    assert METRICS["P"](condensed=False, mean="arithmetic").label == "P"


def test_options_that_are_set_keep_those_before_and_the_cut_off() -> None:
    chosen = (METRICS["nDCG"] @ 10)(gains="exp")(beta=0.5)
    assert str(chosen) == "nDCG(gains=exp,beta=0.5)@10"
    assert str(chosen(gains="rating")) == "nDCG(beta=0.5)@10"
    assert str(chosen.as_declared) == "nDCG"
    assert str((METRICS["nDCG"] @ 10).as_declared) == "nDCG"
    assert (chosen == METRICS["nDCG"], chosen == str(chosen)) == (False, False)
    assert len({chosen, METRICS["nDCG"], METRICS["nDCG"] @ 5, METRICS["nDCG"]}) == 3


@pytest.mark.parametrize("cutoff", [1, 10, 10_000_000, np.int64(7)])
def test_a_cut_off_is_a_number_of_ranks(cutoff: int) -> None:
    chosen = METRICS["P"] @ cutoff
    assert (chosen.cutoff, type(chosen.cutoff)) == (cutoff, int)


@pytest.mark.parametrize("cutoff", [0, -1, 10_000_001, 2.0, "5"])
def test_what_is_no_number_of_ranks_is_no_cut_off(cutoff: Any) -> None:
    with pytest.raises(InputError, match=r"P: the cut-off must be .* 1 to 10,000,000, got"):
        METRICS["P"] @ cutoff


def test_a_cut_off_of_the_call_stands_before_that_of_the_metric() -> None:
    two = Judged(np.array([[1.0, 0.0, 1.0, 1.0]]), np.ones((1, 4)))
    chosen = METRICS["P"] @ 2
    assert chosen(two).tolist() == [0.5]
    assert chosen(two, cutoff=4).tolist() == [0.75]
    assert METRICS["P"](two).tolist() == [0.75]
    assert str(METRICS["P"](cutoff=3, rel=2)) == "P(rel=2)@3"


def test_a_metric_sees_the_level_that_its_name_says() -> None:
    graded = Judged(np.array([[1.0, np.nan, 3.0]]), np.array([[1.0, 3.0]]), relevance_level=1)
    assert METRICS["P"](graded, cutoff=3).tolist() == [pytest.approx(2 / 3)]
    assert METRICS["P"](graded, cutoff=3, rel=2).tolist() == [pytest.approx(1 / 3)]
    assert METRICS["P"](graded, cutoff=2, condensed=True).tolist() == [1]


def returning(values: Any, **facts: Any) -> Metric:
    return metric("given", source="here", **facts)(lambda judged, *, cutoff=None: values)


TWO = Judged(np.array([[1.0], [0.0]]), np.ones((2, 1)))


@pytest.mark.parametrize("values", [0.5, [0.5], [[0.5, 0.5]], [0.5] * 3])
def test_there_is_one_score_of_each_user(values: Any) -> None:
    with pytest.raises(InputError, match=r"'given' must return one .* of shape \(2,\), got shape"):
        returning(values)(TWO)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([0.5, np.nan], "got nan at cut-off 3 for user number 1"),
        ([np.inf, np.nan], "got inf at cut-off 3 for user number 0"),
    ],
)
def test_the_first_score_that_is_no_number_is_named(values: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        returning(values)(TWO, cutoff=3)


@pytest.mark.parametrize(
    ("facts", "values"),
    [({}, [-2e-9, 0.5]), ({}, [0.5, 1 + 2e-9]), ({"low": -1.0, "high": 2.0}, [2.5, 0.0])],
)
def test_scores_outside_the_range_are_warned_of(facts: Any, values: Any) -> None:
    low, high = facts.get("low", 0), facts.get("high", 1)
    with pytest.warns(InputWarning, match=f"values outside its range, {low:g} to {high:g}: give"):
        assert returning(values, **facts)(TWO).tolist() == values


@pytest.mark.parametrize("values", [[-5e-10, 1 + 5e-10], [0, 1]])
def test_scores_in_the_range_but_for_rounding_are_silent(values: Any, recwarn: Any) -> None:
    assert returning(values)(TWO).tolist() == values
    assert not len(recwarn)


def test_a_geometric_mean_has_logarithms_for_scores() -> None:
    chosen = returning([0.5, 0.0], high=4.0)(mean="geometric")
    assert (chosen.low, chosen.high) == (np.log(1e-5), np.log(4))
    scores = chosen(TWO)
    assert scores.tolist() == [np.log(0.5), np.log(1e-5)]
    assert chosen.average(scores) == pytest.approx((0.5 * 1e-5) ** 0.5)
    assert chosen.as_declared.average(np.array([[0.5, 0.0]])).tolist() == [0.25]
    assert METRICS["P"](mean="geometric").lattice(5) is None
    assert METRICS["P"](rel=2).lattice(5) == 5


def test_logarithms_are_of_scores_of_a_hundred_thousandth_at_least() -> None:
    assert logarithms(np.array([0.0, 1e-6, 2e-5, 1.0])).tolist() == [
        *[np.log(1e-5)] * 2,
        np.log(2e-5),
        0,
    ]
    assert geometric_mean(np.array([[0.1, 0.4], [0.0, 1.0]])) == pytest.approx([0.2, 1e-5**0.5])


def test_a_share_of_nothing_is_0() -> None:
    assert ratio(np.array([1.0, 3.0, 0.0]), np.array([4, 0, 0])).tolist() == [0.25, 0, 0]


def test_facts_are_told_in_sentences() -> None:
    assert METRICS["P"].facts()[1] == "From 0 to 1, more is better. In trec_eval: P.n."
    assert METRICS["ARP"].facts()[1] == "From 0 to inf, less is better."
    assert found.facts() == ["Source: here.", "From 0 to inf, more is better."]
    assert (found.summary, METRICS["P"].doc.count("\n") > 3) == ("Hits.", True)


def test_a_user_for_whom_a_metric_fails_is_named_by_id() -> None:
    ids = np.array(["ann", "bob"])
    with (
        pytest.raises(InputError, match=r"got nan at cut-off None for user 'bob'\."),
        name_users_in_errors(ids),
    ):
        returning([0.5, np.nan])(TWO)
    with name_users_in_errors(ids):
        assert returning([0.5, 0.25])(TWO).tolist() == [0.5, 0.25]


def test_what_a_metric_needs_is_one_of_the_rankings_of_hidden_items() -> None:
    with pytest.raises(InputError, match="`needs` must be one of loo, lloo, got 'both'"):
        metric("X", source="here", needs=("both",))
    assert metric("X", source="here", needs=("loo", "lloo"))(found.function).needs == (
        "loo",
        "lloo",
    )
