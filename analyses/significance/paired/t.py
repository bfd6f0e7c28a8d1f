"""Student's paired t-test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from analyses.significance.paired.user_differences import (
    for_all_pairs,
    means_and_deviations,
    normalised,
)


def t_test(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Test all pairs of systems by Student's t of the users' differences d.

    .. math:: t = \frac{\bar d}{s_d / \sqrt{n}}, \qquad p = 2 P(T_{n-1} \ge |t|)

    The null hypothesis is that the mean difference is 0 in the population of users. The test is
    approximate unless differences are normal.

    Returns
    -------
    p-values of shape (n_measures, n_pairs), never 0 and never NaN: p = 1 if the means are equal
    (or there is a single user), and the smallest positive float64, 2e-308, if all differences
    are equal but not 0, or where p underflows.

    References
    ----------
    Student (1908), The probable error of a mean.
    """
    return for_all_pairs(normalised(scores), _p_of_rows)


def _p_of_rows(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    n_users = differences.shape[1]
    means, deviations = means_and_deviations(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = np.sqrt(n_users) * np.abs(means) / deviations
    p = 2 * np.asarray(stdtr(n_users - 1, -statistics))
    undecided = (means == 0) | (n_users < 2)
    return np.where(undecided, 1.0, np.clip(p, np.finfo(np.float64).tiny, 1.0))
