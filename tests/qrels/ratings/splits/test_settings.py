"""Settings of splits: defaults and bounds, and what they become within training."""

import pytest

from qrels import splits
from qrels.ratings.splits.global_time import global_time
from tests.described import described
from tests.qrels.ratings.splits.tables import divide, ratings_of, table_of

SHARE = "0.2; > 0; < 1"
SETTINGS = {
    "given": dict.fromkeys(("train", "test", "validation", "folder"), "None")
    | {"fold": "None; >= 0"},
    "global-time": {"test_share": "None; > 0; < 1", "cut": "None", "cold_users": "drop"},
    "k-fold": {"folds": "5; >= 2", "fold": "1; >= 1"},
    "leave-one-out-last": {"time_ties": "item"},
    "leave-one-out-random": {},
    "popularity-percentile": {
        "test_share": SHARE,
        "percentiles": "10; >= 2",
        "percentile": "1; >= 1",
    },
    "uniform-items": {"item_ratings": "None; >= 1", "item_share": SHARE},
    "user-last": {"test_share": SHARE, "time_ties": "item"},
    "user-random": {"test_share": SHARE},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_have_the_defaults_and_bounds_that_are_stated(name: str) -> None:
    assert described(splits()[name].settings) == SETTINGS[name]


def test_every_split_is_described() -> None:
    assert SETTINGS.keys() == splits().keys()


def test_a_fifth_of_all_ratings_is_tested_if_no_point_in_time_is_given() -> None:
    assert global_time.settings().test_share == 0.2
    assert global_time.settings(cut=7).test_share is None
    own = global_time.settings(test_share=0.3)
    assert own.within_training() is own
    within = global_time.settings(cut=7, cold_users="keep").within_training()
    assert (within.test_share, within.cut, within.cold_users) == (0.2, None, "keep")


def test_one_rating_at_least_is_tested_however_small_the_share() -> None:
    ratings = ratings_of({("ann", "a"): 1, ("ann", "b"): 2, ("ann", "c"): 3})
    parts = divide(global_time, ratings, seed=1, test_share=0.01)
    assert table_of(parts.test) == {("ann", "c"): 3}


def test_a_share_counts_the_latest_ratings_halves_up() -> None:
    ratings = ratings_of({("ann", f"i{time}"): time for time in range(10)})
    for share, n_test in ((0.24, 2), (0.25, 3), (0.3, 3)):
        parts = divide(global_time, ratings, seed=1, test_share=share)
        assert sorted(table_of(parts.test).values()) == [*range(10 - n_test, 10)]


def test_cold_users_may_be_kept() -> None:
    ratings = ratings_of({("ann", "a"): 1, ("ann", "b"): 5, ("dan", "c"): 6})
    kept = divide(global_time, ratings, seed=1, cut=5, cold_users="keep")
    assert set(table_of(kept.test)) == {("ann", "b"), ("dan", "c")}
