"""Wilcoxon's signed-rank test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from analyses.significance.paired.user_differences import for_all_pairs, in_steps, normalised
from analyses.significance.permutation.convolution import p_by_convolution

# Up to so many differing users the distribution is computed exactly.
MOST_USERS = 50


def wilcoxon_test(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Test all pairs of systems by the signed ranks of the users' differences.

    Users who do not differ are dropped ("wilcox"); the others get the ranks r of their absolute
    differences, equal ones the mean of theirs. The null hypothesis is that differences are
    symmetric about 0: then the signed rank sum is a permutation test's statistic,

    .. math:: T = \sum_u \mathrm{sgn}(d_u)\, r_u, \qquad \mathrm{Var}\, T = \sum_u r_u^2 .

    - At most 50 differing users: the exact distribution of T given the ranks, ties included.
    - More: p = 2 P(Z >= abs(T) / sqrt(Var T)), Z standard normal, without continuity correction.
      Summing squared mean ranks is the usual correction for ties.

    `scipy.stats.wilcoxon` gives the same for ``method="exact"`` without ties, and for
    ``method="asymptotic"``.

    Returns
    -------
    p-values of shape (n_measures, n_pairs); 1 if no user differs. Differences equal to about 12
    decimals are ties.

    References
    ----------
    Wilcoxon (1945), Individual comparisons by ranking methods; Pratt & Gibbons (1981), Concepts
    of nonparametric theory, chapter 3.
    """
    return for_all_pairs(normalised(scores), _p_of_rows)


def _p_of_rows(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    ranks = signed_ranks(differences)
    totals, n_differing = ranks.sum(axis=1), np.count_nonzero(ranks, axis=1)
    deviations = np.sqrt((ranks * ranks).sum(axis=1))
    p = 2 * np.asarray(ndtr(-np.abs(totals) / np.maximum(deviations, 1.0)))
    for row in np.flatnonzero((n_differing <= MOST_USERS) & (totals != 0)):
        p[row] = p_by_convolution(ranks[row])
    return np.where(totals == 0, 1.0, np.clip(p, np.finfo(np.float64).tiny, 1.0))


def signed_ranks(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give twice the signed mean ranks of absolute differences, which are whole numbers."""
    steps = in_steps(differences).astype(np.int64)
    # The sign in the last bit is sorted along, which is much faster than an argsort.
    keys = np.sort(2 * np.abs(steps) + (steps > 0), axis=1)
    sizes, signs = keys >> 1, 2 * (keys & 1) - 1
    n_equal = (sizes == 0).sum(axis=1, keepdims=True)
    ranks = _first_of_ties(sizes) + _last_of_ties(sizes) + 2 - 2 * n_equal
    return np.where(sizes == 0, 0, signs * ranks).astype(np.float64)


def _first_of_ties(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Column at which the run of equal sizes begins, for sorted rows."""
    columns = np.broadcast_to(np.arange(sizes.shape[1]), sizes.shape).copy()
    columns[:, 1:][sizes[:, 1:] == sizes[:, :-1]] = 0
    return np.maximum.accumulate(columns, axis=1)


def _last_of_ties(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Column at which the run of equal sizes ends, for sorted rows."""
    return sizes.shape[1] - 1 - _first_of_ties(sizes[:, ::-1])[:, ::-1]
