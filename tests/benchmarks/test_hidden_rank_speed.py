"""Ranks of 1.9 million hidden items, and all recalls of them, against `implicit`.

Run with ``make bench``, or ``pytest tests/benchmarks/test_hidden_rank_speed.py -s
--benchmark-only``. 100,000 users like two of forty topics of 20,000 items; similarities are
cosines, 100 neighbours each. Times are CPU time of one thread. That of `implicit` is one call of
``recommend`` for every item left out, in batches, for a sample of users, extrapolated to all; that
it ranks them the same is checked first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from threadpoolctl import threadpool_limits

from analyses.recall.recall import measure_recall
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenRanks
from recommenders.kernels.embeddings import cosine_neighbours
from recommenders.kernels.hidden_ranks import rank_hidden
from runs import Numbering
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report

N_USERS, N_ITEMS, N_TOPICS, NEIGHBOURS = 100_000, 20_000, 40, 100
SAMPLED_USERS, BATCH, DEPTH = 500, 1000, 50
LEAST_RATIO = 15.0
STEP = 2.0**-24
"""Similarities are rounded to it, so that sums are exact on either side."""


def _ids(n: int) -> Numbering:
    return Numbering(np.array([f"{number:06d}" for number in range(n)]))


@cache
def _topics() -> NDArray[np.int64]:
    return np.random.default_rng(1).integers(0, N_TOPICS, N_ITEMS)


@cache
def similarity() -> csr_array[Any]:
    """Cosines of items near the centres of their topics."""
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(N_TOPICS, 16))
    vectors = centres[_topics()] + 0.6 * rng.normal(size=(N_ITEMS, 16))
    near = cosine_neighbours(vectors, count=NEIGHBOURS)
    near.data = np.rint(near.data / STEP) * STEP
    return near


@cache
def events() -> Interactions:
    """Long and short profiles, popular and rare items; the mean profile has 19 items."""
    rng = np.random.default_rng(3)
    sizes = np.clip(rng.lognormal(np.log(14.1), 0.9, N_USERS).astype(int), 2, 300)
    user = np.repeat(np.arange(N_USERS), sizes)
    likes = rng.integers(0, N_TOPICS, (N_USERS, 2))[user, rng.integers(0, 2, len(user))]
    popularity = np.exp(rng.normal(0, 1.3, N_ITEMS))
    item = np.empty(len(user), dtype=np.int64)
    for topic in range(N_TOPICS):
        members, wanted = np.flatnonzero(_topics() == topic), likes == topic
        shares = popularity[members] / popularity[members].sum()
        item[wanted] = rng.choice(members, np.count_nonzero(wanted), p=shares)
    time = rng.integers(0, 10**9, len(user))
    return Interactions.of(_ids(N_USERS), _ids(N_ITEMS), user=user, item=item, time=time)


@cache
def ranks() -> HiddenRanks:
    return rank_hidden(similarity(), events(), n_jobs=1)


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile the loops and make the data before anything is timed."""
    few = events().select(events().user < 9)
    rank_hidden(similarity(), few, n_jobs=1)


def test_hidden_ranks(benchmark: Any) -> None:
    def rank() -> object:
        return rank_hidden(similarity(), events(), n_jobs=1)

    seconds = cpu_seconds(rank)
    hidden = np.count_nonzero(events().is_first)
    report(
        benchmark,
        f"LOO and LLOO ranks of {hidden:,} hidden items, {N_USERS:,} users, {N_ITEMS:,} items",
        seconds,
    )
    benchmark.pedantic(rank)


def test_all_recalls(benchmark: Any) -> None:
    found, counts = ranks(), events().event_counts()

    def measure() -> object:
        return measure_recall(found, counts)

    seconds = cpu_seconds(measure)
    report(benchmark, "all 588 recalls from these ranks", seconds)
    benchmark.pedantic(measure)


def _left_out(sample: HiddenRanks) -> csr_matrix:
    """Give the profiles without the hidden item, a row for each."""
    hidden = sample.hidden
    owner, column = [], []
    for row, (user, item) in enumerate(zip(hidden.user, hidden.item, strict=True)):
        start, stop = np.searchsorted(hidden.user, [user, user + 1])
        others = hidden.item[start:stop][hidden.item[start:stop] != item]
        owner.append(np.full(len(others), row))
        column.append(others)
    rows, columns = np.concatenate(owner), np.concatenate(column)
    return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(hidden), N_ITEMS))


def _road_of_implicit(profiles: csr_matrix) -> Callable[[], list[NDArray[np.int32]]]:
    """Prepare calls that recommend from each profile."""
    from implicit.nearest_neighbours import ItemItemRecommender, NearestNeighboursScorer  # type: ignore[import-untyped]

    model = ItemItemRecommender(K=NEIGHBOURS)
    near = similarity()
    places = (near.indices.astype(np.int32), near.indptr.astype(np.int32))
    model.similarity = csr_matrix((near.data, *places), shape=near.shape)
    model.scorer = NearestNeighboursScorer(model.similarity)
    starts = range(0, profiles.shape[0], BATCH)
    batches = [profiles[start : start + BATCH] for start in starts]

    def recommend() -> list[NDArray[np.int32]]:
        return [model.recommend(np.arange(b.shape[0]), b, N=DEPTH)[0] for b in batches]

    return recommend


@pytest.mark.filterwarnings("ignore")
def test_implicit_ranks_the_same_and_takes_longer(benchmark: Any) -> None:
    pytest.importorskip("implicit", reason="compares with the package implicit")
    chosen = np.linspace(0, N_USERS - 1, SAMPLED_USERS).astype(np.int32)
    some = events().select(np.isin(events().user, chosen))
    sample = rank_hidden(similarity(), some, n_jobs=1)
    with threadpool_limits(1):
        recommend = _road_of_implicit(_left_out(sample))
        lists = np.concatenate(recommend())
        theirs = cpu_seconds(recommend) * np.count_nonzero(events().is_first) / len(sample)
    is_hidden = lists == sample.hidden.item[:, np.newaxis]
    expected = np.where(is_hidden.any(axis=1), is_hidden.argmax(axis=1) + 1, MISS)
    found = np.where(sample.rank_loo <= DEPTH, sample.rank_loo, MISS)
    np.testing.assert_array_equal(found, expected)
    ours = cpu_seconds(lambda: rank_hidden(similarity(), events(), n_jobs=1))
    report(
        benchmark,
        "the same ranks, LOO and LLOO, beside implicit, which finds LOO alone",
        ours,
        beside=f"implicit takes {theirs / ours:.0f} times that (extrapolated from {len(sample):,} "
        "hidden items)",
    )
    assert theirs / ours > LEAST_RATIO
    benchmark.pedantic(recommend)
