import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.clicks.click_question import LONGEST, in_words, milliseconds


@given(st.integers(0, 10**12))
def test_durations_are_read_as_they_are_written(duration: int) -> None:
    assert milliseconds(in_words(duration)) == duration


@pytest.mark.parametrize("text", ["10", "", "min", "half an hour", "-5 min", "5 fortnights"])
def test_a_duration_without_a_number_and_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be a number with a unit \(ms, s, min, h, d\), got"):
        milliseconds(text)


def test_a_duration_beyond_all_logs_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a number with a unit"):
        milliseconds(f"{LONGEST} ms")
