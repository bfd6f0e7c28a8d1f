"""Full ranks of one held-out item per user, and 100 samples of them.

Run with ``make bench``, or ``pytest tests/benchmarks/test_full_rank_speed.py -s --benchmark-only``.
Data have the shape of MovieLens 1M: the simulated world ``ml-1m``, one rating of each user held
out. Times are CPU time of one thread.
"""

from typing import Any

import numpy as np
import pytest

import recommenders
from analyses.sampled.samples import SampleDesign
from qrels import FullRanks
from qrels.ratings.splits.leave_one_out_random import leave_one_out_random
from qrels.ratings.world import make_world, world_settings
from tests.benchmarks.machine import cpu_seconds, describe_machine

TARGET = 2.0
SAMPLING_TARGET = 5.0
N_USERS, N_CANDIDATES = 55_187, 9_916


def test_full_ranks_take_seconds(benchmark: Any) -> None:
    split = leave_one_out_random(make_world(world_settings("ml-1m", {})).ratings, seed=1)
    scorer = recommenders.train("puresvd", {}, split.train, seed=1)
    first = split.test.select(split.test.user < 9)
    recommenders.full_ranks(scorer, split.train, first)

    def rank() -> object:
        return recommenders.full_ranks(scorer, split.train, split.test)

    seconds = cpu_seconds(rank)
    print(f"\n{describe_machine()}\nfull ranks: {seconds:.2f} CPU-s")
    assert seconds < TARGET
    benchmark.pedantic(rank)


SAMPLERS = {
    "with replacement": SampleDesign((99,)),
    "without replacement": SampleDesign((99,), replace=False),
    "adaptive": SampleDesign.growing(100, 3200),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_hundred_repeats_take_seconds(benchmark: Any, name: str) -> None:
    shares = np.cumsum((np.arange(1, N_CANDIDATES + 1) + 20.0) ** -0.9685)
    uniforms = np.random.default_rng(1).random(N_USERS)
    ranks = 1 + np.searchsorted(shares / shares[-1], uniforms)
    full = FullRanks.of(ranks, n_candidates=N_CANDIDATES)
    SAMPLERS[name].draw(full, seed=1)

    def sample() -> object:
        return [SAMPLERS[name].draw(full, seed=1, repeat=repeat) for repeat in range(100)]

    seconds = cpu_seconds(sample)
    print(f"\n100 repeats, {name}: {seconds:.2f} CPU-s")
    assert seconds < SAMPLING_TARGET
    benchmark.pedantic(sample)
