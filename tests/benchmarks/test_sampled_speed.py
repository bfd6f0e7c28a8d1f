"""Estimators of sampled metrics, at the shapes of Li et al. (2023), on one BLAS thread.

Run with ``pytest tests/benchmarks/test_sampled_speed.py -s --benchmark-only``. Ranks are drawn from
(r + 20)^-s, which is like those of recommenders.
"""

import resource
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom
from threadpoolctl import threadpool_limits

from analyses.sampled.estimators import (
    Estimator,
    adaptive_mle,
    bv,
    cls,
    mes,
    mle,
    mn,
    rank_estimate,
    uncorrected,
)
from analyses.sampled.samples.from_full_ranks import sample_ranks, sample_ranks_adaptive
from analyses.sampled.samples.sampled_ranks import SampledRanks
from tests.benchmarks.machine import cpu_seconds, describe_machine

Floats = NDArray[np.float64]

CUTOFFS = range(1, 51)
METRICS = [f"{name}@{cutoff}" for name in ("Recall", "P", "AP", "nDCG", "RR") for cutoff in CUTOFFS]
METRICS += ["AUC", "AP", "nDCG"]
ITERATIONS = 100


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    print(f"\n{describe_machine()}")
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def ranks_of(n_users: int, *, n: int, exponent: float) -> NDArray[np.int64]:
    shares = (np.arange(1.0, n + 1) + 20) ** -exponent
    return np.random.default_rng(0).choice(n, n_users, p=shares / shares.sum()) + 1


def per_user_em(sample: SampledRanks, *, n: int, iterations: int) -> Floats:
    """EM as it is printed: the probability of every rank for every user."""
    theta = np.arange(n) / (n - 1)
    m = int(sample.n_negatives[0])
    likelihood = np.asarray(binom.pmf(np.arange(m + 1)[:, None], m, theta))
    mass = np.full(n, 1 / n)
    for _ in range(iterations):
        joint = likelihood[sample.above] * mass
        mass = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    return mass


def test_em_on_cells_is_a_thousand_times_faster_than_on_users(benchmark: Any) -> None:
    n, n_users, few = 9916, 55_187, 500
    ranks = ranks_of(n_users, n=n, exponent=0.9685)
    sample = sample_ranks(ranks, n_candidates=n, m=99, seed=0)
    some = sample_ranks(ranks[:few], n_candidates=n, m=99, seed=0)
    plain = cpu_seconds(lambda: per_user_em(some, n=n, iterations=4))
    # Less the table, which does not grow with the users.
    plain -= cpu_seconds(lambda: per_user_em(some, n=n, iterations=0))
    plain *= n_users / few * ITERATIONS / 4
    expected = per_user_em(some, n=n, iterations=4).cumsum()[:50]
    found = mle(iters=4).fit(some).curve("Recall", CUTOFFS)
    np.testing.assert_allclose(found, expected, rtol=1e-4)

    def fit(path: str = "grid") -> Floats:
        return mle(iters=ITERATIONS).fit(sample, path=path).curve("Recall", CUTOFFS)

    grid = min(cpu_seconds(fit) for _ in range(3))
    full = min(cpu_seconds(lambda: fit("full")) for _ in range(3))
    benchmark.pedantic(fit, rounds=3)
    print(
        f"\nMLE@100: grid {grid:.3f} CPU-s, all ranks {full:.3f}; per user {plain:,.0f} "
        f"(extrapolated from {few} users, 4 iterations); ratios {plain / grid:,.0f}, "
        f"{plain / full:,.0f}"
    )


@pytest.mark.parametrize("estimator", [bv(0.01), bv(0.01, prior="mle"), mn()], ids=str)
@pytest.mark.parametrize("path", ["grid", "full"])
def test_all_metrics_at_all_cutoffs(benchmark: Any, estimator: Estimator, path: str) -> None:
    n = 25_815
    ranks = ranks_of(25_677, n=n, exponent=0.8782)
    sample = sample_ranks(ranks, n_candidates=n, m=499, seed=0)

    def fit() -> Floats:
        return estimator.fit(sample, path=path).fits.estimates(METRICS)

    spent = min(cpu_seconds(fit) for _ in range(2))
    benchmark.pedantic(fit, rounds=1)
    print(f"\n{estimator}, {path}: {len(METRICS)} metrics {spent:.3f} CPU-s")


def test_a_hundred_repeats_of_all_estimators(benchmark: Any) -> None:
    n = 10_000
    ranks = ranks_of(6040, n=n, exponent=0.9)
    samples = [sample_ranks(ranks, n_candidates=n, m=99, seed=0, repeat=one) for one in range(100)]
    estimators: list[Estimator] = [
        uncorrected(),
        *(rank_estimate(mode=mode) for mode in ("floor", "round", "linear")),
        *(cls(nonnegative=nonnegative) for nonnegative in (False, True)),
        *(bv(gamma) for gamma in (1.0, 0.1, 0.01, 0.001)),
        *(bv(0.01, prior=prior) for prior in ("mle", "mes", "pooled:mle")),
        *(mn(prior=prior) for prior in ("uniform", "mle", "mes", "pooled:mle")),
        mle(),
        mes(),
    ]

    def fit() -> list[Floats]:
        return [one.fit_repeats(samples).estimates(METRICS) for one in estimators]

    spent = cpu_seconds(fit)
    benchmark.pedantic(fit, rounds=1)
    print(f"\n100 repeats, {len(estimators)} estimators, {len(METRICS)} metrics: {spent:.2f} CPU-s")


def test_adaptive_samples(benchmark: Any) -> None:
    n = 20_720
    ranks = ranks_of(136_677, n=n, exponent=0.9)
    sample = sample_ranks_adaptive(ranks, n_candidates=n, seed=0)

    def fit() -> Floats:
        return adaptive_mle().fit(sample).curve("Recall", CUTOFFS)

    spent = min(cpu_seconds(fit) for _ in range(3))
    benchmark.pedantic(fit, rounds=1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    megabytes = memory / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    print(f"\nadaptive MLE@50 {spent:.3f} CPU-s; at most {megabytes:,.0f} MB were held all along")
