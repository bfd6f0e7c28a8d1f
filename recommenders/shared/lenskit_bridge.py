"""The bridge to LensKit: data sets, components trained reproducibly, and metrics for it.

LensKit reads settings from the environment, takes threads as it finds them and warns on the
console. Here a component is trained on the CPU, by one thread, silently, from a seed. Where the
names of LensKit 2025 and 2026 differ, both are known here, and nowhere else.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qrels import Ratings
from runs.shared.arrays import Singles
from runs.shared.parallel import single_threaded

if TYPE_CHECKING:
    from lenskit.basic import PopScorer
    from lenskit.data import Dataset, ItemList
    from lenskit.metrics import ListMetric as ListMetric
    from lenskit.pipeline import Pipeline
    from lenskit.training import Trainable

ModelT = TypeVar("ModelT", bound="Trainable")


def dataset_of(ratings: Ratings) -> Dataset:
    """Give ratings to LensKit, users and items keeping their numbers.

    LensKit sorts ids by their UTF-8 bytes, which is the order of code points and so that of
    a Numbering. Ids without ratings become entities too.
    """
    from lenskit.data import DatasetBuilder

    builder = DatasetBuilder()
    builder.add_entities("user", ratings.users.ids)
    builder.add_entities("item", ratings.items.ids)
    columns = {
        "user_id": ratings.users.ids[ratings.user],
        "item_id": ratings.items.ids[ratings.item],
        "rating": ratings.rating,
    }
    builder.add_interactions(
        "rating", columns, entities=["user", "item"], allow_repeats=False, default=True
    )
    return builder.build()


def trained(
    component: ModelT, ratings: Ratings, *, seed: int, environment: Mapping[str, str] | None = None
) -> ModelT:
    """Train a LensKit component and give it back; all randomness comes from the seed.

    The environment holds LensKit's training variables (``LK_...``) for this training only.
    """
    from lenskit.training import TrainingOptions

    options = TrainingOptions(rng=seed, device="cpu", environment=dict(environment or {}))
    with silence(), one_thread():
        component.train(dataset_of(ratings), options)
    return component


def popularity_scores(model: PopScorer) -> Singles:
    """Give the scores of LensKit's popularity, of shape (n_items,), once it is trained."""
    name = "item_scores_" if hasattr(model, "item_scores_") else "item_scores"  # 2025; 2026
    scores: Singles = getattr(model, name)
    return scores


def is_trainable(component: object) -> bool:
    """Tell whether a component is to be trained: LensKit 2026 asks for `is_trained`, too."""
    return callable(getattr(component, "train", None))


def lacking_is_trained(pipeline: Pipeline) -> list[str]:
    """Name the components of a pipeline that have `train`, but not `is_trained`.

    LensKit 2026 fails at these, or leaves them untrained; LensKit 2025 has no such method.
    """
    from lenskit.training import Trainable

    abstract = getattr(Trainable, "is_trained", None)
    if abstract is None:
        return []
    names = []
    for node in pipeline.nodes():
        component = getattr(node, "component", None)
        method = getattr(type(component), "is_trained", abstract)
        if is_trainable(component) and method is abstract:
            names.append(node.name)
    return names


def list_metric(
    label: str, score: Callable[[Sequence[str], Mapping[str, float]], float]
) -> ListMetric:
    """Make a metric for LensKit's analyses of a function of a ranking and the user's ratings."""
    from lenskit.metrics import ListMetric

    class Scored(ListMetric):
        """Scores each list by the function."""

        @property
        def label(self) -> str:
            return label

        def measure_list(self, output: ItemList, test: ItemList, /) -> float:
            ranked = output if output.ordered else output.top_n()
            ratings = test.field("rating")
            grades = np.ones(len(test)) if ratings is None else np.asarray(ratings, np.float64)
            ids, judged = ([str(item) for item in items.ids()] for items in (ranked, test))
            return score(ids, dict(zip(judged, grades.tolist(), strict=True)))

    return Scored()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS, torch and LensKit work with one thread, as results may depend on their number.

    LensKit sizes its own pool once in a process, at first use, and on the way limits BLAS
    and torch for good, and changes how torch shares memory between processes. All but the threads
    that torch takes for whole operations are set back at the end.
    """
    import lenskit.parallel  # noqa: F401  loads what is limited below
    import torch

    torch_threads = torch.get_num_threads()
    with single_threaded():
        _size_lenskit_pool()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(torch_threads)


@cache
def _size_lenskit_pool() -> None:
    from lenskit import parallel

    multiprocessing: Any = import_module("torch.multiprocessing")
    sharing_strategy = multiprocessing.get_sharing_strategy()
    with warnings.catch_warnings():
        # Where torch has worked before, its pool between operations keeps its size.
        warnings.filterwarnings("ignore", "failed to set", RuntimeWarning)
        if hasattr(parallel, "initialize"):  # LensKit 2025
            parallel.initialize(processes=1, threads=1, backend_threads=1)
        else:
            _size_lenskit_pool_of_2026(parallel)
    multiprocessing.set_sharing_strategy(sharing_strategy)


def _size_lenskit_pool_of_2026(parallel: Any) -> None:
    settings = import_module("lenskit.config").ParallelSettings
    one_thread_each = settings(
        num_cpus=1, num_procs=1, num_threads=1, num_backend_threads=1, num_batch_jobs=1
    )
    parallel.init_threading(one_thread_each)


@contextmanager
def silence() -> Iterator[None]:
    """Keep LensKit's log messages below errors off the console, its structured ones too."""
    import structlog

    logger = logging.getLogger("lenskit")
    level = logger.level
    logger.setLevel(logging.ERROR)
    configure_structlog = not structlog.is_configured()
    if configure_structlog:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    try:
        yield
    finally:
        logger.setLevel(level)
        if configure_structlog:
            structlog.reset_defaults()
