from hypothesis import given

from qrels.ratings.splits.leave_one_out_last import leave_one_out_last
from tests.qrels.ratings.splits.tables import Table, ratings_of, seeds, tables


@given(table=tables, seed=seeds)
def test_one_rating_is_tested_of_each_user_with_two(table: Table, seed: int) -> None:
    ratings = ratings_of(table)
    expected = (ratings.user_counts() >= 2).astype(int).tolist()
    split = leave_one_out_last(ratings, seed=seed)
    assert split.test.user_counts().tolist() == expected
