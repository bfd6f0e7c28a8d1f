"""Splits: counts, leakage counted by hand, orders of ratings, and splits in files of users."""

from pathlib import Path

import numpy as np
import pytest

from qrels import Ratings, Split, find_split, split_counts
from qrels.ratings.splits.global_time import global_time
from qrels.ratings.splitter import (
    NEWER_TRAINING,
    OLDER_TESTS,
    SplitSettings,
    hold_out_last,
    is_user_split,
    leakage,
    n_test_by_share,
    n_test_of_one,
    order_in_time,
    random_order,
    random_order_by_item,
    rounded_share,
    split,
    splits,
)
from runs import InputError, Numbering
from runs.shared.streams import id_hashes, splitmix64
from tests.qrels.ratings.splits.tables import Table, divide, ratings_of, table_of


def some_ratings(seed: int) -> Ratings:
    draw = np.random.default_rng(seed)
    users, items = (Numbering.of([f"{side}{n:02}" for n in range(12)]) for side in "ui")
    user, item = np.nonzero(draw.random((12, 12)) < 0.6)
    time = draw.integers(0, 40, len(user))
    columns = user.astype(np.int32), item.astype(np.int32), np.ones(len(user)), time
    return Ratings(users, items, *columns)


@pytest.mark.parametrize("method", ["user-random", "user-last", "global-time"])
@pytest.mark.parametrize("seed", range(3))
def test_every_training_rating_is_compared_with_every_test_rating(method: str, seed: int) -> None:
    split = find_split(method)(some_ratings(seed), seed=seed)
    train, test = split.train, split.test
    assert train.time is not None
    assert test.time is not None
    older, newer = [], []
    for user, time in zip(test.user, test.time, strict=True):
        own = train.time[train.user == user]
        older.append(bool((own > time).any()))
        newer.append(np.mean(train.time > time))
    found = leakage(split)
    assert found[OLDER_TESTS] == pytest.approx(np.mean(older))
    assert found[NEWER_TRAINING] == pytest.approx(np.mean(newer))


def test_a_split_by_a_point_in_time_tells_nothing_of_the_future() -> None:
    split = find_split("global-time")(some_ratings(1), seed=1)
    assert set(leakage(split).values()) == {0.0}


def test_ratings_without_times_have_no_leakage() -> None:
    ratings = some_ratings(1)
    timeless = Ratings(ratings.users, ratings.items, ratings.user, ratings.item, ratings.rating)
    assert leakage(find_split("user-random")(timeless, seed=1)) == {}


def test_cold_users_are_dropped_and_counted() -> None:
    ratings = ratings_of({("ann", "a"): 1, ("ann", "b"): 5, ("dan", "c"): 6, ("dan", "a"): 7})
    split = divide(global_time, ratings, seed=1, cut=5)
    assert split_counts(ratings, split) == {
        "train_ratings": 1,
        "test_ratings": 1,
        "dropped_ratings": 2,
        "test_users": 1,
        "train_only_users": 0,
        "dropped_users": 1,
        "cold_users": 0,
        "cold_items": 1,
    }


def test_what_becomes_of_ratings_is_counted() -> None:
    """Ann trains a and tests b; bob trains a alone; cid tests c alone; dan is dropped."""
    table: Table = {
        ("ann", "a"): 1,
        ("ann", "b"): 1,
        ("bob", "a"): 1,
        ("bob", "b"): 1,
        ("cid", "c"): 1,
        ("dan", "d"): 1,
        ("dan", "e"): 1,
    }
    ratings = ratings_of(table)
    train = np.array([True, False, True, True, False, False, False])
    test = np.array([False, True, False, False, True, False, False])
    parts = Split(ratings.select(train), ratings.select(test))
    assert split_counts(ratings, parts) == {
        "train_ratings": 3,
        "test_ratings": 2,
        "dropped_ratings": 2,
        "test_users": 2,
        "train_only_users": 1,
        "dropped_users": 1,
        "cold_users": 1,
        "cold_items": 1,
    }


def test_a_part_without_ratings_has_no_leakage() -> None:
    ratings = some_ratings(1)
    nothing = ratings.select(np.zeros(len(ratings), dtype=bool))
    assert leakage(Split(ratings, nothing)) == {}
    assert leakage(Split(nothing, ratings)) == {}


def test_ratings_of_one_second_are_neither_older_nor_newer() -> None:
    one_second = ratings_of({("ann", "a"): 5, ("ann", "b"): 5, ("bob", "a"): 5})
    tested = one_second.item == 1
    found = leakage(Split(one_second.select(~tested), one_second.select(tested)))
    assert found == {OLDER_TESTS: 0.0, NEWER_TRAINING: 0.0}


@pytest.mark.parametrize(
    ("share", "n", "expected"),
    [(0.2, 2, 0), (0.2, 3, 1), (0.5, 1, 1), (0.5, 3, 2), (0.25, 2, 1), (0.29, 50, 15), (0.1, 0, 0)],
)
def test_shares_are_rounded_as_they_are_written_halves_up(
    share: float, n: int, expected: int
) -> None:
    assert rounded_share(share, n) == expected


def test_all_but_one_rating_of_a_user_are_tested_at_the_most() -> None:
    """Users of 1, 2 and 4 ratings, and one of none."""
    table = {("a", "x"): 0, **{("b", i): 0 for i in "xy"}, **{("c", i): 0 for i in "vwxy"}}
    ratings = ratings_of({**table, ("d", "x"): 0})
    ratings = ratings.select(ratings.user < 3)
    assert n_test_by_share(ratings, 0.9).tolist() == [0, 1, 3, 0]
    assert n_test_by_share(ratings, 0.3).tolist() == [0, 1, 1, 0]
    assert n_test_of_one(ratings).tolist() == [0, 1, 1, 0]


