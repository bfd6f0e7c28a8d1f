"""Maximum likelihood of the rank distribution, by expectation maximisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FLOOR = 1e-300
"""Least probability that is divided by."""


def em_step(mass: Floats, tables: Sequence[Floats], shares: Sequence[Floats]) -> Floats:
    r"""Learn once more how ranks are distributed, from the shares of the items in each cell.

    .. math:: p(r) \leftarrow p(r) \sum_c w_c \frac{L[c, r]}{\sum_s L[c, s]\, p(s)}

    Stopping early is what smooths the estimate: it gets worse, not better, if the iterations go on
    until nothing changes. The mass p is (n_nodes, n_sets); for each (number of candidates, number
    of negatives) there are a table P, (n_nodes, n_cells), and shares w of the items in its cells,
    (n_cells, n_sets), which add up to 1 over all tables.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, eq. 12, 21, 22.

    Examples
    --------
    A user in the first of two cells, and ranks that never, or always, lead there:

    >>> em_step(np.full((2, 1), 0.5), [np.eye(2)], [np.array([[1.0], [0.0]])]).ravel()
    array([1., 0.])
    """
    explained = zip(tables, shares, strict=True)
    return np.asarray(mass * sum(t @ (w / np.maximum(t.T @ mass, FLOOR)) for t, w in explained))


def log_likelihood(mass: Floats, tables: Sequence[Floats], shares: Sequence[Floats]) -> Floats:
    r"""Give the mean log-likelihood of an item's cell, :math:`\sum_c w_c \log (L p)_c`: (n_sets,).

    It is in natural units; for adaptive samples but for a constant, which their growing adds.

    Examples
    --------
    >>> log_likelihood(np.full((2, 1), 0.5), [np.eye(2)], [np.array([[1.0], [0.0]])]).round(4)
    array([-0.6931])
    """
    explained = zip(tables, shares, strict=True)
    each = [(w * np.log(np.maximum(t.T @ mass, FLOOR))).sum(axis=0) for t, w in explained]
    return np.asarray(np.sum(each, axis=0))
