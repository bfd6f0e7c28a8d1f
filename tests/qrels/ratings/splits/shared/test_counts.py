from qrels import SplitCounts
from qrels.ratings.splits.global_time import Settings, global_time
from tests.qrels.ratings.splits.tables import ratings_of


def test_cold_users_are_dropped_and_counted() -> None:
    ratings = ratings_of({("ann", "a"): 1, ("ann", "b"): 5, ("dan", "c"): 6, ("dan", "a"): 7})
    split = global_time(ratings, Settings(cut=5), seed=1)
    assert SplitCounts.of(ratings, split) == SplitCounts(
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
    split = global_time(ratings, Settings(cut=5, cold_users="keep"), seed=1)
    assert SplitCounts.of(ratings, split) == SplitCounts(
        train_ratings=2,
        test_ratings=2,
        dropped_ratings=0,
        test_users=1,
        train_only_users=2,
        dropped_users=0,
        cold_users=1,
        cold_items=1,
    )
