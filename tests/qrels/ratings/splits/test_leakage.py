"""Leakage: what training tells of the future, counted by hand on random ratings."""

import numpy as np
import pytest

from qrels import Ratings, find_split
from qrels.ratings.splitter import NEWER_TRAINING, OLDER_TESTS, leakage
from runs import Numbering


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
