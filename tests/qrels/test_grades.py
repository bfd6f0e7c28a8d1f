"""Grades of ratings: by values, ranks and cuts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Ratings, Scale, rating_scale
from qrels.grades import GradeRule
from runs import InputError, Numbering


def rated(*values: float) -> Ratings:
    """One user's ratings of as many items."""
    items = Numbering.of([f"{number:03}" for number in range(len(values))])
    user = np.zeros(len(values), dtype=np.int32)
    item = np.arange(len(values), dtype=np.int32)
    return Ratings(Numbering.of(["ann"]), items, user, item, np.array(values))


def scale_of(*values: float, threshold: float = 4.0, rule: GradeRule | None = None) -> Scale:
    return rating_scale(rated(*values), threshold=threshold, rule=rule)


def grades(scale: Scale) -> list[int]:
    return scale.grades.tolist()


@pytest.mark.parametrize(
    ("values", "expected"), [((3.7, 4.0), [37, 40]), ((0.07, 0.5, 1.0), [7, 50, 100])]
)
def test_decimals_are_multiplied_by_the_least_power_of_ten(
    values: tuple[float, ...], expected: list[int]
) -> None:
    assert grades(scale_of(*values, threshold=1.0)) == expected


def test_a_part_with_whole_stars_only_keeps_the_scale_of_the_whole() -> None:
    whole = rated(0.5, 4.0, 5.0)
    part = whole.select(whole.rating > 1)
    assert rating_scale(whole, threshold=4.0).grades_of(part.rating).tolist() == [8, 10]


@pytest.mark.parametrize("threshold", [0.07, 0.061])
def test_the_level_of_decimals_is_no_higher_than_it_must_be(threshold: float) -> None:
    # In binary, 0.07 * 100 is above 7.
    assert scale_of(0.01, 0.07, threshold=threshold).level == 7


def test_negative_scales_are_raised_to_begin_at_0() -> None:
    scale = scale_of(-10.0, 0.0, 7.5, threshold=0.0)
    assert (grades(scale), scale.level) == ([0, 20, 35], 20)
    assert scale.rule == "rating times 2, plus 20"


def test_a_grade_is_the_number_of_cuts_that_a_rating_reaches() -> None:
    scale = scale_of(10.0, 30.0, 59.9, 60.0, 100.0, threshold=60.0, rule=(30.0, 60.0, 90.0))
    assert (grades(scale), scale.level) == ([0, 1, 1, 2, 3], 2)


def test_a_threshold_between_cuts_is_refused() -> None:
    with pytest.raises(
        InputError, match="the threshold 50 must be one of those in `grades`, 30, 60: ra"
    ):
        scale_of(10.0, 40.0, 55.0, threshold=50.0, rule=(30.0, 60.0))


scales = st.lists(st.integers(-40, 40), min_size=1, max_size=9).flatmap(
    lambda numbers: st.sampled_from([1, 2, 10, 100]).map(
        lambda factor: tuple(number / factor for number in numbers)
    )
)


@given(scales, st.floats(-50, 50), st.sampled_from([None, "values", "ranks"]))
def test_a_grade_is_relevant_exactly_if_its_rating_is(
    values: tuple[float, ...], threshold: float, rule: GradeRule | None
) -> None:
    scale = scale_of(*values, threshold=threshold, rule=rule)
    assert scale.level >= 1
    assert (scale.grades >= 0).all()
    assert (np.diff(scale.grades) > 0).all()
    is_relevant = scale.grades_of(np.array(values)) >= scale.level
    assert is_relevant.tolist() == [value >= threshold for value in values]


def test_more_than_three_decimals_have_no_values() -> None:
    with pytest.raises(InputError, match=r"at most three decimals .* found 0\.12345\."):
        scale_of(1.0, 0.12345, rule="values")


