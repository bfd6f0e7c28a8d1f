"""Kendall's tau: pairs of systems in the same order, less pairs in the opposite order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def tau_a(estimates: Floats, reference: Floats) -> Floats:
    r"""Kendall's tau-a: a pair that is tied in either ordering counts as half in agreement.

    .. math:: \tau_a = \frac{\sum_{i<j} \mathrm{sgn}(x_i - x_j) \, \mathrm{sgn}(y_i - y_j)}
        {n (n - 1) / 2}

    Parameters
    ----------
    estimates, reference
        As in `tau_b`.

    Returns
    -------
    Values in [-1, 1]: with ties, not even an ordering and itself reach 1. NaN for fewer than two
    systems or an undefined score.

    References
    ----------
    Kendall (1938), A new measure of rank correlation.

    Examples
    --------
    One of three pairs is tied in the first ordering, the others agree: 2 / 3.

    >>> tau_a(np.array([5.0, 4.0, 4.0]), np.array([3.0, 2.0, 1.0])).round(4)
    np.float64(0.6667)
    """
    from analyses.ordering import loops

    return _over_samples(loops.tau_a, estimates, reference)


def tau_b(estimates: Floats, reference: Floats) -> Floats:
    r"""Kendall's tau-b: pairs that are tied in an ordering shrink the most it can agree.

    .. math:: \tau_b = \frac{\sum_{i<j} \mathrm{sgn}(x_i - x_j) \, \mathrm{sgn}(y_i - y_j)}
        {\sqrt{n_x n_y}}

    :math:`n_x` and :math:`n_y` count the pairs that are not tied.

    Parameters
    ----------
    estimates, reference
        Scores of the systems along the last axis, rounded to `DECIMALS` before they are compared;
        the other axes broadcast. Many estimates against few references, of shapes (..., n_samples,
        n_systems) and (..., 1, n_systems), is the fast form: 0.3 microseconds each for 21 systems,
        and no memory but the result's.

    Returns
    -------
    Values in [-1, 1]; NaN where all systems of an ordering tie, or a score is undefined.

    References
    ----------
    Kendall (1945), The treatment of ties in ranking problems.

    Examples
    --------
    One of three pairs is tied in the first ordering, the others agree: 2 / sqrt(2 * 3).

    >>> tau_b(np.array([5.0, 4.0, 4.0]), np.array([3.0, 2.0, 1.0])).round(4)
    np.float64(0.8165)
    """
    from analyses.ordering import loops

    return _over_samples(loops.tau_b, estimates, reference)


def _over_samples(
    loop: Callable[[Floats, Floats], Floats], estimates: Floats, reference: Floats
) -> Floats:
    """Broadcast, so that a reference of many estimates is looked at once."""
    from analyses.ordering.loops import over_samples

    if estimates.ndim > 1 and reference.shape[-2:-1] in ((), (1,)):
        known = reference.reshape(*reference.shape[:-2], reference.shape[-1])
        return over_samples(loop, estimates, known)
    return over_samples(loop, estimates[..., None, :], reference)[..., 0]
