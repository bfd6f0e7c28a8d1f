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
from runs.shared.arrays import Floats, Singles
from runs.shared.parallel import single_threaded

if TYPE_CHECKING:
    from lenskit.basic import PopScorer
    from lenskit.data import Dataset, ItemList
    from lenskit.metrics import ListMetric as ListMetric
    from lenskit.pipeline import Pipeline
    from lenskit.training import Trainable

ModelT = TypeVar("ModelT", bound="Trainable")


def dataset_of(ratings: Ratings) -> Dataset:
    """Convert ratings to a LensKit data set, in which users and items have the same numbers.

    LensKit sorts ids by their UTF-8 bytes, which is the order of code points and so that of
    a Numbering. Users and items without ratings are in the data set, too.
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


def train_component(component: ModelT, ratings: Ratings, *, seed: int) -> ModelT:
    """Train a LensKit component or pipeline on the CPU, in one thread and without messages.

    Returns ``component`` itself, which is changed in place. All random numbers come from the seed.
    """
    from lenskit.training import TrainingOptions

    options = TrainingOptions(rng=seed, device="cpu")
    with silence(), one_thread():
        component.train(dataset_of(ratings), options)
    return component


def popularity_scores(model: PopScorer) -> Singles:
    """Read the item scores of LensKit's trained popularity component, of shape (n_items,)."""
    # LensKit 2025 has the first name, LensKit 2026 the second.
    attribute = "item_scores_" if hasattr(model, "item_scores_") else "item_scores"
    scores: Singles = getattr(model, attribute)
    return scores


def is_trainable(component: object) -> bool:
    """Check whether a component has the method `train`."""
    return callable(getattr(component, "train", None))


def components_without_is_trained(pipeline: Pipeline) -> list[str]:
    """List the names of the components of a pipeline that have `train`, but not `is_trained`.

    LensKit 2026 fails at these, or leaves them untrained. The list is always empty under LensKit
    2025, which has no method `is_trained`.
    """
    from lenskit.training import Trainable

    abstract_method = getattr(Trainable, "is_trained", None)
    if abstract_method is None:
        return []
    names = []
    for node in pipeline.nodes():
        component = getattr(node, "component", None)
        method = getattr(type(component), "is_trained", abstract_method)
        if is_trainable(component) and method is abstract_method:
            names.append(node.name)
    return names


def ratings_or_ones(items: ItemList) -> Floats:
    """Return the ratings of a LensKit item list, of shape (n,); 1 for each if it has none."""
    ratings = items.field("rating")
    if ratings is None:
        return np.ones(len(items))
    return np.asarray(ratings, np.float64)


def list_metric(
    label: str, score: Callable[[Sequence[str], Mapping[str, float]], float]
) -> ListMetric:
    """Make a LensKit list metric of a function.

    Parameters
    ----------
    label
        Name of the metric in LensKit's results.
    score
        Computes the value for one user, from the ids of the recommended items, the best first, and
        the grades of the test items by id. Grades are the test ratings, or 1 if there are none.
    """
    from lenskit.metrics import ListMetric

    class FunctionMetric(ListMetric):
        """LensKit list metric that calls ``score`` for the list and the test items of a user."""

        @property
        def label(self) -> str:
            return label

        def measure_list(self, output: ItemList, test: ItemList, /) -> float:
            """Compute the metric of one user's list against the user's test items.

            A list without an order is ranked by its scores. Test items without ratings have
            grade 1.
            """
            ranked = output if output.ordered else output.top_n()
            ranked_ids = [str(item) for item in ranked.ids()]
            test_ids = [str(item) for item in test.ids()]
            grades = ratings_or_ones(test).tolist()
            return score(ranked_ids, dict(zip(test_ids, grades, strict=True)))

    return FunctionMetric()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS, torch and LensKit to one thread, as results may depend on their number.

    At the end the limits of BLAS, and of torch within an operation, are set back. LensKit sizes its
    own pool once in a process, at first use. That pool, and the threads that torch has between
    operations, stay at one.
    """
    import lenskit.parallel  # noqa: F401  loads the libraries that are limited below
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
    """Set LensKit's pool to one thread, once in a process.

    LensKit also changes how torch shares memory between processes; this is set back.
    """
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
    """Set the pool of LensKit 2026 to one thread; ``parallel`` is the module `lenskit.parallel`."""
    settings_class = import_module("lenskit.config").ParallelSettings
    one_of_each = settings_class(
        num_cpus=1, num_procs=1, num_threads=1, num_backend_threads=1, num_batch_jobs=1
    )
    parallel.init_threading(one_of_each)


@contextmanager
def silence() -> Iterator[None]:
    """Keep LensKit's log messages below errors off the console while the block runs.

    This holds for its messages by `structlog`, too, unless the caller has configured structlog.
    """
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