def test_the_last_in_order_are_tested() -> None:
    ratings = ratings_of({("a", "x"): 0, ("a", "y"): 0, ("a", "z"): 0, ("b", "x"): 0})
    parts = hold_out_last(ratings, np.array([2, 0, 1, 0]), np.array([2, 0]))
    assert set(table_of(parts.test)) == {("a", "x"), ("a", "z")}
    assert set(table_of(parts.train)) == {("a", "y"), ("b", "x")}


def test_ratings_of_a_user_are_ordered_in_time_and_then_by_item_or_at_random() -> None:
    ratings = ratings_of(
        {("a", "w"): 5, ("a", "x"): 1, ("a", "y"): 5, ("a", "z"): 5, ("b", "w"): 2, ("b", "z"): 1}
    )
    assert order_in_time(ratings, "item", seed=1).tolist() == [1, 0, 2, 3, 1, 0]
    orders = {tuple(order_in_time(ratings, "random", seed=seed).tolist()) for seed in range(30)}
    assert {(first, rest[0]) for first, *rest in orders} == {(1, 0), (2, 0), (3, 0)}
    assert len(orders) == 6


def test_random_orders_are_those_of_hashes_of_seed_user_and_item() -> None:
    """By the documented keys: a study of the past is split alike by every version."""
    ratings = ratings_of({(user, item): 0 for user in "abc" for item in "wxyz"})
    users = id_hashes(ratings.users.ids, "user 7")
    keys = splitmix64(users[ratings.user] + id_hashes(ratings.items.ids, "item")[ratings.item])
    by_user = np.argsort(np.argsort(keys.reshape(3, 4), axis=1), axis=1)
    assert random_order(ratings, 7).tolist() == by_user.ravel().tolist()
    by_item = np.argsort(np.argsort(keys.reshape(3, 4), axis=0), axis=0)
    assert random_order_by_item(ratings, 7).tolist() == by_item.ravel().tolist()


def test_a_split_has_its_defaults_where_nothing_is_said() -> None:
    seen = []

    @split("noting", source="-")
    def noting(ratings: Ratings, settings: SplitSettings, *, seed: int) -> Split:
        seen.append((settings, seed))
        return Split(ratings, ratings)

    ratings = some_ratings(1)
    own = SplitSettings()
    noting(ratings, seed=3)
    noting(ratings, own, seed=4)
    assert seen[0] == (SplitSettings(), 3)
    assert seen[1][0] is own
    assert own.find_parts() is None
    assert own.within_training() is own


def test_splits_are_those_of_the_folder() -> None:
    assert [*splits()] == [
        *("given", "global-time", "k-fold", "leave-one-out-last", "leave-one-out-random"),
        *("popularity-percentile", "uniform-items", "user-last", "user-random"),
    ]
    assert [is_user_split(name) for name in ("a.py", "k-fold")] == [True, False]
    assert find_split("k-fold") is splits()["k-fold"]


RATINGS = ratings_of({("ann", "a"): 1, ("ann", "b"): 2, ("bob", "a"): 3})
HEAD = "from qrels import Ratings, Split, SplitSettings, split\n\n"
DECLARED = (
    HEAD
    + """@split("mine", source="-")
def mine(ratings: Ratings, settings: SplitSettings, *, seed: int) -> Split:
    tested = ratings.item == 1
"""
)


def divided(text: str, folder: Path) -> Split:
    path = folder / "my_split.py"
    path.write_text(text)
    return find_split(str(path))(RATINGS, seed=1)


def test_a_file_of_a_user_is_a_split(tmp_path: Path) -> None:
    split = divided(
        DECLARED + "    return Split(ratings.select(~tested), ratings.select(tested))\n", tmp_path
    )
    assert split.test.items.ids[split.test.item].tolist() == ["b"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD, r"my_split\.py: one function must be declared with @split"),
        (DECLARED + "    return ratings\n", "the split 'mine' must return a Split, got Ratings"),
        (DECLARED + "    return tested.no\n", r"'mine' fails in .*my_split\.py, line 6: Attr"),
        (
            DECLARED + "    return Split(ratings, ratings.select(tested))\n",
            "the split 'mine' tests 1 of the ratings that it trains on",
        ),
        (
            DECLARED + "    from qrels import k_core\n    small = k_core(ratings, user_min=2)\n"
            "    return Split(small, small.select(small.item > 9))\n",
            "the split 'mine' must keep the numbers of users and items",
        ),
    ],
)
def test_a_file_that_does_not_split_is_answered(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        divided(text, tmp_path)


def test_a_file_that_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.py: the file of the split does not exist"):
        find_split(str(tmp_path / "no.py"))


def test_numbers_of_test_ratings_are_of_users() -> None:
    ratings = some_ratings(1)
    position = np.arange(len(ratings))
    n_users = len(ratings.users)
    with pytest.raises(ValueError, match=rf"`n_test` of {n_users} users, got shapes"):
        hold_out_last(ratings, position, np.ones(len(ratings), dtype=np.intp))
    with pytest.raises(ValueError, match="`position` must be of"):
        hold_out_last(ratings, position[1:], np.ones(n_users, dtype=np.intp))
