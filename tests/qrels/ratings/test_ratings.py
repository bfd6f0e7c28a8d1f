"""Ratings, splits and k-cores."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Ratings, Split, k_core
from qrels.ratings.ratings import drop_rare, renumber
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


# Users a, b and c and items w, x, y and z; nobody rates z and c rates nothing.
USERS, ITEMS = Numbering.of("abc"), Numbering.of("wxyz")
RATINGS = Ratings(
    USERS,
    ITEMS,
    user=np.array([0, 0, 0, 1], dtype=np.int32),
    item=np.array([0, 1, 2, 1], dtype=np.int32),
    rating=np.array([5.0, 0.5, 4.0, 3.0]),
    time=np.array([86_400, 0, 5, 7]),
    held_out=np.array([True, False, False, True]),
)


def test_ratings_are_counted_by_user_and_item_and_laid_in_a_matrix() -> None:
    assert len(RATINGS) == 4
    assert RATINGS.user_counts().tolist() == [3, 1, 0]
    assert RATINGS.item_counts().tolist() == [1, 2, 1, 0]
    matrix = RATINGS.matrix()
    assert matrix.toarray().tolist() == [[5, 0.5, 4, 0], [0, 3, 0, 0], [0, 0, 0, 0]]
    assert matrix.dtype == np.float64


def test_all_columns_are_selected_together() -> None:
    some = RATINGS.select(RATINGS.item == 1)
    assert some.rating.tolist() == [0.5, 3]
    assert some.time is not None
    assert some.time.tolist() == [0, 7]
    assert some.held_out is not None
    assert some.held_out.tolist() == [False, True]
    assert some.users is USERS


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"rating": np.ones(3)}, "must have one length"),
        ({"time": np.ones(3, dtype=np.int64)}, "must have one length"),
        ({"held_out": np.ones(3, dtype=bool)}, "must have one length"),
        ({"item": np.array([0, 1, 1, 1], dtype=np.int32)}, "sorted by .user, item., each pair"),
        ({"item": np.array([0, 2, 1, 1], dtype=np.int32)}, "sorted by .user, item., each pair"),
        ({"user": np.array([1, 1, 1, 0], dtype=np.int32)}, "sorted by .user, item., each pair"),
        ({"rating": np.array([1, 1, np.inf, 1])}, "must be finite"),
        ({"rating": np.array([1, np.nan, 1, 1])}, "must be finite"),
    ],
)
def test_columns_that_break_a_rule_are_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        replace(RATINGS, **changes)


def test_a_split_has_one_numbering_and_topics_are_its_test_users() -> None:
    parts = Split(RATINGS.select(RATINGS.item == 0), RATINGS.select(RATINGS.item > 0))
    assert parts.test_users.tolist() == [0, 1]
    assert parts.topics.ids.tolist() == ["a", "b"]
    for name, ids in (("users", "abc"), ("items", "wxyz")):
        changes: dict[str, Any] = {name: Numbering.of(ids)}
        other = replace(parts.test, **changes)
        with pytest.raises(InputError, match="must share one numbering"):
            Split(parts.train, other)


def test_users_and_items_with_enough_are_kept_and_numbered_anew() -> None:
    """Item y has one rating, and so has user b; all are counted before one is left out."""
    few = drop_rare(RATINGS, user_min=1, item_min=2)
    assert pairs_of(few) == {("a", "x"), ("b", "x")}
    none = drop_rare(RATINGS, user_min=3, item_min=2)
    assert pairs_of(none) == {("a", "x")}
    numbered = renumber(none)
    assert (numbered.users.ids.tolist(), numbered.items.ids.tolist()) == (["a"], ["x"])
    assert (numbered.user.tolist(), numbered.item.tolist()) == ([0], [0])


def test_a_core_has_no_minima_if_none_are_said() -> None:
    core = k_core(RATINGS)
    assert len(core) == 4
    assert (core.users.ids.tolist(), core.items.ids.tolist()) == (["a", "b"], ["w", "x", "y"])
