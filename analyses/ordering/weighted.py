"""Weighted tau: pairs of good systems count more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def weighted_tau(estimates: Floats, reference: Floats) -> Floats:
    r"""Vigna's tau with additive hyperbolic weights.

    .. math:: \tau_h = \frac{\langle x, y \rangle}{\sqrt{\langle x, x \rangle
        \langle y, y \rangle}}, \quad \langle x, y \rangle = \sum_{i<j}
        \left(\frac{1}{r_i} + \frac{1}{r_j}\right) \mathrm{sgn}(x_i - x_j) \,
        \mathrm{sgn}(y_i - y_j)

    The mean of two: once ranks r (from 1) are those of x, with ties broken by y, once the other
    way round.

    Parameters
    ----------
    estimates, reference
        As in `tau_b`.

    Returns
    -------
    Values in [-1, 1]; NaN where all systems of an ordering tie, or a score is undefined. What
    ``scipy.stats.weightedtau`` gives by default.

    References
    ----------
    Vigna (2015), A weighted correlation index for rankings with ties.

    Examples
    --------
    Only the last two systems swap. The pairs (1, 2), (1, 3), (2, 3) weigh 3/2, 4/3 and 5/6 in
    either order: (3/2 + 4/3 - 5/6) / (3/2 + 4/3 + 5/6) = 6/11.

    >>> weighted_tau(np.array([0.9, 0.1, 0.2]), np.array([0.3, 0.2, 0.1])).round(4)
    np.float64(0.5455)
    """
    from analyses.ordering import loops

    return loops.over_rows(loops.weighted_tau, estimates, reference)
