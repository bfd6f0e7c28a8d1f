import pytest
from pydantic import ValidationError

from analyses.online.clicks.click_question import Question, read_pairs


@pytest.mark.parametrize("text", ["A", "A=", "=1", "A=0", "A=half", "A=nan", "A=inf", "A=1,A=1"])
def test_shares_must_be_one_positive_number_for_each_arm(text: str) -> None:
    with pytest.raises(
        ValidationError, match=r"must be a value for each name|number|greater than 0"
    ):
        Question.model_validate({"explicit": True, "shares": text})


def test_an_arm_may_have_an_equals_sign_in_its_name() -> None:
    assert read_pairs("k=10=0.5,k=20=0.5") == {"k=10": "0.5", "k=20": "0.5"}


def test_a_question_may_be_asked_in_words() -> None:
    asked = Question.model_validate({"window": "30 min", "shares": "A=0.9,B=0.1"})
    assert asked == Question(window=1_800_000, shares={"A": 0.9, "B": 0.1})


def test_implicit_clicks_need_a_window() -> None:
    with pytest.raises(ValidationError, match="such as --window '30 min'"):
        Question()


def test_explicit_clicks_have_no_window() -> None:
    with pytest.raises(ValidationError, match="give one of them"):
        Question(window=3_600_000, explicit=True)


def test_the_question_says_when_a_list_is_accepted() -> None:
    assert "within 30 min" in Question(window=1_800_000).accepted_when()
    assert "names it" in Question(explicit=True).accepted_when()
