from hypothesis import given

from qrels.ratings.splits.user_last import Settings, user_last
from qrels.ratings.splits.user_random import user_random
from tests.qrels.ratings.splits.tables import Table, ratings_of, seeds, table_of, tables


@given(table=tables)
def test_as_many_ratings_are_tested_as_at_random(table: Table) -> None:
    ratings = ratings_of(table)
    last, random = user_last(ratings, seed=1), user_random(ratings, seed=1)
    assert last.test.user_counts().tolist() == random.test.user_counts().tolist()


def test_a_share_means_what_is_written_not_its_nearest_float() -> None:
    # 0.29 * 50 + 0.5 is 14.999999999999998 in floating point, and 15 in truth.
    ratings = ratings_of({("ann", f"i{item}"): item for item in range(50)})
    assert len(user_last(ratings, Settings(test_share=0.29), seed=1).test) == 15


@given(table=tables)
def test_the_latest_ratings_are_tested(table: Table) -> None:
    split = user_last(ratings_of(table), Settings(test_share=0.4), seed=1)
    train, test = table_of(split.train), table_of(split.test)
    for (user, item), time in test.items():
        earlier = [(t, i) for (u, i), t in train.items() if u == user]
        assert max(earlier) < (time, item)


@given(table=tables, seed=seeds)
def test_random_ties_never_put_a_later_rating_before_an_earlier_one(
    table: Table, seed: int
) -> None:
    split = user_last(ratings_of(table), Settings(test_share=0.4, time_ties="random"), seed=seed)
    train, test = table_of(split.train), table_of(split.test)
    for (user, _), time in test.items():
        assert max(t for (u, _), t in train.items() if u == user) <= time
