"""Ranks and studies that tests of sampled metrics share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimates import Estimates, estimates
from analyses.sampled.estimators import Fits, find_estimator
from analyses.sampled.samples import SampledRanks
from analyses.sampled.trials import Settings
from analyses.shared.work import RanksWork
from qrels import FullRanks

Floats = NDArray[np.float64]


def sample_of(counts: Sequence[int], *, n: int, replace: bool = True) -> SampledRanks:
    """So many users at rank 1, 2, .. of the sample."""
    ranks = np.repeat(np.arange(1, len(counts) + 1), counts)
    return SampledRanks.of(ranks, n_negatives=len(counts) - 1, n_candidates=n, replace=replace)


def fit(name: str, sample: SampledRanks | Sequence[SampledRanks]) -> Fits:
    """Fit with sums over all ranks."""
    fits = find_estimator(name).fit(sample)
    kernels = tuple(replace(kernel, head=kernel.n_irrelevant + 1) for kernel in fits.cells.kernels)
    return Fits(fits.estimator, replace(fits.cells, kernels=kernels))


def studied(
    systems: Mapping[str, FullRanks], *, seed: int = 3, n_jobs: int = 1, **asked: Any
) -> Estimates:
    work = RanksWork(systems, seed=seed, n_jobs=n_jobs)
    return estimates(work, Settings(**asked))
