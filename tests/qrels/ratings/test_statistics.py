"""Statistics of ratings, and thresholds."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Ratings, describe
from qrels.ratings.statistics import (
    Threshold,
    candidate_thresholds,
    describe_values,
    gini,
    propose_threshold,
    usual_threshold,
)
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
    found = describe(RATINGS)
    assert (found["users"], found["items"], found["ratings"], found["density"]) == (2, 3, 4, 4 / 6)


def test_spreads_are_of_ratings_per_user_and_per_item() -> None:
    found = describe(RATINGS)
    parts = ("minimum", "median", "maximum")
    assert [found[f"user_{part}"] for part in parts] == [1, 2.0, 3]
    assert [found[f"item_{part}"] for part in parts] == [1, 1.0, 2]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12).filter(any))
def test_gini_is_half_the_relative_mean_absolute_difference(counts: list[int]) -> None:
    differences = [abs(one - other) for one, other in product(counts, counts)]
    expected = np.mean(differences) / np.mean(counts) / 2
    assert gini(np.array(counts)) == pytest.approx(expected, abs=1e-12)


def rated_of_thresholds(*rows: tuple[int, float]) -> Ratings:
    """Ratings of users, who rate one item after another."""
    user = np.array([user for user, _ in rows], dtype=np.int32)
    item = np.concatenate([np.arange(n, dtype=np.int32) for n in np.bincount(user)])
    return Ratings(USERS, ITEMS, user, item, np.array([value for _, value in rows]))


@pytest.mark.parametrize(("low", "high", "usual"), [(1, 5, 4.0), (0.5, 5, 4.0), (1, 10, None)])
def test_only_scales_that_end_at_5_have_a_usual_threshold(
    low: float, high: float, usual: float | None
) -> None:
    assert usual_threshold(rated_of_thresholds((0, low), (0, high))) == usual


def test_users_without_ratings_do_not_count() -> None:
    effect = Threshold.evaluate(rated_of_thresholds((0, 1.0), (0, 9.0), (2, 9.0)), 9.0)
    assert (effect.without_relevant, effect.without_nonrelevant) == (0.0, 0.5)


def test_the_threshold_that_leaves_fewest_users_without_a_kind_is_proposed() -> None:
    tested = rated_of_thresholds((0, 3.0), (0, 7.0), (1, 6.0), (1, 9.0))
    assert propose_threshold(tested, (9.0, 7.0, 6.0)) == 7.0


def test_the_lowest_rating_is_no_candidate() -> None:
    assert candidate_thresholds(np.array([1.0] * 6 + [2.0, 3.0])) == (2.0,)


def test_ratings_and_times_are_described() -> None:
    found = describe(RATINGS)
    assert found["lowest_rating"] == 0.5
    assert found["highest_rating"] == 5.0
    assert found["distinct_ratings"] == 3
    assert found["first"] == "1970-01-01 00:00:00+00:00"
    assert found["last"] == "1970-01-02 00:00:00+00:00"
    assert found["gini"] == pytest.approx((0 * 1 - 2 * 1 + 2 * 2) / (3 * 4))
    timeless = Ratings(USERS, ITEMS, RATINGS.user, RATINGS.item, RATINGS.rating)
    assert "first" not in describe(timeless)
    assert "last" not in describe(timeless)
    with pytest.raises(InputError, match="no ratings to describe"):
        describe(RATINGS.select(RATINGS.item == 3))


@pytest.mark.parametrize(
    ("low", "high", "usual"), [(0, 5, 4.0), (-1, 5, None), (5, 5, None), (1, 4, None)]
)
def test_a_usual_scale_begins_at_0_or_above_and_ends_at_5(
    low: float, high: float, usual: float | None
) -> None:
    assert usual_threshold(rated_of_thresholds((0, low), (0, high))) == usual


def test_what_a_threshold_makes_of_ratings_is_counted() -> None:
    """Users 0, 1 and 2: ratings 3 and 4, 4 alone, 1 and 2 and 3; 4 is reached by two of six."""
    tested = rated_of_thresholds((0, 3.0), (0, 4.0), (1, 4.0), (2, 1.0), (2, 2.0), (2, 3.0))
    effect = Threshold.evaluate(tested, 4.0)
    assert effect == Threshold(4.0, 2 / 6, 1 / 3, 1 / 3)
    assert str(effect) == (
        "threshold = 4: 33 % of the test ratings are relevant; 33 % of the users have no relevant "
        "test item, 33 % no judged non-relevant one."
    )


def test_candidates_are_the_quartiles_from_the_highest_down() -> None:
    """Of 1 to 8, at least three quarters are up to 7, half up to 5, a quarter up to 3."""
    assert candidate_thresholds(np.arange(1.0, 9.0)) == (7.0, 5.0, 3.0)
    assert candidate_thresholds(np.array([3.0, 3.0, 3.0, 3.0, 5.0])) == (5.0,)
    assert candidate_thresholds(np.array([3.0, 3.0])) == (3.0,)


def test_up_to_eleven_ratings_are_told_one_by_one() -> None:
    assert describe_values(np.array([1.0, 2.5, 2.5, 5.0])) == "1 (25 %), 2.5 (50 %), 5 (25 %)"
    assert describe_values(np.arange(11.0)).count("(9 %)") == 11
    assert describe_values(np.arange(13.0)) == (
        "from 0 to 12; a quarter up to 3, half up to 6, three quarters up to 9"
    )
