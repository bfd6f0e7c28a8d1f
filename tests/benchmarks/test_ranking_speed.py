"""Ranking everybody by every system, against LensKit's own road with the same system.

Run with ``make bench``, or ``pytest tests/benchmarks/test_ranking_speed.py -s --benchmark-only``.
Data have the shape of MovieLens 1M: the simulated world ``ml-1m``, 80 % of each user's ratings
training. Times are CPU time of one thread. LensKit's is that of ``lenskit.batch.recommend`` with
one process, for a sample of users, extrapolated to all; that it lists the same items is checked
first, near-ties aside.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import recommenders
from qrels import Ratings, Split
from qrels.ratings.splits.user_random import user_random
from qrels.ratings.world import make_world, world_settings
from recommenders import BatchScorer
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report, shown

DEPTH, SEED, SAMPLED_USERS = 100, 1, 300

SYSTEMS = list(recommenders.systems())


@cache
def world_split() -> Split:
    """Training and test ratings of the world."""
    return user_random(make_world(world_settings("ml-1m", {})).ratings, seed=SEED)


@cache
def training_ratings() -> Ratings:
    """Without the few items that lost all ratings, which only LensKit would recommend."""
    train = world_split().train
    items, item = np.unique(train.item, return_inverse=True)
    return replace(train, items=train.items.select(items), item=item.astype(np.int32))


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


class LensKitRoad:
    """A LensKit pipeline around a system, trained as ours was.

    Parameters
    ----------
    name
        Name of the system.
    trained
        Ours, of which a component around it need not be trained again.
    """

    def __init__(self, name: str, trained: BatchScorer) -> None:
        from lenskit.pipeline import topn_pipeline
        from lenskit.training import TrainingOptions

        from recommenders.shared.component import SystemScorer
        from recommenders.shared.lenskit_bridge import dataset_of, one_thread, silence

        component: Any = recommenders.component(name)
        if isinstance(component, SystemScorer):
            component.scorer = trained
        with silence(), one_thread():
            dataset = dataset_of(training_ratings())
            options = TrainingOptions(rng=SEED, device="cpu", retrain=False)
            component.train(dataset, options)
            self._pipeline = topn_pipeline(component, n=DEPTH)
            self._pipeline.train(dataset, options)

    def recommend(self, user_ids: NDArray[np.str_]) -> Any:
        from lenskit.batch import recommend

        from recommenders.shared.lenskit_bridge import one_thread, silence

        with silence(), one_thread():
            return recommend(self._pipeline, user_ids.tolist(), n_jobs=1)


def check_same_lists(scorer: BatchScorer, users: NDArray[np.int32], theirs: Any) -> None:
    """Demand, rank by rank, items that our scores do not tell apart."""
    ratings = training_ratings()
    ours = recommenders.recommend(scorer, ratings, users, system="ours", depth=DEPTH).items
    scores = scorer.score_batch(users).astype(np.float64)
    for row, user_id in enumerate(ratings.users.ids[users]):
        expected = ratings.items.numbers(theirs.lookup(user_id).ids().astype(str))
        found = ours[row][ours[row] >= 0]
        assert len(found) == len(expected), user_id
        np.testing.assert_allclose(scores[row, found], scores[row, expected], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.filterwarnings("ignore")
def test_ranking_everybody(benchmark: Any, name: str) -> None:
    ratings, trained = training_ratings(), []
    training = cpu_seconds(lambda: trained.append(recommenders.train(name, {}, ratings, seed=SEED)))
    everybody = np.arange(len(ratings.users), dtype=np.int32)
    sample = everybody[:: len(everybody) // SAMPLED_USERS][:SAMPLED_USERS]
    sampled_ids = ratings.users.ids[sample]

    road = LensKitRoad(name, trained[0])
    check_same_lists(trained[0], sample, road.recommend(sampled_ids))

    def rank() -> object:
        return recommenders.recommend(trained[0], ratings, everybody, system=name, depth=DEPTH)

    ours = min(cpu_seconds(rank) for _ in range(2))
    of_sample = min(cpu_seconds(lambda: road.recommend(sampled_ids)) for _ in range(2))
    theirs = of_sample * len(everybody) / len(sample)
    report(
        benchmark,
        f"{name}: the top {DEPTH} for {len(everybody):,} users",
        ours,
        beside=f"LensKit takes {shown(theirs / ours)} times that; training {shown(training)} CPU-s",
    )
    benchmark.pedantic(rank)
