"""Kendall's tau of average precision: being right at the top counts more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def tau_ap(estimates: Floats, reference: Floats) -> Floats:
    r"""AP correlation of orderings without ties.

    .. math:: \tau_{AP} = \frac{2}{n - 1} \sum_{i=2}^{n} \frac{C(i)}{i - 1} - 1

    Walking down the estimate, C(i) counts the systems above rank i that the reference too puts
    above. Not symmetric: ranks are those of the estimate.

    Parameters
    ----------
    estimates, reference
        As in `tau_b`.

    Returns
    -------
    Values in [-1, 1]. NaN where either ordering has ties: no order is made up for them, see
    `tau_ap_a` and `tau_ap_b`. NaN too for fewer than two systems or an undefined score.

    References
    ----------
    Yilmaz, Aslam & Robertson (2008), A new rank correlation coefficient for information retrieval.

    Examples
    --------
    The estimate is c, a, b, the reference a, b, c. Of those above a (c) none belongs there; of
    those above b (c, a) one does: 2 / 2 * (0 / 1 + 1 / 2) - 1.

    >>> tau_ap(np.array([0.2, 0.1, 0.3]), np.array([0.3, 0.2, 0.1]))
    np.float64(-0.5)
    """
    from analyses.ordering import loops

    return loops.over_rows(loops.tau_ap, estimates, reference)


def tau_ap_a(estimates: Floats, reference: Floats) -> Floats:
    r"""AP correlation of estimates with ties: the mean over all ways to break them.

    A system of a tied group of size g from rank p on, of whose betters c belong above it, adds

    .. math:: \frac{1}{g} \sum_{r=p}^{p+g-1} \frac{c + (r - p) / 2}{r - 1}

    to the sum of `tau_ap` (a term with r = 1 is 0).

    Parameters
    ----------
    estimates, reference
        As in `tau_b`.

    Returns
    -------
    Values in [-1, 1]; 0 for an estimate that ties all systems. NaN where the reference has ties,
    for fewer than two systems, or an undefined score.

    References
    ----------
    Urbano & Marrero (2017), The treatment of ties in AP correlation.

    Examples
    --------
    Two systems tie below the best: broken rightly 1, broken wrongly 1 + 1/2 - 1.

    >>> tau_ap_a(np.array([0.5, 0.1, 0.1]), np.array([0.3, 0.2, 0.1]))
    np.float64(0.75)
    """
    from analyses.ordering import loops

    return loops.over_rows(loops.tau_ap_a, estimates, reference)


def tau_ap_b(estimates: Floats, reference: Floats) -> Floats:
    r"""AP correlation of two equal partners, either with ties.

    Walking down one ordering, every system outside the top group has a share of its strict betters
    whom the other ordering strictly puts above it too; twice the mean share less 1 is one half of
    the coefficient. The mean of both halves makes it symmetric.

    Parameters
    ----------
    estimates, reference
        As in `tau_b`.

    Returns
    -------
    Values in [-1, 1]; without ties the mean of `tau_ap` in both directions. NaN where all systems
    of an ordering tie, or a score is undefined.

    References
    ----------
    Urbano & Marrero (2017), The treatment of ties in AP correlation.

    Examples
    --------
    Down the first ordering (a, then b and c) all is right: 1. Down the second (a, b, c), b has its
    better above it, c one of two: 2 * (1 + 1/2) / 2 - 1 = 0.5.

    >>> tau_ap_b(np.array([0.5, 0.1, 0.1]), np.array([0.3, 0.2, 0.1]))
    np.float64(0.75)
    """
    from analyses.ordering import loops

    return loops.over_rows(loops.tau_ap_b, estimates, reference)
