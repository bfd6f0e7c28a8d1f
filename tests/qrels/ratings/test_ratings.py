"""k-cores, statistics and thresholds of ratings."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Ratings, describe, k_core
from qrels.ratings.statistics import (
    Threshold,
    candidate_thresholds,
    gini,
    proposed_threshold,
    usual_threshold,
)
from runs import InputError, Numbering

Pairs = set[tuple[str, str]]
pairs = st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz")), min_size=1)


def rated(pairs: Pairs) -> Ratings:
    """Ratings of these pairs, numbered over all ids, each with a value of its own."""
    users, items = Numbering.of("abcdef"), Numbering.of("uvwxyz")
    user_ids, item_ids = zip(*sorted(pairs), strict=True)
    values = np.array([ord(user) * 1000.0 + ord(item) for user, item in sorted(pairs)])
    time = values.astype(np.int64)
    return Ratings(users, items, users.numbers(user_ids), items.numbers(item_ids), values, time)


def pairs_of(ratings: Ratings) -> Pairs:
    users, items = ratings.users.ids[ratings.user], ratings.items.ids[ratings.item]
    return set(zip(users.tolist(), items.tolist(), strict=True))


def peeled(pairs: Pairs, user_min: int, item_min: int) -> Pairs:
    """Take one user or item away at a time."""
    for user, item in sorted(pairs):
        of_user = {pair for pair in pairs if pair[0] == user}
        of_item = {pair for pair in pairs if pair[1] == item}
        if len(of_user) < user_min:
            return peeled(pairs - of_user, user_min, item_min)
        if len(of_item) < item_min:
            return peeled(pairs - of_item, user_min, item_min)
    return pairs


@given(pairs, st.integers(0, 3), st.integers(0, 3))
def test_a_core_is_what_peeling_one_at_a_time_leaves(
    pairs: Pairs, user_min: int, item_min: int
) -> None:
    expected = peeled(pairs, user_min, item_min)
    if expected:
        core = k_core(rated(pairs), user_min=user_min, item_min=item_min)
        assert pairs_of(core) == expected
    else:
        with pytest.raises(InputError, match=f"at least {user_min} and every item at least"):
            k_core(rated(pairs), user_min=user_min, item_min=item_min)


@given(pairs)
def test_ratings_and_times_stay_with_their_pairs(pairs: Pairs) -> None:
    core = k_core(rated(pairs), user_min=1)
    users, items = core.users.ids[core.user], core.items.ids[core.item]
    expected = [ord(user) * 1000 + ord(item) for user, item in zip(users, items, strict=True)]
    assert core.rating.tolist() == expected
    assert core.time is not None
    assert core.time.tolist() == expected


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


USERS, ITEMS = Numbering.of("abc"), Numbering.of("wxyz")


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
    effect = Threshold.over(rated_of_thresholds((0, 1.0), (0, 9.0), (2, 9.0)), 9.0)
    assert (effect.without_relevant, effect.without_nonrelevant) == (0.0, 0.5)


def test_the_threshold_that_leaves_fewest_users_without_a_kind_is_proposed() -> None:
    tested = rated_of_thresholds((0, 3.0), (0, 7.0), (1, 6.0), (1, 9.0))
    assert proposed_threshold(tested, (9.0, 7.0, 6.0)) == 7.0


def test_the_lowest_rating_is_no_candidate() -> None:
    assert candidate_thresholds(np.array([1.0] * 6 + [2.0, 3.0])) == (2.0,)
