"""What every split keeps to, and what those that divide each user's ratings keep to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from qrels import Ratings, Split, Splitter, splits
from qrels.ratings.splits.k_fold import k_fold
from qrels.ratings.splits.leave_one_out_last import leave_one_out_last
from qrels.ratings.splits.leave_one_out_random import leave_one_out_random
from qrels.ratings.splits.uniform_items import uniform_items
from qrels.ratings.splits.user_last import user_last
from qrels.ratings.splits.user_random import user_random
from runs import InputError
from tests.qrels.ratings.splits.tables import (
    Table,
    divide,
    ratings_of,
    seeds,
    table_of,
    tables,
    without_times,
)

Splits = Callable[[Ratings, int], Split]
SPLITTERS_BY_USER: dict[str, Splits] = {
    "user_random": lambda ratings, seed: divide(user_random, ratings, seed=seed, test_share=0.4),
    "user_last": lambda ratings, seed: divide(user_last, ratings, seed=seed, test_share=0.4),
    "user_last, random ties": lambda ratings, seed: divide(
        user_last, ratings, seed=seed, test_share=0.4, time_ties="random"
    ),
    "leave_one_out_random": lambda ratings, seed: leave_one_out_random(ratings, seed=seed),
    "leave_one_out_last": lambda ratings, seed: leave_one_out_last(ratings, seed=seed),
    "k_fold": lambda ratings, seed: divide(k_fold, ratings, seed=seed, folds=3),
}
by_user = pytest.mark.parametrize("split", SPLITTERS_BY_USER.values(), ids=SPLITTERS_BY_USER)
seeded = pytest.mark.parametrize(
    "split",
    [
        *(split for name, split in SPLITTERS_BY_USER.items() if not name.endswith("last")),
        lambda ratings, seed: divide(uniform_items, ratings, seed=seed, item_ratings=3),
    ],
)


def drawn_tables(splitter: Splitter[Any]) -> list[Table]:
    """Read the three tables side by side in a docstring: ratings, train, test."""
    tables: list[Table] = [{}, {}, {}]
    for line in (splitter.make.__doc__ or "").splitlines():
        user, *cells = line.split() or [""]
        if len(cells) == 15 and all(cell == "." or cell.isdigit() for cell in cells):
            for column, cell in enumerate(cells):
                if cell != ".":
                    tables[column // 5][user, "abcde"[column % 5]] = int(cell)
    return tables


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("user-random", {"test_share": 0.4}),
        ("user-last", {"test_share": 0.4}),
        ("leave-one-out-random", {}),
        ("leave-one-out-last", {}),
        ("global-time", {"cut": 5}),
        ("k-fold", {"folds": 2}),
        ("uniform-items", {"item_ratings": 1, "item_share": 0.5}),
        ("popularity-percentile", {"percentiles": 2, "percentile": 2, "test_share": 0.4}),
    ],
)
def test_the_tables_drawn_in_the_docstrings_are_true(
    method: str, options: dict[str, float]
) -> None:
    splitter = splits()[method]
    ratings, train, test = drawn_tables(splitter)
    split = divide(splitter, ratings_of(ratings), seed=1, **options)
    assert (table_of(split.train), table_of(split.test)) == (train, test)


@by_user
@given(table=tables, seed=seeds)
def test_train_and_test_are_disjoint_and_complete(split: Splits, table: Table, seed: int) -> None:
    parts = split(ratings_of(table), seed)
    train, test = table_of(parts.train), table_of(parts.test)
    assert train.keys().isdisjoint(test)
    assert train | test == table


@by_user
@given(table=tables, seed=seeds)
def test_every_test_user_keeps_a_training_rating(split: Splits, table: Table, seed: int) -> None:
    parts = split(ratings_of(table), seed)
    assert np.isin(parts.test_users, parts.train.user).all()


@by_user
@given(table=tables, seed=seeds)
def test_removing_a_user_leaves_the_others_unchanged(
    split: Splits, table: Table, seed: int
) -> None:
    removed = min(table)[0]
    others = {cell: time for cell, time in table.items() if cell[0] != removed}
    whole = table_of(split(ratings_of(table), seed).test)
    expected = {cell: time for cell, time in whole.items() if cell[0] != removed}
    found = table_of(split(ratings_of(others), seed).test) if others else {}
    assert found == expected


@seeded
def test_equal_seeds_agree_and_others_do_not(split: Splits, large: Ratings) -> None:
    one, same, other = (table_of(split(large, seed).test) for seed in (5, 5, 6))
    assert one == same
    assert one != other


@pytest.mark.parametrize("method", ["user-last", "leave-one-out-last", "global-time"])
def test_splits_by_time_need_times(method: str) -> None:
    with pytest.raises(InputError, match="needs ratings with times"):
        splits()[method](without_times(ratings_of({("ann", "a"): 1, ("ann", "b"): 2})), seed=1)


@given(table=tables, seed=seeds)
def test_random_splits_need_no_times(table: Table, seed: int) -> None:
    ratings = ratings_of(table)
    timed = user_random(ratings, seed=seed)
    untimed = user_random(without_times(ratings), seed=seed)
    np.testing.assert_array_equal(untimed.test.item, timed.test.item)
