import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from qrels import Ratings, Split
from qrels.ratings.splits.k_fold import Settings, k_fold
from tests.qrels.ratings.splits.tables import Table, ratings_of, seeds, table_of, tables


def all_folds(ratings: Ratings, *, folds: int, seed: int) -> list[Split]:
    every = range(1, folds + 1)
    return [k_fold(ratings, Settings(folds=folds, fold=fold), seed=seed) for fold in every]


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


def test_the_first_of_five_folds_is_the_default() -> None:
    assert Settings() == Settings(folds=5, fold=1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"folds": 1}, "greater than or equal to 2"),
        ({"fold": 0}, "greater than or equal to 1"),
        ({"fold": 6}, "must be at most 5, got 6"),
        ({"folds": 3, "fold": 4}, "must be at most 3, got 4"),
    ],
)
def test_a_fold_that_there_is_not_is_refused(options: dict[str, int], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Settings(**options)
