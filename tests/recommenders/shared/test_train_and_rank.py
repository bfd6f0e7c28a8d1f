import sys

import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from runs import InputError, Numbering


class Alphabetical:
    """Scores items z to a, the same for all."""

    def __init__(self, ratings: Ratings) -> None:
        self.users = ratings.users
        self.items = ratings.items

    def score_batch(self, user_numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        falling = -np.arange(len(self.items), dtype=np.float32)
        return np.tile(falling, (len(user_numbers), 1))


@pytest.fixture
def small() -> Ratings:
    """u rated a; v rated b and d; nobody rated c."""
    return Ratings(
        Numbering.of(["u", "v"]),
        Numbering.of(["a", "b", "c", "d"]),
        np.array([0, 1, 1], dtype=np.int32),
        np.array([0, 1, 3], dtype=np.int32),
        np.array([4.0, 0.0, 2.0]),
    )


def test_candidates_are_trained_items_that_the_user_has_not_rated(small: Ratings) -> None:
    users = np.array([0, 1], dtype=np.int32)
    run = recommenders.recommend(Alphabetical(small), small, users, system="az", depth=3)
    np.testing.assert_array_equal(run.items, [[1, 3, -1], [0, -1, -1]])
    assert run.system == "az"


def test_candidates_that_are_given_still_need_training_ratings_and_may_not_be_rated(
    small: Ratings,
) -> None:
    users, tested = np.array([0, 1], dtype=np.int32), np.array([True, False, True, True])
    run = recommenders.recommend(
        Alphabetical(small), small, users, system="az", depth=3, candidates=tested
    )
    np.testing.assert_array_equal(run.items, [[3, -1, -1], [0, -1, -1]])


def test_nothing_to_train_on_is_an_error(small: Ratings) -> None:
    nothing = small.select(np.zeros(len(small), dtype=bool))
    with pytest.raises(InputError, match="'random' cannot be trained: there are no training"):
        recommenders.train("random", {}, nothing, seed=1)


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lenskit.als", None)
    with pytest.raises(InputError, match=r"'svd' needs the package 'lenskit'.*pip install"):
        recommenders.train("svd", {}, small, seed=1)


def test_ours_are_trained_without_lenskit(small: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lenskit", None)
    monkeypatch.setitem(sys.modules, "lenskit.data", None)
    recommenders.train("random", {}, small, seed=1)
    recommenders.train("puresvd", {}, small, seed=1)
