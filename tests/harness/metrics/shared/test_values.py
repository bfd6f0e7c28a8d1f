"""Metrics as values: with options, at a cut-off."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, MultipleOf

import harness
from harness.metrics.shared.metric import Metric, metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import built_in_metrics, find_metric
from qrels import Judged
from runs import InputError
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
    assert (geometric.low < 0, geometric.bare.low, geometric(mean="arithmetic").low) == (True, 0, 0)


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


@pytest.mark.parametrize(
    ("name", "own"),
    [
        *((name, "Success") for name in ("HR", "Hit", "Hits", "HitRate", "hit_ratio", "success")),
        *((name, "AP") for name in ("MAP", "map", "map_cut")),
        *((name, "RR") for name in ("MRR", "recip_rank")),
        ("NDCG", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("P_5", "P@5"),
        ("precision", "P"),
        ("R", "Recall"),
        ("recall.10", "Recall@10"),
        ("F1", "SetF"),
    ],
)
def test_names_of_others_are_answered_with_ours(name: str, own: str) -> None:
    with pytest.raises(InputError, match=f"no metric is called '{name}'; here it is '{own}'"):
        find_metric(name, METRICS)


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
