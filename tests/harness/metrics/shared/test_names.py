from typing import Annotated, Any

import pytest
from annotated_types import Gt, Lt
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.shared.metric import metric
from harness.metrics.shared.names import Value, parse_name, print_name
from harness.metrics.shared.register import built_in_metrics, find_metric
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
