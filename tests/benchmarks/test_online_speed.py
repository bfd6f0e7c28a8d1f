"""Inference about 588 measures: permutations of the rates.

Run with ``pytest tests/benchmarks -s --benchmark-only``.
"""

from typing import Any

import numpy as np
import pytest

from analyses.online.best_of_many import best_of_many
from analyses.online.experiments import Experiment
from tests.analyses.online.examples import GRID
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report


def random_experiment(n_models: int) -> Experiment:
    rng = np.random.default_rng(0)
    models = tuple(f"model {number}" for number in range(n_models))
    values = rng.random((len(GRID), n_models))
    return Experiment("A", models, GRID, values, rng.random(n_models))


@pytest.mark.parametrize(("n_models", "n_orders"), [(24, 10_000), (9, 362_880)])
def test_best_of_many(benchmark: Any, n_models: int, n_orders: int) -> None:
    one = random_experiment(n_models)

    def permute() -> int:
        return len(best_of_many([one], permutations=10_000, seed=0).maxima)

    assert benchmark.pedantic(permute) == n_orders
    report(
        benchmark,
        f"the best of {len(GRID)} measures over {n_models} models, {n_orders:,} orders of rates",
        cpu_seconds(permute),
    )
