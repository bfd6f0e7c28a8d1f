"""The sign test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from analyses.significance.paired.user_differences import for_all_pairs, in_steps, normalised


def sign_test(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Test all pairs of systems by how many users each serves better.

    With n users who differ, k of them on the rarer side,

    .. math:: p = \min\Big(1,\; 2 \sum_{i=0}^{k} \binom{n}{i} 2^{-n}\Big)

    The null hypothesis is that each differing user is as likely to prefer either system: it is
    about medians, not means, and true means may be equal where it fails.

    Returns
    -------
    p-values of shape (n_measures, n_pairs), exact; 1 if no user differs. Differences below about
    12 decimals are none.

    References
    ----------
    Conover (1999), Practical nonparametric statistics, section 3.4.
    """
    return for_all_pairs(normalised(scores), _p_of_rows)


def _p_of_rows(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    steps = in_steps(differences)
    n_better, n_worse = (steps > 0).sum(axis=1), (steps < 0).sum(axis=1)
    n_rarer = np.minimum(n_better, n_worse)
    # P(at most k of n) is a regularised incomplete beta function, of n - k and k + 1.
    n_commoner = np.maximum(np.maximum(n_better, n_worse), 1)
    p = 2 * np.asarray(betainc(n_commoner, n_rarer + 1, 0.5))
    return np.where(n_better == n_worse, 1.0, np.clip(p, np.finfo(np.float64).tiny, 1.0))
