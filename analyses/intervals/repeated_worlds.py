"""Chance over worlds: what other worlds of the same kind would have given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from analyses.intervals.resampling import CONFIDENCE
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined

Floats = NDArray[np.float64]


def over_worlds(
    values: Floats, *, limits: tuple[float, float] = (-np.inf, np.inf), at_once: int = 1
) -> tuple[Floats, Floats]:
    r"""Give the 95 % interval of the mean over worlds: they are independent, so it is Student's.

    .. math:: \bar x \pm t_{n-1} \, s / \sqrt{n}

    Returns
    -------
    Both limits, of shape (...); NaN with fewer than two worlds. Worlds that are all the same give
    an interval without width: chance is then not seen, which does not say that there is none.

    References
    ----------
    Student (1908), The probable error of a mean.
    """
    n_worlds = np.count_nonzero(~np.isnan(values), axis=-1)
    quantile = stdtrit(np.maximum(n_worlds - 1, 1), 1 - (1 - CONFIDENCE) / (2 * at_once))
    reach = quantile * deviation_of_defined(values) / np.sqrt(np.maximum(n_worlds, 1))
    mean = mean_of_defined(values)
    return np.clip(mean - reach, *limits), np.clip(mean + reach, *limits)
