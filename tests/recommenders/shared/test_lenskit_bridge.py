"""The bridge to LensKit: the same numbers, one thread, silence, and metrics."""

import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import structlog
import torch
from lenskit.data import ItemList
from lenskit.pipeline import Component, topn_pipeline
from lenskit.training import TrainingOptions
from threadpoolctl import threadpool_info

import recommenders
from qrels import Ratings
from recommenders.shared import lenskit_bridge
from recommenders.shared.lenskit_bridge import (
    components_without_is_trained,
    dataset_of,
    is_trainable,
    list_metric,
    one_thread,
    popularity_scores,
    silence,
    train_component,
)
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


class Noted:
    """A component that notes what it is trained on, and how."""

    def train(self, data: Any, options: TrainingOptions) -> None:
        self.n_items = data.item_count
        self.options = options
        self.threads = threads()
        self.level = logging.getLogger("lenskit").level


def test_a_component_is_trained_on_the_processor_from_the_seed_by_one_thread(
    ratings: Ratings,
) -> None:
    component: Any = Noted()
    assert train_component(component, ratings, seed=7) is component
    assert component.n_items == len(ratings.items)
    assert (component.options.rng, component.options.device) == (7, "cpu")
    assert set(component.threads) == {1}
    assert component.level == logging.ERROR


def test_what_can_be_trained_has_a_method_for_it() -> None:
    assert [is_trainable(Noted()), is_trainable(SimpleNamespace(train=3)), is_trainable(3)] == [
        True,
        False,
        False,
    ]


def test_logs_of_lenskit_are_silent_for_a_while() -> None:
    logger = logging.getLogger("lenskit")
    before = logger.level
    with silence():
        assert logger.level == logging.ERROR
        with silence():
            assert structlog.is_configured()
        assert structlog.is_configured()
    assert logger.level == before
    assert not structlog.is_configured()


class Untold(Component[ItemList]):
    """Can be trained, but does not say whether it is."""

    config: None

    def train(self, data: Any, options: Any = None) -> None: ...

    def __call__(self, query: object, items: ItemList) -> ItemList:
        return items


class Told(Untold):
    """Says whether it is trained."""

    def is_trained(self) -> bool:
        return True


def test_components_of_a_pipeline_that_do_not_say_whether_they_are_trained_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipeline = topn_pipeline(Untold())
    monkeypatch.setattr("lenskit.training.Trainable.is_trained", lambda self: True, raising=False)
    assert "scorer" in components_without_is_trained(pipeline)
    assert "scorer" not in components_without_is_trained(topn_pipeline(Told()))
    assert "ranker" not in components_without_is_trained(pipeline)
    monkeypatch.delattr("lenskit.training.Trainable.is_trained")
    assert components_without_is_trained(pipeline) == []


def noted(ranked: Any, grades: Any) -> float:
    return float(ranked == ["b", "a"]) + sum(grades.values())


@pytest.mark.parametrize(
    ("output", "test", "value"),
    [
        (ItemList(["b", "a"], ordered=True), ItemList(["a", "c"], rating=[4.0, 2.0]), 7.0),
        (ItemList(["a", "b"], scores=[1.0, 2.0]), ItemList(["a", "c"]), 3.0),
    ],
)
def test_a_metric_is_asked_with_the_ranking_and_the_grades(
    output: ItemList, test: ItemList, value: float
) -> None:
    metric = list_metric("mine", noted)
    assert metric.label == "mine"
    assert metric.measure_list(output, test) == value


@pytest.mark.parametrize("has_initialize", [True, False])
def test_the_pool_of_lenskit_has_one_thread_in_2025_and_2026(
    has_initialize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    module = SimpleNamespace(init_threading=asked.append)
    if has_initialize:
        module.initialize = lambda **sizes: asked.append(sizes)
    config = SimpleNamespace(ParallelSettings=lambda **sizes: sizes)
    modules = {"torch.multiprocessing": torch.multiprocessing, "lenskit.config": config}
    monkeypatch.setattr(lenskit_bridge, "import_module", modules.__getitem__)
    monkeypatch.setattr("lenskit.parallel", module)
    lenskit_bridge._size_lenskit_pool.__wrapped__()
    (sizes,) = asked
    names = {"processes", "threads", "backend_threads"}
    if not has_initialize:
        names = {f"num_{each}" for each in ("cpus", "procs", "threads", "backend_threads")}
        names.add("num_batch_jobs")
    assert sizes == dict.fromkeys(names, 1)
