from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Ratings, describe
from qrels.ratings.statistics import Spread, gini
from runs import InputError, Numbering

# Users a, b, c and items w, x, y, z; nobody rates z and c rates nothing.
USERS = Numbering.of("abc")
ITEMS = Numbering.of("wxyz")
RATINGS = Ratings(
    USERS,
    ITEMS,
    user=np.array([0, 0, 0, 1], dtype=np.int32),
    item=np.array([0, 1, 2, 1], dtype=np.int32),
    rating=np.array([5.0, 0.5, 5.0, 3.0]),
    time=np.array([86_400, 0, 5, 7]),
)


def test_only_users_and_items_with_ratings_count() -> None:
    statistics = describe(RATINGS)
    assert (statistics.users, statistics.items, statistics.ratings) == (2, 3, 4)
    assert statistics.density == 4 / 6


def test_spreads_are_of_ratings_per_user_and_per_item() -> None:
    statistics = describe(RATINGS)
    assert statistics.user_ratings == Spread(minimum=1, median=2.0, maximum=3)
    assert statistics.item_ratings == Spread(minimum=1, median=1.0, maximum=2)


def test_the_scale_is_the_distinct_ratings() -> None:
    assert describe(RATINGS).scale == (0.5, 3.0, 5.0)


def test_times_are_shown_as_dates_in_utc() -> None:
    row = describe(RATINGS).to_frame().iloc[0]
    assert (row["first"], row["last"]) == ("1970-01-01 00:00:00+00:00", "1970-01-02 00:00:00+00:00")


def test_without_times_there_is_no_range() -> None:
    untimed = Ratings(USERS, ITEMS, RATINGS.user, RATINGS.item, RATINGS.rating)
    assert (describe(untimed).first, describe(untimed).last) == (None, None)


def test_a_frame_is_one_row_that_begins_as_table_2_does() -> None:
    frame = describe(RATINGS).to_frame()
    assert list(frame.columns[:5]) == ["users", "items", "ratings", "density", "gini"]
    assert len(frame) == 1


def test_nothing_cannot_be_described() -> None:
    with pytest.raises(InputError, match="there are no ratings"):
        describe(RATINGS.select(np.zeros(4, dtype=np.bool_)))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12).filter(any))
def test_gini_is_half_the_relative_mean_absolute_difference(counts: list[int]) -> None:
    differences = [abs(one - other) for one, other in product(counts, counts)]
    expected = np.mean(differences) / np.mean(counts) / 2
    assert gini(np.array(counts)) == pytest.approx(expected, abs=1e-12)


def test_gini_of_one_who_has_everything_is_one_less_a_share() -> None:
    assert gini(np.array([0, 0, 9, 0])) == 0.75
