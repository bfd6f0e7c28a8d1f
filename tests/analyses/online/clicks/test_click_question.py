import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.clicks.click_question import (
    Question,
    in_words,
    parse_duration,
    parse_shares,
    question_of,
)
from runs import InputError


@given(st.integers(0, 10**12))
def test_durations_are_read_as_they_are_written(duration: int) -> None:
    assert parse_duration(in_words(duration)) == duration


@pytest.mark.parametrize("text", ["10", "", "half an hour", "-5 min", "5 m", "1e3 s", "5 min 3 s"])
def test_a_duration_without_a_number_and_unit_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"must be a number with a unit \(ms, s, min, h, d\), got"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["A", "A=", "=1", "A=0", "A=half", "A=nan", "A=inf", "A=1,A=1"])
def test_shares_must_be_one_positive_number_for_each_arm(text: str) -> None:
    with pytest.raises(InputError, match="`--shares` must be one positive number for each arm"):
        parse_shares(text)


def test_an_arm_may_have_an_equals_sign_in_its_name() -> None:
    assert parse_shares("k=10=0.5,k=20=0.5") == {"k=10": 0.5, "k=20": 0.5}


def test_implicit_clicks_need_a_window() -> None:
    with pytest.raises(InputError, match="such as --window '30 min'"):
        question_of(window=None, explicit=False, shares=None)


def test_explicit_clicks_have_no_window() -> None:
    with pytest.raises(InputError, match="give one of them"):
        question_of(window="1 h", explicit=True, shares=None)


def test_the_question_says_when_a_list_is_accepted() -> None:
    assert "within 30 min" in Question(window=1_800_000).accepted_when()
    assert "names it" in Question(window=None).accepted_when()
