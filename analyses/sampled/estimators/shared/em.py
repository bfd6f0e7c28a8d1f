"""Maximum likelihood of the rank distribution, by expectation maximisation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FLOOR = 1e-300
"""Least probability that is divided by."""


def em_steps(
    tables: Sequence[Floats],
    shares: Sequence[Floats],
    *,
    weights: Floats,
    start: Floats | None = None,
) -> Iterator[Floats]:
    r"""Learn how ranks are distributed, from the shares of the items in each cell, step by step.

    .. math:: p(r) \leftarrow p(r) \sum_c w_c \frac{L[c, r]}{\sum_s L[c, s]\, p(s)}

    after 0, 1, 2, ... iterations, without end. Stopping early is what smooths the estimate: it
    gets worse, not better, if the iterations go on until nothing changes.

    Parameters
    ----------
    tables
        One for each (number of candidates, number of negatives): P, (n_nodes, n_cells).
    shares
        Shares of the items in the cells of each table, w; all sets add up to 1 over all tables:
        (n_cells, n_sets).
    weights
        Ranks that the nodes stand for: (n_nodes,).
    start
        Where to begin, (n_nodes, n_sets); by default in proportion to the weights.

    Yields
    ------
    Mass at the nodes, of shape (n_nodes, n_sets); sums are 1.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, eq. 12, 21, 22.

    Examples
    --------
    A user in the first of two cells, and ranks that never, or always, lead there:

    >>> steps = em_steps([np.eye(2)], [np.array([[1.0], [0.0]])], weights=np.ones(2))
    >>> [next(steps)[:, 0].tolist() for _ in range(2)]
    [[0.5, 0.5], [1.0, 0.0]]
    """
    mass = start
    if mass is None:
        mass = np.repeat((weights / weights.sum())[:, np.newaxis], shares[0].shape[1], axis=1)
    while True:
        yield mass
        mass = mass * sum(
            table @ (share / np.maximum(table.T @ mass, FLOOR))
            for table, share in zip(tables, shares, strict=True)
        )


def log_likelihood(tables: Sequence[Floats], shares: Sequence[Floats], mass: Floats) -> Floats:
    r"""Give the mean log-likelihood of an item's cell, :math:`\sum_c w_c \log (L p)_c`: (n_sets,).

    It is in natural units; for adaptive samples but for a constant, which their growing adds.

    Examples
    --------
    >>> log_likelihood([np.eye(2)], [np.array([[1.0], [0.0]])], np.full((2, 1), 0.5)).round(4)
    array([-0.6931])
    """
    each = [
        (share * np.log(np.maximum(table.T @ mass, FLOOR))).sum(axis=0)
        for table, share in zip(tables, shares, strict=True)
    ]
    return np.asarray(np.sum(each, axis=0))
