"""Permutation tests of 210 pairs x 77 measures over 6,040 users, against plain ways to do them.

max-T by the bootstrap, against max-T by sign flips.

Run with ``pytest tests/benchmarks -s --benchmark-only``. Scores are synthetic: about as skewed as
those of MovieLens 1M, with the lattices of P@k, RR@5 and RR@10 among them.
"""

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from analyses.shared.exact_sums import to_grid
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.significance.bootstrap_max_t import max_t_test
from analyses.significance.corrections import sign_flip_max_t_test
from analyses.significance.enumeration import by_enumeration
from analyses.significance.permutation import (
    BLOCK,
    count_as_extreme,
    exact_test,
    monte_carlo_test,
    pair_indices,
    random_signs,
)
from analyses.significance.permutation_loops import cosine_products
from analyses.significance.power_samples import REPLICATES, PowerSamples, resample_power
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report

CUTOFFS = (5, *range(10, 101, 10))
CONTINUOUS = ("Recall", "AP", "nDCG", "bpref", "infAP")
N_SYSTEMS, N_USERS, PERMUTATIONS = 21, 6040, 100_000
SCALES = {Measure("P", k): k for k in CUTOFFS} | {Measure("RR", 5): 60, Measure("RR", 10): 2520}

MAX_T_RATIO = 2.5
"""CPU time of max-T by the bootstrap over that of sign flips, which letters had up to 0.24.0."""

MAX_T_REPLICATES = 10_000
ROUNDS = 3

Floats = NDArray[np.float64]


def simulate(*, n_systems: int, n_users: int) -> Scores:
    """Systems a little better one by one, so that many pairs are within reach of the test."""
    rng = np.random.default_rng(0)
    quality = np.linspace(0.10, 0.13, n_systems)[:, np.newaxis]
    rates = np.minimum(quality * rng.lognormal(0, 0.5, n_users), 0.9)
    values = []
    for k in CUTOFFS:
        ranks = rng.geometric(rates)
        values.append(rng.binomial(k, rates) / k)
        values.append(np.where(ranks <= k, 1 / ranks, 0.0))
        values.extend(rng.beta(10 * rates, 5.0, (len(CONTINUOUS), *rates.shape)))
    measures = Measures(Measure(name, k) for k in CUTOFFS for name in ("P", "RR", *CONTINUOUS))
    systems = tuple(f"s{number}" for number in range(n_systems))
    return Scores(np.array(values), measures, systems, np.arange(n_users).astype(np.str_))


@pytest.fixture(scope="module")
def scores() -> Scores:
    return simulate(n_systems=N_SYSTEMS, n_users=N_USERS)


def p_values(scores: Scores) -> Floats:
    """Exact p-values of all pairs and measures, with required differences."""
    results = [
        exact_test(values, scale=SCALES.get(measure))
        for measure, values in zip(scores.measures, scores.values, strict=True)
    ]
    return np.array([result.p for result in results])


