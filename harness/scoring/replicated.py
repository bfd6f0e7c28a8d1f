"""Scores of systems of which there are several runs: means, and their spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import RunDeviations, Scores
from harness.metrics.shared.metric import Metric
from runs.replicates import Replicates


def averaged(scores: Scores, replicates: Replicates | None) -> Scores:
    """Average scores of runs over those of each system, and keep what runs differ by.

    Without replicates scores are left as they are.
    """
    if replicates is None:
        return scores
    values = replicates.mean(scores.values)
    runs = deviations(scores, replicates)
    return replace(scores, values=values, systems=replicates.systems, runs=runs)


def deviations(scores: Scores, replicates: Replicates) -> RunDeviations:
    """Give what runs differ by from their systems, in means over users for whom all of them rank.

    Scores are of runs, in place of systems; weighted, if means are.
    """
    found = np.zeros(scores.values.shape[:2])
    for system in range(len(replicates.systems)):
        users, own = replicates.common(system), replicates.numbers == system
        if users.any() and own.sum() > 1:
            means = scores.values[:, own][..., users].mean(axis=2)
            found[:, own] = means - means.mean(axis=1, keepdims=True)
    complete = [replicates.common(system).all() for system in range(len(replicates.systems))]
    return RunDeviations(found, replicates.numbers, np.array(complete))


def spread(
    scores: Scores, replicates: Replicates, metrics: Mapping[str, Metric]
) -> NDArray[np.float64]:
    """Give the standard deviation of the mean scores of each system's runs.

    Means are over the users whom all runs of the system rank for, so that they differ by the runs
    alone: where there are none, as in the folds of a cross-validation, it is not known.

    Parameters
    ----------
    scores
        Of runs, in place of systems; weighted, if means are.
    replicates
        Which runs are of which system.
    metrics
        By name: how each averages over users.

    Returns
    -------
    An array of shape (n_measures, n_systems), NaN for a single run.
    """
    found = np.full((len(scores.measures), len(replicates.systems)), np.nan)
    for system in np.flatnonzero(replicates.sizes > 1).tolist():
        users = replicates.common(system)
        if not users.any():
            continue
        runs = scores.values[:, replicates.numbers == system][..., users]
        for number, measure in enumerate(scores.measures):
            found[number, system] = metrics[measure.metric].average(runs[number]).std(ddof=1)
    return found