def test_ratings_off_the_scale_are_refused() -> None:
    with pytest.raises(InputError, match=r"the rating 0\.5 is not on the scale of the data set"):
        scale_of(0.0, 1.0).grades_of(np.array([0.5]))


@pytest.mark.parametrize(
    ("values", "expected", "rule"),
    [
        ((1.0, 5.0), [1, 5], "rating"),
        ((0.5, 4.0), [1, 8], "rating times 2"),
        ((0.25, 4.0), [25, 400], "rating times 100"),
        ((0.125, 4.0), [125, 4000], "rating times 1000"),
        ((0.0625, 4.0, 4.5), [1, 2, 3], "rank among the 3 distinct ratings"),
        ((1.0, 2.0**31 - 2), [1, 2**31 - 2], "rating"),
        ((1.0, 2.0**31 - 1), [1, 2], "rank among the 2 distinct ratings"),
        ((-(2.0**30), 2.0**30), [1, 2], "rank among the 2 distinct ratings"),
        ((-(2.0**31), 1.0), [1, 2], "rank among the 2 distinct ratings"),
    ],
)
def test_the_first_factor_that_makes_whole_numbers_within_four_bytes_is_taken(
    values: tuple[float, ...], expected: list[int], rule: str
) -> None:
    scale = scale_of(*values, threshold=4.0)
    assert (grades(scale), scale.rule) == (expected, rule)


def test_the_level_of_ranks_is_that_of_the_lowest_relevant_rating() -> None:
    levels = [
        scale_of(1.0, 2.5, 4.0, threshold=threshold, rule="ranks").level
        for threshold in (0.5, 1.0, 1.5, 2.5, 4.0, 4.5)
    ]
    assert levels == [1, 1, 2, 2, 3, 4]


def test_a_level_below_1_is_raised_with_all_grades() -> None:
    scale = scale_of(0.0, 1.0, 2.0, threshold=0.0)
    assert (grades(scale), scale.level, scale.rule) == ([1, 2, 3], 1, "rating, plus 1")
    scale = scale_of(-3.0, 1.0, threshold=-5.0)
    assert (grades(scale), scale.level, scale.rule) == ([3, 7], 1, "rating, plus 6")


def test_a_range_beyond_four_bytes_has_no_values() -> None:
    with pytest.raises(InputError, match=r"a range of at most 2147483647 steps; found -3e\+09\."):
        scale_of(1.0, -3e9, rule="values")


def test_a_rating_has_the_grade_of_its_place_on_the_scale() -> None:
    scale = scale_of(0.5, 4.0, 5.0)
    assert scale.grades_of(np.array([5.0, 0.5, 4.0])).tolist() == [10, 1, 8]
    for odd in (0.0, 4.5, 6.0):
        with pytest.raises(InputError, match="is not on the scale"):
            scale.grades_of(np.array([5.0, odd]))


def test_numbers_between_ratings_have_the_grade_of_the_nearest_on_their_side_of_the_threshold() -> (
    None
):
    """Of 1, 3, 4 and 5: halfway counts up, 3.6 is nearer to 4 but below it, and 3.5 too."""
    scale = scale_of(1.0, 3.0, 4.0, 5.0)
    numbers = np.array([0.0, 1.9, 2.0, 3.4, 3.6, 3.99, 4.0, 4.49, 4.5, 9.0])
    assert scale.nearest_grades(numbers).tolist() == [1, 1, 3, 3, 3, 3, 4, 4, 5, 5]
    high = scale_of(1.0, 3.0, 5.0, threshold=3.5)
    assert high.nearest_grades(np.array([3.4, 3.5, 3.9, 4.0])).tolist() == [3, 4, 4, 5]


def test_cuts_may_be_reached() -> None:
    scale = scale_of(1.0, 2.0, 3.0, threshold=2.0, rule=(2.0,))
    assert (grades(scale), scale.level) == ([0, 1, 1], 1)
    assert scale.rule == "number of the cuts 2 that the rating reaches"
