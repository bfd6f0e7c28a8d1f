"""How many correlations are how large, and how many would be if the rates were random."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.agreement.model_ranks import distinct_orderings, rank_correlations, whole_ranks
from analyses.online.agreement.permuted_rates import random_orders
from analyses.online.tables.experiment import Experiment

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BINS: Final = ("[-1, -.5]", "(-.5, 0]", "(0, .5]", "(.5, 1]")
"""Of rho, as in table 4.6."""


def count_bins(rhos: Floats) -> Counts:
    """Count how many rhos fall into each of `BINS`; undefined ones into none.

    Examples
    --------
    >>> count_bins(np.array([-0.5, 0.0, 0.1, 0.5, 0.6, np.nan])).tolist()
    [1, 1, 2, 1]
    """
    defined = rhos[~np.isnan(rhos)]
    return np.bincount(np.digitize(defined, [-0.5, 0.0, 0.5], right=True), minlength=len(BINS))


def bin_random_rates(experiment: Experiment, n_orders: int, seed: int) -> Counts:
    """Count the bins again for every random order of the rates.

    Returns
    -------
    Of shape (n_orders, 4); what is undefined is in none.
    """
    orderings, _, counts = distinct_orderings(whole_ranks(experiment.values))
    ranks, n_models = whole_ranks(experiment.rates), len(experiment.models)
    bins = [np.empty((0, len(BINS)), dtype=np.int64)]
    for orders in random_orders(n_orders, n_models, seed=seed, experiment=experiment.name):
        found = [
            count_bins(np.repeat(rank_correlations(orderings, ranks[order]), counts))
            for order in orders
        ]
        bins.append(np.array(found))
    return np.concatenate(bins)
