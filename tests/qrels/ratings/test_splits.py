from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Ratings, Split
from qrels.ratings.splits import (
    SPLITS,
    SplitCounts,
    global_time,
    k_fold,
    leave_one_out_last,
    leave_one_out_random,
    user_last,
    user_random,
)
from runs import InputError, Numbering

Cell = tuple[str, str]
Table = dict[Cell, int]


def ratings_of(table: Table) -> Ratings:
    users = Numbering.of([user for user, _ in table])
    items = Numbering.of([item for _, item in table])
    cells = sorted(table)
    times = np.array([table[cell] for cell in cells], dtype=np.int64)
    return Ratings(
        users,
        items,
        users.numbers([user for user, _ in cells]),
        items.numbers([item for _, item in cells]),
        rating=np.ones(len(cells)),
        time=times,
    )


def table_of(ratings: Ratings) -> Table:
    assert ratings.time is not None
    users, items = ratings.users.ids[ratings.user], ratings.items.ids[ratings.item]
    return dict(
        zip(
            zip(users.tolist(), items.tolist(), strict=True),
            ratings.time.tolist(),
            strict=True,
        )
    )


def drawn_tables(function: Callable[..., object]) -> list[Table]:
    """Read the three tables side by side in a docstring: ratings, train, test."""
    tables: list[Table] = [{}, {}, {}]
    for line in (function.__doc__ or "").splitlines():
        user, *cells = line.split() or [""]
        if len(cells) == 15 and all(cell == "." or cell.isdigit() for cell in cells):
            for column, cell in enumerate(cells):
                if cell != ".":
                    tables[column // 5][user, "abcde"[column % 5]] = int(cell)
    return tables


def without_times(ratings: Ratings) -> Ratings:
    return Ratings(ratings.users, ratings.items, ratings.user, ratings.item, ratings.rating)


tables = st.dictionaries(
    st.tuples(st.sampled_from(["ann", "bob", "cid", "dan"]), st.sampled_from("abcdefghijkl")),
    st.integers(0, 5),
    min_size=1,
)
shares = st.sampled_from([0.1, 0.2, 0.25, 1 / 3, 0.5, 0.9, Fraction(1, 3)])
seeds = st.integers(0, 2**32)
SPLITTERS_BY_USER: dict[str, Callable[[Ratings, int], Split]] = {
    "user_random": lambda ratings, seed: user_random(ratings, test_share=0.4, seed=seed),
    "user_last": lambda ratings, seed: user_last(ratings, test_share=0.4),
    "user_last, random ties": lambda ratings, seed: user_last(
        ratings, test_share=0.4, time_ties="random", seed=seed
    ),
    "leave_one_out_random": lambda ratings, seed: leave_one_out_random(ratings, seed=seed),
    "leave_one_out_last": lambda ratings, seed: leave_one_out_last(ratings),
    "k_fold": lambda ratings, seed: k_fold(ratings, folds=3, seed=seed)[0],
}
by_user = pytest.mark.parametrize("split", SPLITTERS_BY_USER.values(), ids=SPLITTERS_BY_USER)
seeded = pytest.mark.parametrize(
    "split",
    [
        SPLITTERS_BY_USER[name]
        for name in ("user_random", "user_last, random ties", "leave_one_out_random", "k_fold")
    ],
)


def first(split: Split | Sequence[Split]) -> Split:
    return split if isinstance(split, Split) else split[0]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("user-random", {"test_share": 0.4, "seed": 1}),
        ("user-last", {"test_share": 0.4}),
        ("leave-one-out-random", {"seed": 1}),
        ("leave-one-out-last", {}),
        ("global-time", {"cut": 5}),
        ("k-fold", {"folds": 2, "seed": 1}),
    ],
)
def test_the_tables_drawn_in_the_docstrings_are_true(
    method: str, options: dict[str, float]
) -> None:
    ratings, train, test = drawn_tables(SPLITS[method])
    split = first(SPLITS[method](ratings_of(ratings), **options))
    assert (table_of(split.train), table_of(split.test)) == (train, test)


def test_all_methods_of_study_files_are_registered() -> None:
    assert set(SPLITS) == {
        "user-random",
        "user-last",
        "leave-one-out-random",
        "leave-one-out-last",
        "global-time",
        "k-fold",
    }


@by_user
@given(table=tables, seed=seeds)
def test_train_and_test_are_disjoint_and_complete(
    split: Callable[[Ratings, int], Split], table: Table, seed: int
) -> None:
    parts = split(ratings_of(table), seed)
    train, test = table_of(parts.train), table_of(parts.test)
    assert train.keys().isdisjoint(test)
    assert train | test == table