@pytest.fixture(scope="module", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    with threadpool_limits(limits=1, user_api="blas"):
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
    np.testing.assert_array_equal(plain, monte_carlo_test(few, permutations=200, seed=0).p)


def test_exact(benchmark: Any, scores: Scores) -> None:
    few, permutations = scores.values[:7, :3], 200
    share = few.shape[0] * 3 * permutations / (len(scores.values) * 210 * PERMUTATIONS)
    plain = cpu_seconds(lambda: plain_loop(few, permutations=permutations)) / share
    exact = cpu_seconds(lambda: p_values(scores))
    benchmark.pedantic(p_values, args=(scores,))
    report(
        benchmark,
        f"exact p-values and smallest significant differences of 210 pairs x 77 measures, "
        f"{N_USERS:,} users",
        exact,
        beside=f"a plain numpy loop with {PERMUTATIONS:,} permutations takes {plain / exact:,.0f} "
        f"times that (extrapolated from {permutations} of 3 pairs x 7 measures)",
    )


def test_growth(benchmark: Any, scores: Scores) -> None:
    small = min(cpu_seconds(lambda: p_values(scores)) for _ in range(2))
    for n_systems, n_users, law in ((42, N_USERS, 861 / 210), (N_SYSTEMS, 2 * N_USERS, 2.0)):
        larger = simulate(n_systems=n_systems, n_users=n_users)
        seconds = min(cpu_seconds(partial(p_values, larger)) for _ in range(2))
        report(
            benchmark,
            f"... of {n_systems} systems, {n_users:,} users",
            seconds,
            beside=f"{seconds / small:.1f} times the {small:.1f} of {N_SYSTEMS} systems, "
            f"{N_USERS:,} users, for {law:.1f} times as many pairs x users",
        )
    benchmark.pedantic(lambda: None)


@pytest.mark.parametrize("decimals", [4, 5])
def test_many_systems_and_fifty_topics(benchmark: Any, decimals: int) -> None:
    rng = np.random.default_rng(0)
    topics = rng.beta(0.5, 1.5, 50) * np.linspace(0.7, 1.3, 129)[:, np.newaxis]
    noisy = topics + rng.normal(0, 0.1, topics.shape)
    scores = np.rint(np.clip(noisy, 0.0, 1.0) * 10.0**decimals) / 10.0**decimals
    plain = cpu_seconds(lambda: exact_test(scores))
    benchmark.pedantic(exact_test, args=(scores,))
    report(
        benchmark,
        f"... of 129 systems, 50 topics, scores of {decimals} decimals, one measure",
        plain,
        beside=f"{plain / 8256 * 1e3:.2f} ms a pair",
    )


def test_enumeration_beside_sorting_its_sums(benchmark: Any) -> None:
    """40 users without ties: two lists of 2^20 sums, of which p and the smallest sum are found."""
    rng = np.random.default_rng(0)
    differences = rng.normal(0.2, 1.0, 40)
    by_enumeration(differences, alpha=0.05)
    lists = rng.normal(size=(2, 2**20))
    sorting = min(cpu_seconds(lambda: np.sort(lists, axis=1)) for _ in range(5))
    whole = min(cpu_seconds(lambda: by_enumeration(differences, alpha=0.05)) for _ in range(5))
    benchmark.pedantic(by_enumeration, args=(differences,), kwargs={"alpha": 0.05})
    report(
        benchmark,
        "a p-value and a smallest significant difference by enumeration, 40 users",
        whole,
        beside=f"{whole / sorting:.1f} times what sorting as many sums takes",
    )
    assert whole < 6 * sorting


def test_products_of_cosines_beside_numpy(benchmark: Any) -> None:
    """A series of 65,536 terms for 50 users."""
    n_terms = 2**16
    turns = np.random.default_rng(0).uniform(0.0, 0.01, 50)
    numbers = np.arange(1, n_terms + 1)

    def in_numpy() -> Floats:
        return np.cos(np.multiply.outer(numbers, turns)).prod(axis=1)

    products = cosine_products(turns, 1, n_terms, 0.0)
    np.testing.assert_allclose(products, in_numpy(), rtol=0, atol=1e-11)

    by_numpy = min(cpu_seconds(in_numpy) for _ in range(5))
    by_loop = min(cpu_seconds(lambda: cosine_products(turns, 1, n_terms, 0.0)) for _ in range(5))
    benchmark.pedantic(cosine_products, args=(turns, 1, n_terms, 0.0))
    report(
        benchmark,
        f"products of cosines, {n_terms:,} terms of 50 users",
        by_loop,
        beside=f"numpy takes {by_numpy / by_loop:.1f} times that",
    )
    assert by_loop < by_numpy / 3


def test_resampling_users(benchmark: Any, scores: Scores) -> None:
    p, n_few = p_values(scores), 11
    n_pairs = p.shape[1]

    def resample() -> PowerSamples:
        return resample_power(
            scores.values[:n_few],
            p[:n_few],
            p[:n_few],
            pair_indices(N_SYSTEMS),
            scales=(None,) * n_few,
            groups=np.empty((0, n_pairs)),
            sets=np.empty((0, n_pairs), dtype=bool),
            replicates=REPLICATES,
            seed=0,
        )

    seconds = cpu_seconds(resample)
    benchmark.pedantic(resample)
    report(
        benchmark,
        f"{REPLICATES} resamples of the users, all powers of 210 pairs x 77 measures",
        seconds * len(p) / n_few,
        beside=f"extrapolated from {n_few} measures",
    )


def test_monte_carlo(benchmark: Any, scores: Scores) -> None:
    grid, n_blocks = to_grid(scores.values), 4
    rows = grid.reshape(-1, N_USERS)
    signs = random_signs(0, BLOCK, n_users=N_USERS, seed=0)
    count_as_extreme(grid[:1], 0, 1, seed=0)
    bare = cpu_seconds(lambda: [rows @ signs.T for _ in range(n_blocks)])
    whole = cpu_seconds(lambda: count_as_extreme(grid, 0, n_blocks * BLOCK, seed=0))
    benchmark.pedantic(count_as_extreme, args=(grid, 0, n_blocks * BLOCK), kwargs={"seed": 0})
    rate = 2 * len(rows) * N_USERS * n_blocks * BLOCK / bare / 1e9
    scale = PERMUTATIONS / (n_blocks * BLOCK)
    report(
        benchmark,
        f"Monte-Carlo p-values of 210 pairs x 77 measures, {PERMUTATIONS:,} permutations",
        whole * scale,
        beside=f"{whole / bare:.2f} times what the bare matrix products take, at {rate:.0f} "
        f"GFLOP/s (extrapolated from {n_blocks * BLOCK:,} permutations)",
    )


@pytest.mark.parametrize(
    ("n_systems", "n_users"), [(8, 100), (20, 600), (21, 6040), (50, 1000), (129, 50)]
)
def test_max_t(benchmark: Any, n_systems: int, n_users: int) -> None:
    values = simulate(n_systems=n_systems, n_users=n_users).values[:2]
    flip_signs = partial(sign_flip_max_t_test, values, permutations=MAX_T_REPLICATES, seed=0)
    resample = partial(max_t_test, values, permutations=MAX_T_REPLICATES, seed=0)
    max_t_test(values[:, :3], permutations=1, seed=0)
    # In turn, as other work on the machine slows both down.
    times = [(cpu_seconds(flip_signs), cpu_seconds(resample)) for _ in range(ROUNDS)]
    of_sign_flips, of_bootstrap = np.min(times, axis=0)
    benchmark.pedantic(resample)
    ratio = of_bootstrap / of_sign_flips
    report(
        benchmark,
        f"max-T by the bootstrap, {n_systems} systems, {n_users:,} users, 2 measures, "
        f"{MAX_T_REPLICATES:,} resamples",
        of_bootstrap,
        beside=f"{ratio:.1f} times what sign flips take",
    )
    assert ratio < MAX_T_RATIO
