from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

import recommenders
from qrels import Ratings
from recommenders.shared.lenskit_bridge import dataset_of, one_thread, popularity_scores
from runs import Numbering


def test_lenskit_numbers_users_and_items_as_we_do() -> None:
    """Also ids without ratings, and ids whose UTF-16 or local order would differ."""
    ratings = Ratings(
        Numbering.of(["b", "a", "é", "Z"]),
        Numbering.of(["10", "9", "1", "\U0001f600", "\uffff", "_"]),
        np.array([1, 3], dtype=np.int32),
        np.array([5, 0], dtype=np.int32),
        np.array([1.5, 5.0]),
    )
    dataset = dataset_of(ratings)
    assert dataset.users.ids().tolist() == ratings.users.ids.tolist()
    assert dataset.items.ids().tolist() == ratings.items.ids.tolist()
    matrix = dataset.interactions().matrix().scipy(attribute="rating").toarray()
    np.testing.assert_array_equal(matrix, ratings.matrix().toarray())


def threads() -> tuple[int, ...]:
    return (torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info()))


def test_one_thread_works_inside_and_as_many_as_before_outside() -> None:
    with one_thread():  # The first use sizes LensKit's pool.
        pass
    before = threads()
    with one_thread():
        assert set(threads()) == {1}
    assert threads() == before


def test_training_is_silent(
    ratings: Ratings, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """LensKit warns when all ratings are equal."""
    equal = Ratings(ratings.users, ratings.items, ratings.user, ratings.item, np.ones(len(ratings)))
    recommenders.train("svd", {}, equal, seed=1)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


@pytest.mark.parametrize("name", ["item_scores_", "item_scores"])
def test_the_scores_of_popularity_are_found_in_lenskit_2025_and_2026(name: str) -> None:
    model: Any = SimpleNamespace(**{name: np.array([3.0, 1.0], dtype=np.float32)})
    assert popularity_scores(model).tolist() == [3.0, 1.0]


def test_training_leaves_how_torch_shares_memory_as_it_was(ratings: Ratings) -> None:
    multiprocessing: Any = torch.multiprocessing
    before = multiprocessing.get_sharing_strategy()
    recommenders.train("popularity", {}, ratings, seed=1)
    assert multiprocessing.get_sharing_strategy() == before
