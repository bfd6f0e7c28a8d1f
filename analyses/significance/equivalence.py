"""Whether two systems are equivalent: differences within a bound that somebody named."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr


def equivalence_test(
    means: NDArray[np.float64],
    deviations: NDArray[np.float64],
    bounds: NDArray[np.float64],
    *,
    n_users: int,
) -> NDArray[np.float64]:
    r"""Test by two one-sided t-tests whether mean differences lie within bounds (TOST).

    The null hypothesis is that the difference is as large as the bound b, or larger:

    .. math:: p = P\left(T_{n-1} \ge \frac{b - |\bar d|}{s_d / \sqrt n}\right)

    is the larger of the two p-values. It is at most .05 where the 90 % interval of the difference
    lies within the bound.

    Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = (bounds - np.abs(means)) * np.sqrt(n_users) / deviations
    p = np.asarray(stdtr(n_users - 1, -statistics))
    return np.where(np.isnan(p), 1.0, p)