@by_user
@given(table=tables, seed=seeds)
def test_every_test_user_keeps_a_training_rating(
    split: Callable[[Ratings, int], Split], table: Table, seed: int
) -> None:
    parts = split(ratings_of(table), seed)
    assert np.isin(parts.test_users, parts.train.user).all()


@by_user
@given(table=tables, seed=seeds)
def test_removing_a_user_leaves_the_others_unchanged(
    split: Callable[[Ratings, int], Split], table: Table, seed: int
) -> None:
    removed = min(table)[0]
    others = {cell: time for cell, time in table.items() if cell[0] != removed}
    whole = table_of(split(ratings_of(table), seed).test)
    expected = {cell: time for cell, time in whole.items() if cell[0] != removed}
    found = table_of(split(ratings_of(others), seed).test) if others else {}
    assert found == expected


@seeded
def test_equal_seeds_agree(split: Callable[[Ratings, int], Split], large: Ratings) -> None:
    one, other = split(large, 5), split(large, 5)
    assert table_of(one.test) == table_of(other.test)


@seeded
def test_other_seeds_give_other_splits(
    split: Callable[[Ratings, int], Split], large: Ratings
) -> None:
    assert table_of(split(large, 5).test) != table_of(split(large, 6).test)


@pytest.fixture
def large() -> Ratings:
    """100 users rate 20 items each, all in one second."""
    return ratings_of({(f"u{user}", f"i{item}"): 0 for user in range(100) for item in range(20)})


@given(table=tables, share=shares, seed=seeds)
def test_users_test_the_rounded_share_but_never_all(
    table: Table, share: float | Fraction, seed: int
) -> None:
    ratings = ratings_of(table)
    exact = Fraction(str(share))
    expected = [min(int(exact * n + Fraction(1, 2)), n - 1) for n in ratings.user_counts().tolist()]
    for split in (
        user_random(ratings, test_share=share, seed=seed),
        user_last(ratings, test_share=share),
    ):
        assert split.test.user_counts().tolist() == expected


def test_a_share_means_what_is_written_not_its_nearest_float() -> None:
    # 0.29 * 50 + 0.5 is 14.999999999999998 in floating point, and 15 in truth.
    ratings = ratings_of({("ann", f"i{item}"): item for item in range(50)})
    assert len(user_last(ratings, test_share=0.29).test) == 15


@given(table=tables)
def test_the_latest_ratings_are_tested(table: Table) -> None:
    split = user_last(ratings_of(table), test_share=0.4)
    train, test = table_of(split.train), table_of(split.test)
    for (user, item), time in test.items():
        earlier = [(t, i) for (u, i), t in train.items() if u == user]
        assert max(earlier) < (time, item)


@given(table=tables, seed=seeds)
def test_random_ties_never_put_a_later_rating_before_an_earlier_one(
    table: Table, seed: int
) -> None:
    split = user_last(ratings_of(table), test_share=0.4, time_ties="random", seed=seed)
    train, test = table_of(split.train), table_of(split.test)
    for (user, _), time in test.items():
        assert max(t for (u, _), t in train.items() if u == user) <= time


@given(table=tables, seed=seeds)
def test_leaving_one_out_tests_one_rating_of_each_user_with_two(table: Table, seed: int) -> None:
    ratings = ratings_of(table)
    expected = (ratings.user_counts() >= 2).astype(int).tolist()
    for split in (leave_one_out_random(ratings, seed=seed), leave_one_out_last(ratings)):
        assert split.test.user_counts().tolist() == expected


@given(table=tables, folds=st.integers(2, 6), seed=seeds)
def test_folds_partition_the_ratings_of_users_with_two(table: Table, folds: int, seed: int) -> None:
    ratings = ratings_of(table)
    tested = [
        cell for split in k_fold(ratings, folds=folds, seed=seed) for cell in table_of(split.test)
    ]
    users = [user for user, _ in table]
    assert sorted(tested) == sorted(cell for cell in table if users.count(cell[0]) >= 2)


@given(table=tables, folds=st.integers(2, 6), seed=seeds)
def test_folds_are_balanced_within_each_user(table: Table, folds: int, seed: int) -> None:
    ratings = ratings_of(table)
    sizes = np.array(
        [split.test.user_counts() for split in k_fold(ratings, folds=folds, seed=seed)]
    )
    assert (sizes.max(axis=0) - sizes.min(axis=0) <= 1).all()


