import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Ratings, Scale, rating_scale
from runs import InputError, Numbering


def rated(*values: float) -> Ratings:
    """One user's ratings of as many items."""
    items = Numbering.of([f"{number:03}" for number in range(len(values))])
    user = np.zeros(len(values), dtype=np.int32)
    item = np.arange(len(values), dtype=np.int32)
    return Ratings(Numbering.of(["ann"]), items, user, item, np.array(values))


def test_integer_ratings_stay() -> None:
    scale = rating_scale(rated(1.0, 5.0))
    assert scale.grades_of(np.array([1.0, 5.0])).tolist() == [1, 5]


def test_half_stars_are_doubled() -> None:
    scale = rating_scale(rated(0.5, 4.0, 5.0))
    assert scale.grades_of(np.array([0.5, 4.0, 5.0])).tolist() == [1, 8, 10]


def test_a_part_with_whole_stars_only_keeps_the_scale_of_the_whole() -> None:
    whole = rated(0.5, 4.0, 5.0)
    part = whole.select(whole.rating > 1)
    assert rating_scale(whole).grades_of(part.rating).tolist() == [8, 10]


def test_the_threshold_is_doubled_with_the_ratings() -> None:
    assert Scale(factor=2).grade_of_threshold(4.0) == 8


@given(
    st.integers(1, 2),
    st.floats(0, 6, exclude_min=True),
    st.integers(0, 12),
)
def test_a_grade_is_relevant_exactly_if_its_rating_is(
    factor: int, threshold: float, grade: int
) -> None:
    scale = Scale(factor=factor)
    rating = grade / factor
    assert (grade >= scale.grade_of_threshold(threshold)) == (rating >= threshold)


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan"), float("inf")])
def test_a_threshold_must_be_above_zero(threshold: float) -> None:
    with pytest.raises(InputError, match=f"threshold must be above 0, got {threshold}"):
        Scale(factor=1).grade_of_threshold(threshold)


def test_other_fractions_are_refused() -> None:
    with pytest.raises(InputError, match=r"must be multiples of 0\.5; found 3\.7\."):
        rating_scale(rated(1.0, 3.7))


def test_negative_ratings_are_to_be_shifted() -> None:
    with pytest.raises(InputError, match=r"must not be negative: shift the scale .* found -2\."):
        rating_scale(rated(-2.0, 3.0))


def test_ratings_off_the_scale_are_refused() -> None:
    with pytest.raises(InputError, match=r"must be multiples of 1; found 0\.5\."):
        Scale(factor=1).grades_of(np.array([0.5]))


def test_ratings_beyond_int32_are_refused() -> None:
    with pytest.raises(InputError, match="must not exceed 2147483647"):
        rating_scale(rated(3e9))
