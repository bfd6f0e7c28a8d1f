"""Maximum likelihood of the rank distribution, by expectation maximisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.tables import FLOOR
from analyses.sampled.estimators.tally import Tally

Floats = NDArray[np.float64]


def expectation_maximisation(
    tables: Sequence[Floats], shares: Sequence[Floats], *, weights: Floats, iterations: int
) -> Floats:
    r"""Learn how ranks are distributed, from the shares of the users in each cell.

    .. math:: p(r) \leftarrow p(r) \sum_c w_c \frac{L[c, r]}{\sum_s L[c, s]\, p(s)}

    from the uniform distribution, so many times. Stopping early is what smooths the estimate: it
    gets worse, not better, if the iterations go on until nothing changes.

    Parameters
    ----------
    tables
        One for each (number of candidates, number of negatives): P, (n_nodes, n_cells).
    shares
        Shares of the users in the cells of each table, w; all sets add up to 1 over all tables:
        (n_cells, n_sets).
    weights
        Ranks that the nodes stand for: (n_nodes,).
    iterations
        How many.

    Returns
    -------
    Mass at the nodes, of shape (n_nodes, n_sets); sums are 1.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, eq. 12, 21, 22.

    Examples
    --------
    Five candidates, two sampled; half of the users have nothing above their item:

    >>> from analyses.sampled.estimators.nodes import every_rank
    >>> from analyses.sampled.estimators.tables import count_table
    >>> nodes = every_rank(4)
    >>> table = count_table(nodes.above, n_irrelevant=4, n_negatives=2, replace=True)
    >>> shares = np.array([[0.5], [0.3], [0.2]])
    >>> mass = expectation_maximisation([table], [shares], weights=nodes.weights, iterations=1)
    >>> (mass[:, 0] * 150).round(9)
    array([40., 37., 32., 25., 16.])
    """
    n_sets = shares[0].shape[1]
    mass = np.repeat((weights / weights.sum())[:, np.newaxis], n_sets, axis=1)
    for _ in range(iterations):
        mass *= sum(
            table @ (share / np.maximum(table.T @ mass, FLOOR))
            for table, share in zip(tables, shares, strict=True)
        )
    return mass


def maximum_likelihood(tally: Tally, *, iterations: int, first_only: bool = False) -> Floats:
    """Learn the rank distribution of each sample of a tally.

    Returns
    -------
    Mass at the nodes, of shape (n_nodes, n_samples).
    """
    shares = tally.shares(first_only=first_only)
    seen = [share.any(axis=1) for share in shares]
    return expectation_maximisation(
        [group.table[:, columns] for group, columns in zip(tally.groups, seen, strict=True)],
        [share[columns] for share, columns in zip(shares, seen, strict=True)],
        weights=tally.nodes.weights,
        iterations=iterations,
    )