def test_no_fold_is_favoured(large: Ratings) -> None:
    sizes = [len(split.test) for split in k_fold(large, folds=3, seed=1)]
    # 667 expected; a user's odd two ratings fall on the same folds for everyone otherwise.
    assert max(sizes) - min(sizes) < 60


def test_every_rating_is_equally_likely_to_be_tested(large: Ratings) -> None:
    tested = np.zeros(len(large.items))
    for seed in range(50):
        tested += user_random(large, test_share=0.25, seed=seed).test.item_counts()
    # 5,000 draws at 1/4: mean 1,250, standard deviation 31.
    assert np.abs(tested - 1250).max() < 5 * 31


@given(table=tables, cut=st.integers(0, 6))
def test_a_global_cut_is_the_first_second_of_the_test(table: Table, cut: int) -> None:
    times = list(table.values())
    if not min(times) < cut <= max(times):
        with pytest.raises(InputError, match="before and after its cut"):
            global_time(ratings_of(table), cut=cut)
        return
    split = global_time(ratings_of(table), cut=cut, cold_users="keep")
    assert table_of(split.train) == {cell: time for cell, time in table.items() if time < cut}
    assert table_of(split.test) == {cell: time for cell, time in table.items() if time >= cut}


def test_a_global_share_keeps_equal_times_together() -> None:
    ratings = ratings_of({("ann", f"i{item}"): time for item, time in enumerate([1, 2, 3, 3, 3])})
    split = global_time(ratings, test_share=0.2)
    assert sorted(table_of(split.test).values()) == [3, 3, 3]


def test_cold_users_are_dropped_and_counted() -> None:
    ratings = ratings_of({("ann", "a"): 1, ("ann", "b"): 5, ("dan", "c"): 6, ("dan", "a"): 7})
    assert SplitCounts.of(ratings, global_time(ratings, cut=5)) == SplitCounts(
        train_ratings=1,
        test_ratings=1,
        dropped_ratings=2,
        test_users=1,
        train_only_users=0,
        dropped_users=1,
        cold_users=0,
        cold_items=1,
    )


def test_cold_users_are_kept_on_request_and_counted() -> None:
    ratings = ratings_of({("ann", "a"): 1, ("bob", "b"): 2, ("dan", "c"): 6, ("dan", "a"): 7})
    assert SplitCounts.of(ratings, global_time(ratings, cut=5, cold_users="keep")) == SplitCounts(
        train_ratings=2,
        test_ratings=2,
        dropped_ratings=0,
        test_users=1,
        train_only_users=2,
        dropped_users=0,
        cold_users=1,
        cold_items=1,
    )


@pytest.mark.parametrize(
    "split",
    [
        lambda ratings: user_last(ratings, test_share=0.2),
        leave_one_out_last,
        lambda ratings: global_time(ratings, cut=1),
        lambda ratings: global_time(ratings, test_share=0.2),
    ],
)
def test_splits_by_time_need_times(split: Callable[[Ratings], Split]) -> None:
    with pytest.raises(InputError, match="needs ratings with times"):
        split(without_times(ratings_of({("ann", "a"): 1, ("ann", "b"): 2})))


@given(table=tables, seed=seeds)
def test_random_splits_need_no_times(table: Table, seed: int) -> None:
    ratings = ratings_of(table)
    timed = user_random(ratings, test_share=0.2, seed=seed)
    untimed = user_random(without_times(ratings), test_share=0.2, seed=seed)
    np.testing.assert_array_equal(untimed.test.item, timed.test.item)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_share_lies_between_0_and_1(share: float) -> None:
    ratings = ratings_of({("ann", "a"): 1, ("ann", "b"): 2})
    with pytest.raises(InputError, match=f"above 0 and below 1, got {share}"):
        user_random(ratings, test_share=share, seed=1)


def test_one_fold_is_too_few() -> None:
    with pytest.raises(InputError, match="at least 2, got 1"):
        k_fold(ratings_of({("ann", "a"): 1}), folds=1, seed=1)


def test_random_ties_need_a_seed() -> None:
    ratings = ratings_of({("ann", "a"): 1, ("ann", "b"): 1})
    with pytest.raises(InputError, match="needs a seed"):
        leave_one_out_last(ratings, time_ties="random")


@pytest.mark.parametrize("options", [{}, {"cut": 1, "test_share": 0.2}])
def test_a_global_split_needs_a_share_or_a_cut(options: dict[str, float]) -> None:
    ratings = ratings_of({("ann", "a"): 1, ("ann", "b"): 2})
    with pytest.raises(InputError, match="`test_share` or `cut`, and not both"):
        SPLITS["global-time"](ratings, **options)
