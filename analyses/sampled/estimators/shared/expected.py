"""Samples as they are expected, so that estimators show their bias without noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analyses.sampled.estimators.shared.tables import FLOOR
from analyses.sampled.estimators.shared.tally import Tally
from analyses.sampled.expectation.candidates import nearest_size
from analyses.sampled.expectation.metrics import RankMetric
from analyses.sampled.expectation.rank_pmf import sampled_rank_pmf
from qrels import FullRanks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROWS_AT_ONCE = 4096
"""Rows of a table of probabilities that are held at a time."""


def expected_of_ranks(counted: Tally, ranks: FullRanks) -> Tally:
    """Count the cells as samples of these ranks are expected to fill them.

    What an estimator makes of it is its expectation if it is linear with a prior of its own, and
    for all others what it comes to with more and more users of such ranks. Samples are of one size.

    Examples
    --------
    Two users whose one negative is above their item with chance 0 and 1/2:

    >>> from analyses.sampled.estimators.shared.tally import tally
    >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
    >>> counted = tally(
    ...     [SampledRanks.of([1, 1], n_negatives=1, n_candidates=3)], n="mean", path="full"
    ... )
    >>> expected_of_ranks(counted, FullRanks.of([1, 2], n_candidates=3)).counts.ravel()
    array([1.5, 0.5])
    """
    sizes = np.array([group.n_irrelevant for group in counted.groups])
    group_of = nearest_size(sizes, ranks.n_irrelevant)
    keys = np.column_stack([group_of, ranks.order, ranks.n_relevant])
    kinds, kind_of = np.unique(keys, axis=0, return_inverse=True)
    first = counted.groups[0]
    filled = np.zeros((len(kinds), first.n_negatives + 1))
    for start in range(0, len(ranks), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        table = sampled_rank_pmf(
            ranks.above[rows] + 1,
            n=ranks.n_irrelevant[rows] + 1,
            m=first.n_negatives,
            replace=first.replace,
        )
        np.add.at(filled, kind_of.ravel()[rows], table)
    return _tally(counted, kinds, list(filled))


def expected_of_fit(
    counted: Tally, masses: Floats, metrics: tuple[RankMetric, ...]
) -> tuple[Tally, Floats]:
    """Count the cells as they would be filled if ranks were as the fit says, and score these ranks.

    Parameters
    ----------
    counted
        A sample.
    masses
        Distribution of all ranks, at the nodes: (n_nodes, 1). Items of each place and number of
        relevant items have it given what was sampled of them, as after one more iteration of EM.
    metrics
        What is scored.

    Returns
    -------
    The tally, and the exact metrics among such ranks: (n_metrics,).
    """
    cells, seen = counted.cells, counted.counts[:, 0]
    kinds, kind_of = np.unique(cells[:, :3], axis=0, return_inverse=True)
    filled, exact = [], np.zeros(len(metrics))
    for number, (of_group, order, n_relevant) in enumerate(kinds.tolist()):
        group = counted.groups[of_group]
        own, table = kind_of.ravel() == number, group.table
        counts = np.zeros(group.n_negatives + 1)
        np.add.at(counts, cells[own, 3], seen[own])
        mass = group.within(masses)[:, 0]
        mass = mass * (table @ (counts / np.maximum(table.T @ mass, FLOOR)))
        filled.append(table.T @ mass)
        above, n = group.nodes.above, group.n_irrelevant + n_relevant
        exact += [
            mass @ metric.summands(above + order, n=n, order=order, n_relevant=n_relevant)
            for metric in metrics
        ]
    return _tally(counted, kinds, filled), exact / counted.n_users[0]


def _tally(counted: Tally, kinds: Integers, filled: list[Floats]) -> Tally:
    """Put expected counts, (n_negatives + 1,), of each group, place and number into one tally."""
    cells = [
        np.column_stack([np.tile(kind, (len(own), 1)), np.arange(len(own))])
        for kind, own in zip(kinds, filled, strict=True)
    ]
    counts = np.concatenate(filled)
    return replace(
        counted,
        cells=np.concatenate(cells),
        counts=counts[:, np.newaxis],
        n_users=counted.n_users[:1],
        incidence=csr_array((len(counts), 0)),
    )
