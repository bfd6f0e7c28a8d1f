"""Estimators of sampled metrics, at the shapes of Li et al. (2023), on one BLAS thread.

Run with ``pytest tests/benchmarks/test_sampled_speed.py -s --benchmark-only``. Ranks are drawn from
(r + 20)^-s, which is like those of recommenders.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import binom
from threadpoolctl import threadpool_limits

from analyses.sampled.estimators import find_estimator
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.samples import SampleDesign
from qrels import FullRanks
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report

Floats = NDArray[np.float64]

CUTOFFS = range(1, 51)
METRICS = [f"{name}@{cutoff}" for name in ("Recall", "P", "AP", "nDCG", "RR") for cutoff in CUTOFFS]
METRICS += ["AUC", "AP", "nDCG"]
ITERATIONS = 100
N, N_USERS, M, REPEATS = 9916, 55_187, 100, 100
"""The shape of Pinterest."""


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def ranks_of(n_users: int, *, n: int, exponent: float) -> NDArray[np.int64]:
    shares = (np.arange(1.0, n + 1) + 20) ** -exponent
    return np.random.default_rng(0).choice(n, n_users, p=shares / shares.sum()) + 1


def least(make: Callable[[], object]) -> float:
    return min(cpu_seconds(make) for _ in range(3))


def plain_counts(ranks: NDArray[np.int64]) -> Floats:
    """Shares of the users in each cell, one sample a column."""
    rng, chances = np.random.default_rng(1), (ranks - 1) / (N - 1)
    counts = [np.bincount(rng.binomial(M, chances), minlength=M + 1) for _ in range(REPEATS)]
    return np.stack(counts, axis=1) / len(ranks)


def plain_estimates(shares: Floats) -> tuple[Floats, Floats]:
    """Recall@1 to 50 by BV(.1) and MLE@100 as they are printed: (n_samples, n_cutoffs) each."""
    table = np.asarray(binom.pmf(np.arange(M + 1), M, (np.arange(N) / (N - 1))[:, np.newaxis]))
    reached = table.mean(axis=0)
    matrix = 0.9 * table.T @ table / N + 0.1 * np.diag(reached)
    values = cho_solve(cho_factor(matrix), table[: CUTOFFS[-1]].cumsum(axis=0).T / N)
    mass = np.full((N, shares.shape[1]), 1 / N)
    for _ in range(ITERATIONS):
        mass *= table @ (shares / (table.T @ mass))
    return shares.T @ values, mass[: CUTOFFS[-1]].cumsum(axis=0).T


BV, MLE = find_estimator("bv(gamma=0.1)"), find_estimator("mle")
RECALLS = [f"Recall@{cutoff}" for cutoff in CUTOFFS]


def own_estimates(ranks: FullRanks) -> tuple[Floats, Floats]:
    samples = [SampleDesign((M,)).draw(ranks, seed=0, repeat=repeat) for repeat in range(REPEATS)]
    cells = Cells.of(samples)
    first, second = (one.fit_cells(cells).estimates(RECALLS) for one in (BV, MLE))
    return first, second


def test_a_hundred_repeats_against_plain_numpy(benchmark: Any) -> None:
    ranks = ranks_of(N_USERS, n=N, exponent=0.9685)
    full = FullRanks.of(ranks, n_candidates=N)
    sample = SampleDesign((M,)).draw(full, seed=0)
    shares = np.bincount(sample.above, minlength=M + 1)[:, np.newaxis] / N_USERS
    for one, expected in zip((BV, MLE), plain_estimates(shares), strict=True):
        np.testing.assert_allclose(one.fit(sample).estimates(RECALLS)[0], expected[0], rtol=1e-4)
    plain = least(lambda: plain_estimates(plain_counts(ranks)))
    own = least(lambda: own_estimates(full))
    benchmark.pedantic(own_estimates, (full,), rounds=1)
    report(
        benchmark,
        f"{REPEATS} samples of {M} negatives, BV(.1) and MLE@{ITERATIONS} of {N_USERS:,} users, "
        f"{N:,} items",
        own,
        beside=f"plain numpy (binomial, bincount, EM on one matrix) takes {plain / own:.1f} times "
        "that",
    )
