"""Tables of the studies of sampled metrics beside the estimates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.sampled import AdaptiveSizes, Cost, Iterations, Priors, RankDistributions, SampleSize
from analyses.sampled.curve_points import mean_of_known
from analyses.sampled.priors import unavailable
from analyses.shared.table import Cell, Table

Floats = NDArray[np.float64]


def ranks_table(result: RankDistributions, *, note: str = "") -> Table:
    """Tabulate where the relevant items stand, by system."""
    shares = {
        f"in the first {k:,}": result.top_shares[:, result.top_ends <= k].sum(axis=1)
        for k in (1, 10, 100)
    }
    rows: list[list[Cell]] = [
        [system, f"{result.medians[place]:,g}", *(float(share[place]) for share in shares.values())]
        for place, system in enumerate(result.systems)
    ]
    return Table(
        name="sampled_ranks",
        title="Ranks of the relevant items: median, and shares of them",
        note=note or result.caption(),
        headings=["system", "median rank", *shares],
        rows=rows,
        best=dict.fromkeys(range(2, 2 + len(shares)), max),
    )


def sizes_table(result: SampleSize, *, note: str = "") -> Table:
    """Tabulate how well the expected order of the systems agrees with the exact one, by size."""
    # (n_estimators, n_metrics, n_sizes, n_systems) against (n_metrics, 1, n_systems)
    taus = tau_b(np.moveaxis(result.expected, 3, 2), result.exact[:, np.newaxis])
    rows: list[list[Cell]] = [
        [f"{metric}, {estimator}", *taus[e, number].tolist()]
        for number, metric in enumerate(result.metrics)
        for e, estimator in enumerate(result.estimators)
    ]
    return Table(
        name="sampled_sizes",
        title="Agreement (tau-b) of the expected with the exact order of the systems, by negatives",
        note=note or result.caption(),
        headings=["metric, estimator", *(f"{m:,}" for m in result.negatives)],
        rows=rows,
        best={},
    )


def cost_table(result: Cost, *, note: str = "") -> Table:
    """Tabulate mean errors by metric and sample, beside what the samples cost."""
    means, scored = result.mean_errors(), result.scored.mean(axis=1)
    rows: list[list[Cell]] = [
        [f"{metric}, {sample}", f"{scored[place]:,.1f}", *means[:, place, number].tolist()]
        for number, metric in enumerate(result.metrics)
        for place, sample in enumerate(result.samples)
    ]
    return Table(
        name="sampled_cost",
        title="Relative error in per cent, by sample; mean over the systems",
        note=note or result.caption(),
        headings=["metric, sample", "items scored", *result.estimators],
        rows=rows,
        best={},
    )


def adaptive_table(result: AdaptiveSizes, *, note: str = "") -> Table:
    """Tabulate the mean size of adaptive samples, and what it costs to have a user end at each."""
    rows: list[list[Cell]] = [
        [system, float(result.mean_sizes[place]), *result.costs[place, :-1].tolist()]
        for place, system in enumerate(result.systems)
    ]
    return Table(
        name="sampled_adaptive",
        title="Mean size of adaptive samples, and scores for a user who ends at a size",
        note=note or result.caption(),
        headings=["system", "mean size", *(f"ends at {size:,}" for size in result.sizes[:-1])],
        rows=rows,
        best={},
    )


def iterations_table(result: Iterations, *, note: str = "") -> Table:
    """Tabulate mean errors by number of iterations."""
    # (n_iterations, n_metrics, n_samples)
    means = np.moveaxis(mean_of_known(result.mean), 0, 2)
    return Table(
        name="sampled_iterations",
        title="Relative error of MLE in per cent, by iterations of EM; mean over the systems",
        note=note or result.caption(),
        headings=["iterations", *_crossed(result.metrics, result.samples)],
        rows=_numbered(map(str, result.iterations), means),
        best=dict.fromkeys(range(1, means[0].size + 1), min),
    )


def priors_table(result: Priors, *, note: str = "") -> Table:
    """Tabulate mean errors by prior."""
    # (n_priors, n_metrics, n_estimators)
    means = np.moveaxis(mean_of_known(result.mean), 0, 2)
    return Table(
        name="sampled_priors",
        title="Relative error in per cent, by prior; mean over the systems",
        note=note or result.caption(),
        headings=["prior", *_crossed(result.metrics, result.estimators)],
        rows=_numbered(map(_marked, result.priors), means),
        best=dict.fromkeys(range(1, means[0].size + 1), min),
    )


def _marked(prior: str) -> str:
    why = unavailable(prior)
    return f"{prior} ({why})" if why else prior


def _crossed(metrics: Sequence[str], others: Sequence[str]) -> list[str]:
    return [f"{metric}, {other}" for metric in metrics for other in others]


def _numbered(names: Iterable[str], values: Floats) -> list[list[Cell]]:
    return [[name, *row.ravel().tolist()] for name, row in zip(names, values, strict=True)]
