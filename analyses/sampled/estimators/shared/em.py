"""Maximum likelihood of the rank distribution, by expectation maximisation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators.shared.tables import FLOOR
from analyses.sampled.estimators.shared.tally import Tally

Floats = NDArray[np.float64]


def em_steps(
    tables: Sequence[Floats], shares: Sequence[Floats], *, weights: Floats
) -> Iterator[Floats]:
    r"""Learn how ranks are distributed, from the shares of the users in each cell, step by step.

    .. math:: p(r) \leftarrow p(r) \sum_c w_c \frac{L[c, r]}{\sum_s L[c, s]\, p(s)}

    from the uniform distribution, after 0, 1, 2, ... iterations, without end. Stopping early is
    what smooths the estimate: it gets worse, not better, if the iterations go on until nothing
    changes.

    Parameters
    ----------
    tables
        One for each (number of candidates, number of negatives): P, (n_nodes, n_cells).
    shares
        Shares of the users in the cells of each table, w; all sets add up to 1 over all tables:
        (n_cells, n_sets).
    weights
        Ranks that the nodes stand for: (n_nodes,).

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
    n_sets = shares[0].shape[1]
    mass = np.repeat((weights / weights.sum())[:, np.newaxis], n_sets, axis=1)
    while True:
        yield mass
        mass = mass * sum(
            table @ (share / np.maximum(table.T @ mass, FLOOR))
            for table, share in zip(tables, shares, strict=True)
        )


def maximum_likelihood(
    tally: Tally, *, iterations: int, first_only: bool = False, steep: bool = False
) -> Floats:
    """Learn the rank distribution of each sample of a tally: (n_nodes, n_samples).

    A steep one begins with rank r as likely as 1 / r, not uniform: as it fits the samples as well,
    but has many items at the very first ranks, which samples hardly tell from the next.
    """
    weights = tally.nodes.weights / (tally.nodes.above + 1 if steep else 1)
    steps = em_steps(*_seen(tally, first_only=first_only), weights=weights)
    return next(islice(steps, iterations, None))


def likelihood_path(tally: Tally, *, iterations: Sequence[int]) -> Iterator[tuple[Floats, Floats]]:
    """Learn as `maximum_likelihood` does, and stop at rising numbers of iterations on the way.

    Yields
    ------
    For each, the mass at the nodes, (n_nodes, n_samples), and its `log_likelihood`, (n_samples,).
    """
    tables, shares = _seen(tally)
    steps = em_steps(tables, shares, weights=tally.nodes.weights)
    for before, number in pairwise((-1, *iterations)):
        mass = next(islice(steps, number - before - 1, None))
        yield mass, log_likelihood(tables, shares, mass)


def log_likelihood(tables: Sequence[Floats], shares: Sequence[Floats], mass: Floats) -> Floats:
    r"""Give the mean log-likelihood of a user's cell, :math:`\sum_c w_c \log (L p)_c`.

    It is in natural units, of shape (n_sets,); for adaptive samples but for a constant, which the
    growing of the samples adds. Tables, shares and mass are those of `em_steps`.

    Examples
    --------
    >>> log_likelihood([np.eye(2)], [np.array([[1.0], [0.0]])], np.full((2, 1), 0.5)).round(4)
    array([-0.6931])
    """
    return np.sum(
        [
            (share * np.log(np.maximum(table.T @ mass, FLOOR))).sum(axis=0)
            for table, share in zip(tables, shares, strict=True)
        ],
        axis=0,
    )


def _seen(tally: Tally, *, first_only: bool = False) -> tuple[list[Floats], list[Floats]]:
    """Give the tables and shares of the cells that some sample has users in."""
    shares = tally.shares(first_only=first_only)
    seen = [share.any(axis=1) for share in shares]
    tables = [group.table[:, columns] for group, columns in zip(tally.groups, seen, strict=True)]
    return tables, [share[columns] for share, columns in zip(shares, seen, strict=True)]
