"""Chance over runs: what other training runs of the same systems would have given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.draws import RUNS, below, random_halves
from analyses.shared.run_deviations import RunDeviations


def run_noise(
    runs: RunDeviations | None, *, replicates: int, seed: int
) -> NDArray[np.float64] | float:
    """Draw what the mean scores of systems vary by with their runs, as `run_weights` does.

    Returns
    -------
    An array of shape (n_measures, n_systems, replicates), to be added to means over resampled
    users; 0 without several runs of a system.

    Examples
    --------
    Of two runs .1 apart the mean has a standard deviation of .05:

    >>> both = np.array([True, True])
    >>> runs = RunDeviations(np.array([[-0.05, 0.05, 0.0]]), np.array([0, 0, 1]), both)
    >>> drawn = run_noise(runs, replicates=4000, seed=1)
    >>> drawn.std(axis=2).round(2)
    array([[0.05, 0.  ]])
    """
    if runs is None:
        return 0.0
    weights = run_weights(runs.systems, replicates=replicates, seed=seed)
    shares = weights / np.bincount(runs.systems)[:, None]
    return np.einsum("mr,bsr->msb", runs.values, shares)


def run_weights(systems: NDArray[np.intp], *, replicates: int, seed: int) -> NDArray[np.float64]:
    r"""Draw how often each run counts in the mean of its system: 1 on average.

    Of a system with R runs as many are drawn with replacement, and how far that is from once each
    is widened by :math:`\sqrt{R / (R - 1)}`: the variance is that of a mean of R runs, of which a
    bootstrap of few has too little.

    Parameters
    ----------
    systems
        Number of the system of each run, of shape (n_runs,).

    Returns
    -------
    An array of shape (replicates, n_systems, n_runs): 0 for runs of other systems.

    Examples
    --------
    >>> run_weights(np.array([0, 1]), replicates=1, seed=1)
    array([[[1., 0.],
            [0., 1.]]])
    """
    n_runs = len(systems)
    halves = random_halves(0, replicates, n_halves=n_runs, seed=seed, purpose=RUNS)
    weights = np.repeat(which_runs(systems)[None].astype(np.float64), replicates, axis=0)
    for system, is_own in enumerate(which_runs(systems)):
        own = np.flatnonzero(is_own)
        if len(own) > 1:
            drawn = below(halves[:, own], len(own))
            counts = (drawn[:, :, None] == np.arange(len(own))).sum(axis=1)
            widened = np.sqrt(len(own) / (len(own) - 1))
            weights[:, system, own] += widened * (counts - 1)
    return weights


def which_runs(systems: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Mark the runs of each system, of shape (n_systems, n_runs)."""
    return np.asarray(systems == np.arange(systems.max(initial=-1) + 1)[:, None])


def of_systems(sums: NDArray[np.float64], runs: RunDeviations | None) -> NDArray[np.float64]:
    """Add up what runs add to the scores of their systems: (..., n_runs, n_samples).

    Examples
    --------
    >>> runs = RunDeviations(np.zeros((1, 3)), np.array([0, 0, 1]), np.array([True, True]))
    >>> of_systems(np.array([[0.25], [0.5], [1.0]]), runs)
    array([[0.75],
           [1.  ]])
    """
    return sums if runs is None else which_runs(runs.systems) @ sums
