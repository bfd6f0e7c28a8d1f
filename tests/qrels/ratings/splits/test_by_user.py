"""Splits of each user's ratings."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from qrels import Ratings, Split
from qrels.ratings.splits.k_fold import k_fold
from qrels.ratings.splits.leave_one_out_last import leave_one_out_last
from qrels.ratings.splits.leave_one_out_random import leave_one_out_random
from qrels.ratings.splits.user_last import user_last
from qrels.ratings.splits.user_random import user_random
from tests.qrels.ratings.splits.tables import Table, divide, ratings_of, seeds, table_of, tables


@given(table=tables, seed=seeds)
def test_one_rating_is_tested_of_each_user_with_two(table: Table, seed: int) -> None:
    ratings = ratings_of(table)
    expected = (ratings.user_counts() >= 2).astype(int).tolist()
    for splitter in (leave_one_out_last, leave_one_out_random):
        assert splitter(ratings, seed=seed).test.user_counts().tolist() == expected


def test_a_share_means_what_is_written_not_its_nearest_float() -> None:
    # 0.29 * 50 + 0.5 is 14.999999999999998 in floating point, and 15 in truth.
    ratings = ratings_of({("ann", f"i{item}"): item for item in range(50)})
    assert len(divide(user_last, ratings, seed=1, test_share=0.29).test) == 15


@given(table=tables)
def test_the_latest_ratings_are_tested(table: Table) -> None:
    split = divide(user_last, ratings_of(table), seed=1, test_share=0.4)
    train, test = table_of(split.train), table_of(split.test)
    for (user, item), time in test.items():
        earlier = [(t, i) for (u, i), t in train.items() if u == user]
        assert max(earlier) < (time, item)


@given(table=tables, seed=seeds)
def test_random_ties_never_put_a_later_rating_before_an_earlier_one(
    table: Table, seed: int
) -> None:
    split = divide(user_last, ratings_of(table), seed=seed, test_share=0.4, time_ties="random")
    train, test = table_of(split.train), table_of(split.test)
    for (user, _), time in test.items():
        assert max(t for (u, _), t in train.items() if u == user) <= time


@given(table=tables, seed=seeds, share=st.sampled_from([0.1, 0.2, 0.25, 1 / 3, 0.5, 0.9]))
def test_users_test_the_rounded_share_but_never_all(table: Table, seed: int, share: float) -> None:
    ratings = ratings_of(table)
    exact = Fraction(str(share))
    expected = [min(int(exact * n + Fraction(1, 2)), n - 1) for n in ratings.user_counts().tolist()]
    split = divide(user_random, ratings, seed=seed, test_share=share)
    assert split.test.user_counts().tolist() == expected


def test_every_rating_is_equally_likely_to_be_tested(large: Ratings) -> None:
    tested = np.zeros(len(large.items))
    for seed in range(50):
        tested += divide(user_random, large, seed=seed, test_share=0.25).test.item_counts()
    # 5,000 draws at 1/4: mean 1,250, standard deviation 31.
    assert np.abs(tested - 1250).max() < 5 * 31


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_lies_between_0_and_1(share: float) -> None:
    with pytest.raises(ValidationError, match=r"test_share\n.*(greater than 0|less than 1)"):
        user_random.settings(test_share=share)


def all_folds(ratings: Ratings, *, folds: int, seed: int) -> list[Split]:
    every = range(1, folds + 1)
    return [divide(k_fold, ratings, seed=seed, folds=folds, fold=fold) for fold in every]


@given(table=tables, folds=st.integers(2, 6), seed=seeds)
def test_folds_partition_the_ratings_of_users_with_two(table: Table, folds: int, seed: int) -> None:
    ratings = ratings_of(table)
    splits = all_folds(ratings, folds=folds, seed=seed)
    tested = [cell for split in splits for cell in table_of(split.test)]
    users = [user for user, _ in table]
    assert sorted(tested) == sorted(cell for cell in table if users.count(cell[0]) >= 2)


@given(table=tables, folds=st.integers(2, 6), seed=seeds)
def test_folds_are_balanced_within_each_user(table: Table, folds: int, seed: int) -> None:
    ratings = ratings_of(table)
    sizes = np.array(
        [split.test.user_counts() for split in all_folds(ratings, folds=folds, seed=seed)]
    )
    assert (sizes.max(axis=0) - sizes.min(axis=0) <= 1).all()


def test_no_fold_is_favoured(large: Ratings) -> None:
    sizes = [len(split.test) for split in all_folds(large, folds=3, seed=1)]
    # 667 expected; a user's odd two ratings fall on the same folds for everyone otherwise.
    assert max(sizes) - min(sizes) < 60


def test_a_fold_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValidationError, match="must be at most 3, got 4"):
        k_fold.settings(folds=3, fold=4)
