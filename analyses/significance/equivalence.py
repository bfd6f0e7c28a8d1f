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

    Parameters
    ----------
    means, deviations
        Of the differences of each pair, and their standard deviations.
    bounds
        Of a shape that goes with theirs.

    Returns
    -------
    p-values; where no user differs from another 0 within the bound, and 1 elsewhere.

    References
    ----------
    Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach.

    Examples
    --------
    The differences 0, 1 and 2 are surely within 5 of 0, and not surely within 2:

    >>> equivalence_test(np.array(1.0), np.array(1.0), np.array([5.0, 2.0]), n_users=3).round(3)
    array([0.01 , 0.113])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = (bounds - np.abs(means)) * np.sqrt(n_users) / deviations
    p = np.asarray(stdtr(n_users - 1, -statistics))
    return np.where(np.isnan(p), 1.0, p)
