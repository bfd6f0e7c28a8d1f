from typing import Annotated, Any

import numpy as np
import pytest
from annotated_types import Gt, Lt
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.shared.metric import metric
from harness.metrics.shared.names import (
    VALUES_WITHOUT_NONRELEVANT,
    Value,
    parse_name,
    print_name,
    print_value,
    read_cutoff,
    split_depth,
)
from harness.metrics.shared.register import built_in_metrics, find_metric
from qrels import Judged
from runs import InputError

METRICS = built_in_metrics()
WORDS = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
VALUES: st.SearchStrategy[Value] = st.one_of(
    st.integers(-9, 99),
    st.floats(0.01, 99, allow_nan=False),
    WORDS,
    st.dictionaries(st.integers(-1, 9), st.integers(0, 31).map(float), min_size=1, max_size=3),
)


@given(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,5}", fullmatch=True),
    st.dictionaries(WORDS, VALUES, max_size=3),
    st.none() | st.integers(1, 1000),
)
def test_what_is_printed_reads_back_the_same(
    name: str, options: dict[str, Value], cutoff: int | None
) -> None:
    parsed = parse_name(print_name(name, options, cutoff))
    assert (parsed.name, parsed.options, parsed.cutoff) == (name, options, cutoff)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "'' is no metric's name: a metric is written NAME, NAME@10, NAME@all"),
        ("P@", "'P@': behind the @ stands a cut-off, or 'all'"),
        ("nDCG@x", "got 'x'"),
        ("nDCG@-5", "got '-5'"),
        ("nDCG@10@5", "'nDCG@10@5': behind the @ stands"),
        ("P(rel=4", "is no metric's name"),
        ("P(=4)", "'=4' is no option=value"),
        ("P(a b=4)", "'a b=4' is no option=value"),
        ("nDCG(gains={1:x})", "'1:x' is no grade:gain"),
        ("nDCG(gains={1.5:2})", "'1.5:2' is no grade:gain"),
        ("P(rel='a)", r"\"'a\" is no number"),
        ("P(rel='a b')", r"\"'a b'\" is no number"),
        ("P(rel={1:2)", "is no number"),
        ("2P", "'2P' is no metric's name"),
        ("P@0", "a whole number from 1 to 10,000,000, got '0'"),
        ("P(4)", "'4' is no option=value"),
        ("P(rel=1,rel=2)", "the option 'rel' is duplicated"),
        ("P(rel=?)", r"'\?' is no number, no word"),
        ("nDCG(gains={1})", "'1' is no grade:gain"),
    ],
)
def test_what_is_no_name_is_answered_with_the_rule(text: str, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        parse_name(text)


def test_defaults_are_not_printed() -> None:
    @metric("X", source="here")
    def halved(judged: Any, *, cutoff: Any = None, p: Annotated[float, Gt(0), Lt(1)] = 0.5) -> Any:
        return p

    assert halved.with_options({"p": 0.5}).label == "X"
    assert halved.with_options({"p": 0.8, "rel": 2}).label == "X(rel=2,p=0.8)"


def test_an_unknown_option_is_answered_with_those_there_are() -> None:
    with pytest.raises(InputError, match="P has no option 'level'; its options are rel: a whole"):
        find_metric("P(level=4)", METRICS)


@pytest.mark.parametrize("text", ["1", "10", "007", "10000000", "000000000000000010"])
def test_a_cut_off_is_written_in_digits(text: str) -> None:
    assert read_cutoff(text) == int(text)
    assert parse_name(f"P@{text}").cutoff == int(text)


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "+1", "1.0", " 1", "1_0", "10000001", "\u0661", "\u00b2", "", "0" * 18 + "1"],
)
def test_what_is_no_rank_is_no_cut_off(text: str) -> None:
    with pytest.raises(InputError, match="from 1 to 10,000,000, got"):
        read_cutoff(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("P", ("P", None, False)),
        (" P@10 ", ("P", 10, False)),
        ("P@all", ("P", None, True)),
        ("P(rel=2)@3", ("P(rel=2)", 3, False)),
    ],
)
def test_a_name_is_parted_from_its_depth(text: str, parts: tuple[str, int | None, bool]) -> None:
    assert split_depth(text) == parts
    assert parse_name(text).has_depth == ("@" in text)
    assert parse_name(text).is_whole == text.endswith("all")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("+3", 3),
        ("-3", -3),
        (".5", 0.5),
        ("2.", 2.0),
        ("1e-3", 0.001),
        ("true", True),
        ("false", False),
        ("exp", "exp"),
        ("'exp-log2'", "exp-log2"),
        ('"exp"', "exp"),
        ("{1:2, -1:0.5}", {1: 2, -1: 0.5}),
        ("{}", {}),
    ],
)
def test_a_value_is_read_as_what_it_looks_like(text: str, value: Value) -> None:
    (read,) = parse_name(f"X(p={text})").options.values()
    assert (read, type(read)) == (value, type(value))


def test_options_are_parted_by_commas_outside_braces() -> None:
    parsed = parse_name(" ir_measures:X.y-z( a = 1 , gains={1:2,3:4},b=c )@5 ")
    assert parsed.name == "ir_measures:X.y-z"
    assert parsed.options == {"a": 1, "gains": {1: 2, 3: 4}, "b": "c"}
    assert (parsed.cutoff, parsed.label) == (5, "ir_measures:X.y-z(a=1,gains={1:2,3:4},b=c)")
    assert parse_name("P()") == parse_name("P")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (2, "2"),
        (2.0, "2"),
        (0.1, "0.1"),
        ("exp", "exp"),
        ({3: 1.0, 1: 0.5}, "{1:0.5,3:1}"),
    ],
)
def test_a_value_is_printed_as_short_as_it_reads_back(value: Value, text: str) -> None:
    assert print_value(value) == text


def test_a_name_is_printed_with_what_there_is() -> None:
    assert print_name("P", {}) == "P"
    assert print_name("P", {"rel": 2, "condensed": True}, 5) == "P(rel=2,condensed=true)@5"


def test_without_non_relevant_judgements_some_metrics_are_others() -> None:
    lists = Judged(np.array([[np.nan, 1.0, np.nan, 1.0]]), np.ones((1, 3)))
    found = {
        name: float(METRICS[name](lists)[0])
        for name in (*VALUES_WITHOUT_NONRELEVANT, "Recall", "AP")
    }
    assert found["bpref"] == found["Recall"]
    assert found["Recall"] - 0.5 / 3 <= found["infAP"] < found["Recall"]
    assert found["infAP_trec"] == pytest.approx(found["AP"], abs=1e-4)
    assert found["AUC"] == 0
