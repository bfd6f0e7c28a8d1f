"""Tables and samples that the tests of estimators share."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.shared.cells import Group
from analyses.sampled.estimators.shared.em import em_step
from analyses.sampled.estimators.shared.estimator import Fits
from analyses.sampled.estimators.shared.nodes import Nodes
from analyses.sampled.samples.sampled_ranks import SampledRanks

Floats = NDArray[np.float64]


def nodes_and_table(
    n: int, m: int, *, replace: bool = True, path: str = "full"
) -> tuple[Nodes, Floats]:
    group = Group(n - 1, m, m, replace, path)
    return group.nodes, group.table


def sample_of(counts: Sequence[int], *, n: int, replace: bool = True) -> SampledRanks:
    """So many users at rank 1, 2, .. of the sample."""
    ranks = np.repeat(np.arange(1, len(counts) + 1), counts)
    return SampledRanks.of(ranks, n_negatives=len(counts) - 1, n_candidates=n, replace=replace)


def power_law(n: int, *, offset: float, exponent: float = 1.0) -> Floats:
    shares = (np.arange(1.0, n + 1) + offset) ** -exponent
    return shares / shares.sum()


def learned(
    tables: Sequence[Floats], shares: Sequence[Floats], *, weights: Floats, iterations: int
) -> Floats:
    """What so many iterations of EM have learned."""
    mass = np.repeat((weights / weights.sum())[:, np.newaxis], shares[0].shape[1], axis=1)
    for _ in range(iterations):
        mass = em_step(mass, tables, shares)
    return mass


def learned_of(fits: Fits) -> Floats:
    """The distribution of ranks that was learned from the first sample, at the nodes."""
    assert fits.masses is not None
    return fits.masses[:, 0]


def draw(ranks: NDArray[np.int64], *, n: int, m: int, rng: np.random.Generator) -> SampledRanks:
    """Sample with replacement."""
    above = rng.binomial(m, (ranks - 1) / (n - 1))
    return SampledRanks.of(above + 1, n_negatives=m, n_candidates=n)


def draw_adaptively(
    ranks: NDArray[np.int64], *, n: int, n0: int, n_max: int, rng: np.random.Generator
) -> SampledRanks:
    """Double the samples of users whose item is ranked first."""
    theta = (ranks - 1) / (n - 1)
    sizes, above = np.full(len(ranks), n0), rng.binomial(n0 - 1, theta)
    while (growing := (above == 0) & (sizes < n_max)).any():
        above[growing] = rng.binomial(sizes[growing], theta[growing])
        sizes[growing] *= 2
    return SampledRanks.of(above + 1, n_negatives=sizes - 1, n_candidates=n)
