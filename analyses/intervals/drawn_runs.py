"""Chance over runs: what other training runs of the same systems would have given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.draws import RUNS, below, random_halves
from analyses.shared.run_deviations import RunDeviations


def run_noise(
    runs: RunDeviations | None, *, replicates: int, seed: int
) -> NDArray[np.float64] | float:
    r"""Draw what the mean scores of systems vary by with their runs.

    Of a system with R runs as many are drawn with replacement, the same for every measure, and the
    mean of their deviations is widened by :math:`\sqrt{R / (R - 1)}`: its variance is that of a
    mean of R runs, of which a bootstrap of few has too little.

    Returns
    -------
    An array of shape (n_measures, n_systems, replicates), to be added to means over resampled
    users; 0 without several runs of a system.

    Examples
    --------
    Of two runs .1 apart the mean has a standard deviation of .05:

    >>> runs = RunDeviations(np.array([[-0.05, 0.05, 0.0]]), np.array([0, 0, 1]))
    >>> drawn = run_noise(runs, replicates=4000, seed=1)
    >>> drawn.std(axis=2).round(2)
    array([[0.05, 0.  ]])
    """
    if runs is None:
        return 0.0
    n_systems, n_runs = int(runs.systems.max()) + 1, len(runs.systems)
    halves = random_halves(0, replicates, n_halves=n_runs, seed=seed, purpose=RUNS)
    drawn = np.zeros((len(runs.values), n_systems, replicates))
    for system in range(n_systems):
        own = np.flatnonzero(runs.systems == system)
        if len(own) > 1:
            chosen = own[below(halves[:, own], len(own))]
            widened = np.sqrt(len(own) / (len(own) - 1))
            drawn[:, system] = widened * runs.values[:, chosen].mean(axis=2)
    return drawn
