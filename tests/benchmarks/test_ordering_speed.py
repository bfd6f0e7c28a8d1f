"""Agreement of 77,000 orderings of 21 systems with 77 references, against scipy in a loop.

Run with ``pytest tests/benchmarks -s --benchmark-only``. Against scipy, scores have two decimals,
so that about one pair in a hundred is tied; else all digits, since tau_AP knows no ties.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kendalltau

from analyses.ordering import COEFFICIENTS, tau_b
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report

N_MEASURES, N_SAMPLES, N_SYSTEMS = 77, 1000, 21
FEW = 20
"""Samples of every measure that scipy is given."""

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def orderings() -> tuple[Floats, Floats]:
    """Samples (measures, samples, systems), and references (measures, 1, systems)."""
    rng = np.random.default_rng(0)
    reference = rng.random((N_MEASURES, 1, N_SYSTEMS))
    samples = reference + rng.normal(0, 0.1, (N_MEASURES, N_SAMPLES, N_SYSTEMS))
    return samples, reference


def loop_of_scipy(samples: Floats, references: Floats) -> list[list[float]]:
    return [
        [kendalltau(sample, reference[0]).statistic for sample in group]
        for group, reference in zip(samples, references, strict=True)
    ]


def test_scipy_computes_the_same(benchmark: Any, orderings: tuple[Floats, Floats]) -> None:
    samples, references = (scores.round(2) for scores in orderings)
    expected = benchmark.pedantic(loop_of_scipy, args=(samples[:, :FEW], references))
    np.testing.assert_allclose(tau_b(samples[:, :FEW], references), expected, atol=1e-15)


def test_tau_b(benchmark: Any, orderings: tuple[Floats, Floats]) -> None:
    samples, references = (scores.round(2) for scores in orderings)
    tau_b(samples, references)
    scipy = cpu_seconds(lambda: loop_of_scipy(samples[:, :FEW], references)) * N_SAMPLES / FEW
    own = min(cpu_seconds(lambda: tau_b(samples, references)) for _ in range(5))
    benchmark.pedantic(tau_b, args=(samples, references), rounds=5)
    report(
        benchmark,
        f"tau-b of {N_MEASURES * N_SAMPLES:,} orderings of {N_SYSTEMS} systems, some of them tied",
        own,
        beside=f"scipy.stats.kendalltau in a loop takes {scipy / own:,.0f} times that "
        f"(extrapolated from {FEW} of {N_SAMPLES:,} samples)",
    )


@pytest.mark.parametrize("name", [name for name in COEFFICIENTS if name != "tau-b"])
def test_coefficients(benchmark: Any, orderings: tuple[Floats, Floats], name: str) -> None:
    samples, references = orderings
    compare = COEFFICIENTS[name].compare
    compare(samples, references)
    unit = min(cpu_seconds(lambda: tau_b(samples, references)) for _ in range(5))
    own = min(cpu_seconds(lambda: compare(samples, references)) for _ in range(5))
    benchmark.pedantic(compare, args=(samples, references), rounds=5)
    report(
        benchmark,
        f"{name} of {N_MEASURES * N_SAMPLES:,} orderings of {N_SYSTEMS} systems, none of them tied",
        own,
        beside=f"{own / unit:.1f} times what tau-b takes for these",
    )
