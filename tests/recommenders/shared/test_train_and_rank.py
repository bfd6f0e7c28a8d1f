"""Training by name, memory, and lists of all candidates."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

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


def test_only_what_is_marked_is_recommended_to_each(small: Ratings) -> None:
    """Item c, without ratings, is marked for u; what a user rated stays out."""
    users = np.array([1, 0], dtype=np.int32)
    own = csr_array(np.array([[True, True, True, False], [False, False, True, True]]))
    run = recommenders.recommend(
        Alphabetical(small), small, users, system="az", depth=2, allowed_by_user=own
    )
    np.testing.assert_array_equal(run.items, [[0, -1], [3, -1]])


def test_a_mask_of_users_and_items_has_a_row_for_each_list(small: Ratings) -> None:
    mask = csr_array(np.ones((2, 4), dtype=np.bool_))
    users = np.array([1], dtype=np.int32)
    with pytest.raises(InputError, match=r"mask of users and items .* \(1, 4\), got \(2, 4\)"):
        recommenders.recommend(
            Alphabetical(small), small, users, system="az", depth=2, allowed_by_user=mask
        )


class Best(Alphabetical):
    """Says of every item but the best of the candidates that it is not among the best."""

    def score_best(
        self, user_numbers: NDArray[np.int32], candidates: NDArray[np.bool_], *, depth: int
    ) -> NDArray[np.float32]:
        assert depth == 3
        scores = self.score_batch(user_numbers)
        scores[:, np.flatnonzero(candidates)[2:]] = -np.inf
        return scores


def test_a_scorer_may_leave_out_what_is_not_among_the_best(small: Ratings) -> None:
    users = np.array([0, 1], dtype=np.int32)
    run = recommenders.recommend(Best(small), small, users, system="az", depth=3)
    np.testing.assert_array_equal(run.items, [[1, -1, -1], [0, -1, -1]])


def test_amounts_may_be_zero_but_not_all_and_not_below(small: Ratings) -> None:
    recommenders.train("rsv", {}, small, seed=1)
    wrong = replace(small, rating=np.array([4.0, -0.5, 2.0]))
    with pytest.raises(InputError, match=r"it needs ratings of at least 0, got -0\.5"):
        recommenders.train("rsv", {}, wrong, seed=1)
    with pytest.raises(InputError, match="every training rating is 0"):
        recommenders.train("rsv", {}, replace(small, rating=np.zeros(3)), seed=1)


def test_memory_is_known_before_training(small: Ratings) -> None:
    """Of 4 items: 3 matrices of 4 bytes times 16."""
    assert recommenders.require_memory("random", {}, small) == 0
    assert recommenders.require_memory("ease", {"max_gigabytes": 192e-9}, small) == 192
    items = Numbering.of(f"{number:05}" for number in range(20_000))
    many = Ratings(small.users, items, small.user, small.item, small.rating)
    with pytest.raises(InputError) as refused:
        recommenders.require_memory("ease", {}, many)
    assert str(refused.value) == (
        "system 'ease' needs about 4.8 GB (3 dense matrices of 20000 x 20000 items), above the "
        "limit of 4.0 GB; raise its setting 'max_gigabytes' or leave the system out."
    )
    assert recommenders.require_memory("ease", {"max_gigabytes": 4.8}, many) == 4_800_000_000
