"""Spearman's rho: how far systems are from their places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def spearman(estimates: Floats, reference: Floats) -> Floats:
    r"""Spearman's rho: the linear correlation of ranks, where tied systems share their mean rank.

    Parameters
    ----------
    estimates, reference
        As in `tau_b`.

    Returns
    -------
    Values in [-1, 1]; NaN where all systems of an ordering tie, or a score is undefined.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things.

    Examples
    --------
    Two of three systems swap, each one place off: 1 - 6 * 2 / (3 * 8).

    >>> spearman(np.array([0.9, 0.1, 0.2]), np.array([0.3, 0.2, 0.1]))
    np.float64(0.5)
    """
    from analyses.ordering import loops

    return loops.over_rows(loops.spearman, estimates, reference)
