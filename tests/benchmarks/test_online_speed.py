"""Inference about 588 measures: permutations of the rates, and replicates of the measures.

Run with ``pytest tests/benchmarks -s --benchmark-only``.
"""

from typing import Any

import numpy as np
import pytest

from analyses.online.agreement.best_of_many import best_of_many
from analyses.online.arms.replicates import replicate_means
from analyses.online.tables.experiment import Experiment
from analyses.recall.parametrisations import recall_grid
from tests.benchmarks.machine import cpu_seconds, describe_machine

N_USERS = 100_000
MEASURES = tuple(str(one) for one in recall_grid())


def random_experiment(n_models: int) -> Experiment:
    rng = np.random.default_rng(0)
    models = tuple(f"model {number}" for number in range(n_models))
    values = rng.random((len(MEASURES), n_models))
    return Experiment("A", models, MEASURES, values, rng.random(n_models))


@pytest.mark.parametrize(("n_models", "n_orders"), [(24, 10_000), (9, 362_880)])
def test_best_of_many(benchmark: Any, n_models: int, n_orders: int) -> None:
    one = random_experiment(n_models)

    def permute() -> int:
        return len(best_of_many([one], permutations=10_000, seed=0).maxima)

    assert benchmark.pedantic(permute) == n_orders
    print(
        f"\n{describe_machine()}\n{len(MEASURES)} measures of {n_models} models, {n_orders:,} "
        f"orders of the rates: {cpu_seconds(permute):.2f} CPU-s"
    )


def test_replicates_of_measures(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    shares = rng.random((N_USERS, len(MEASURES)), dtype=np.float32)
    ones = np.ones((N_USERS, 1), dtype=np.float32)
    weights = rng.poisson(1, N_USERS).astype(np.float64)

    def resample() -> object:
        return replicate_means(shares, ones, weigh=lambda replicate: weights, replicates=200)

    benchmark.pedantic(resample)
    print(
        f"\n200 replicates of {len(MEASURES)} measures of one model, {N_USERS:,} users: "
        f"{cpu_seconds(resample):.2f} CPU-s"
    )
