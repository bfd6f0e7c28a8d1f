"""What sampling does to a rank, as matrices: the table P, and the Gram matrix of its columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.rank_pmf import log_choices, sampled_rank_pmf

Floats = NDArray[np.float64]

FLOOR = 1e-300
"""Least probability that is divided by."""

ROWS_AT_ONCE = 2048
"""Rows of a table that only sums are needed of."""


def count_table(above: Floats, *, n_irrelevant: int, n_negatives: int, replace: bool) -> Floats:
    r"""Probability of each number of sampled items above an item.

    .. math:: P[a, x] = \mathrm{Bin}(x; m, a / N) \quad\text{or}\quad \mathrm{Hyp}(x; N, a, m)

    These are, of N irrelevant candidates, a above the item, (n_nodes,), and m sampled, of shape
    (n_nodes, n_negatives + 1). Rows add up to 1; those of a > N are 0. Real a continue the
    hypergeometric distribution between whole ones.

    References
    ----------
    Krichene & Rendle (2020), On sampled metrics for item recommendation, 4.3 and 4.4.

    Examples
    --------
    Two of four are above, two are drawn:

    >>> count_table(np.array([2.0]), n_irrelevant=4, n_negatives=2, replace=True)
    array([[0.25, 0.5 , 0.25]])
    >>> count_table(np.array([2.0]), n_irrelevant=4, n_negatives=2, replace=False).round(9)
    array([[0.16666667, 0.66666667, 0.16666667]])
    """
    possible = above <= n_irrelevant
    ranks = np.where(possible, above, 0.0) + 1
    table = sampled_rank_pmf(ranks, n=n_irrelevant + 1, m=n_negatives, replace=replace)
    table *= (possible / table.sum(axis=1))[:, np.newaxis]
    return table


def gram(table: Floats, mass: Floats) -> Floats:
    """Products of the columns of a table, weighted by rows: P' diag(mass) P.

    Examples
    --------
    >>> gram(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0.5, 0.5]))
    array([[0.625, 0.125],
           [0.125, 0.125]])
    """
    return (table * mass[:, np.newaxis]).T @ table


def doubled_sums(above: Floats, *, n_irrelevant: int, n_negatives: int, masses: Floats) -> Floats:
    r"""Sum the binomial table of twice as many negatives over ranks, for `hankel_gram`.

    For weights of the rows, one set a column, (n_nodes, n_sets), these are the sums
    :math:`\sum_a p(a)\, \mathrm{Bin}(k; 2m, a / N)`, (n_sets, 2 n_negatives + 1), without ever
    holding the table.

    Examples
    --------
    >>> above, masses = np.array([0.0, 1.0]), np.full((2, 1), 0.5)
    >>> doubled_sums(above, n_irrelevant=2, n_negatives=1, masses=masses)
    array([[0.625, 0.25 , 0.125]])
    """
    sums = np.zeros((masses.shape[1], 2 * n_negatives + 1))
    for start in range(0, len(above), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        doubled = count_table(
            above[rows], n_irrelevant=n_irrelevant, n_negatives=2 * n_negatives, replace=True
        )
        sums += masses[rows].T @ doubled
    return sums


def hankel_gram(sums: Floats) -> Floats:
    r"""Gram matrix of a binomial table, from 2m + 1 sums: O(m n) work instead of O(m^2 n).

    .. math:: \mathrm{Bin}(i; m, \theta)\, \mathrm{Bin}(j; m, \theta) =
        \frac{\binom m i \binom m j}{\binom{2m}{i+j}} \mathrm{Bin}(i + j; 2m, \theta)

    From the sums of `doubled_sums`, (2m + 1,), as `gram` has it: (m + 1, m + 1).

    Examples
    --------
    >>> hankel_gram(np.array([0.625, 0.25, 0.125]))
    array([[0.625, 0.125],
           [0.125, 0.125]])
    """
    n_negatives = (len(sums) - 1) // 2
    x = np.arange(n_negatives + 1)
    total = x[:, np.newaxis] + x
    ways = log_choices(n_negatives, x)
    scales: Floats = np.exp(ways[:, np.newaxis] + ways - log_choices(2 * n_negatives, total))
    return scales * sums[total]
