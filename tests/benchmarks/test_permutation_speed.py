"""Permutation tests of 210 pairs x 77 measures over 6,040 users, against plain ways to do them.

Run with ``pytest tests/benchmarks -s --benchmark-only``. Scores are synthetic: about as skewed as
those of MovieLens 1M, with the lattices of P@k, RR@5 and RR@10 among them.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from analyses.discrimination import discriminate
from analyses.measure import Measure, Scores
from analyses.permutation import monte_carlo_test
from analyses.permutation.monte_carlo import BLOCK, count_as_extreme, to_grid
from analyses.permutation.signs import random_signs
from tests.benchmarks.machine import cpu_seconds, describe_machine

CUTOFFS = (5, *range(10, 101, 10))
CONTINUOUS = ("Recall", "AP", "nDCG", "bpref", "infAP")
N_SYSTEMS, N_USERS, PERMUTATIONS = 21, 6040, 100_000
SCALES = {Measure("P", k): k for k in CUTOFFS} | {Measure("RR", 5): 60, Measure("RR", 10): 2520}

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def scores() -> Scores:
    """Systems a little better one by one, so that many pairs are within reach of the test."""
    rng = np.random.default_rng(0)
    quality = np.linspace(0.10, 0.13, N_SYSTEMS)[:, np.newaxis]
    rates = np.minimum(quality * rng.lognormal(0, 0.5, N_USERS), 0.9)
    values = []
    for k in CUTOFFS:
        ranks = rng.geometric(rates)
        values.append(rng.binomial(k, rates) / k)
        values.append(np.where(ranks <= k, 1 / ranks, 0.0))
        values.extend(rng.beta(10 * rates, 5.0, (len(CONTINUOUS), *rates.shape)))
    measures = tuple(Measure(name, k) for k in CUTOFFS for name in ("P", "RR", *CONTINUOUS))
    systems = tuple(f"s{number}" for number in range(N_SYSTEMS))
    return Scores(np.array(values), measures, systems, np.arange(N_USERS).astype(np.str_))


@pytest.fixture(scope="module", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    with threadpool_limits(limits=1, user_api="blas"):
        print(f"\n{describe_machine()}")
        yield


def plain_loop(values: Floats, *, permutations: int) -> Floats:
    """Flip the signs of one pair of one measure at a time, as one would write it down."""
    return np.array(
        [
            [_p_of_pair(a - b, permutations=permutations) for a, b in combinations(systems, 2)]
            for systems in values
        ]
    )


def _p_of_pair(differences: Floats, *, permutations: int) -> float:
    signs = random_signs(0, permutations, n_users=len(differences), seed=0)
    sums = np.abs((signs * differences).sum(axis=1))
    n_extreme = np.count_nonzero(sums >= abs(differences.sum()) - 1e-7)
    return (n_extreme + 1) / (permutations + 1)


def test_the_plain_loop_computes_the_same(benchmark: Any, scores: Scores) -> None:
    few = scores.values[:7, :3]
    plain = benchmark.pedantic(plain_loop, args=(few,), kwargs={"permutations": 200})
    np.testing.assert_array_equal(plain, monte_carlo_test(few, permutations=200, seed=0))


def test_exact(benchmark: Any, scores: Scores) -> None:
    few, permutations = scores.values[:7, :3], 200
    share = few.shape[0] * 3 * permutations / (len(scores.values) * 210 * PERMUTATIONS)
    plain = cpu_seconds(lambda: plain_loop(few, permutations=permutations)) / share
    exact = cpu_seconds(lambda: discriminate(scores, scales=SCALES))
    result = benchmark.pedantic(discriminate, args=(scores,), kwargs={"scales": SCALES})
    print(
        f"\nexact {exact:.2f} CPU-s; plain loop {plain:,.0f} CPU-s (extrapolated from "
        f"{permutations} permutations, 3 pairs x 7 measures); ratio {plain / exact:,.0f}; "
        f"methods {dict(Counter(result.methods.ravel().tolist()))}"
    )


def test_monte_carlo(benchmark: Any, scores: Scores) -> None:
    grid, n_blocks = to_grid(scores.values), 4
    rows = grid.reshape(-1, N_USERS)
    signs = random_signs(0, BLOCK, n_users=N_USERS, seed=0)
    bare = cpu_seconds(lambda: [rows @ signs.T for _ in range(n_blocks)])
    whole = cpu_seconds(lambda: count_as_extreme(grid, 0, n_blocks * BLOCK, seed=0))
    benchmark.pedantic(count_as_extreme, args=(grid, 0, n_blocks * BLOCK), kwargs={"seed": 0})
    rate = 2 * len(rows) * N_USERS * n_blocks * BLOCK / bare / 1e9
    scale = PERMUTATIONS / (n_blocks * BLOCK)
    print(
        f"\nMonte-Carlo {whole * scale:.1f} CPU-s; bare matrix product {bare * scale:.1f} CPU-s "
        f"at {rate:.0f} GFLOP/s (both extrapolated from {n_blocks * BLOCK:,} of "
        f"{PERMUTATIONS:,} permutations); ratio {whole / bare:.2f}"
    )
