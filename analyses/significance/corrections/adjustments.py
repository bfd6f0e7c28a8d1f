"""Corrections that adjust the p-values of any test: Bonferroni, Holm, Benjamini & Hochberg."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def bonferroni(p: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Adjust the m p-values of each family: :math:`\tilde p = \min(1, m p)`.

    Bounds the chance of any false rejection in the family, however the tests depend on each
    other. :func:`holm` rejects all that this does, and more.

    Parameters
    ----------
    p
        Of shape (..., n_pairs): a family along the last axis.

    Returns
    -------
    Adjusted p-values of the same shape.

    References
    ----------
    Dunn (1961), Multiple comparisons among means.

    Examples
    --------
    >>> bonferroni(np.array([0.01, 0.02, 0.5]))
    array([0.03, 0.06, 1.  ])
    """
    return np.minimum(p.shape[-1] * p, 1.0)


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Adjust the m p-values of each family step by step, from the smallest.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})

    Bounds the chance of any false rejection in the family, however the tests depend on each
    other.

    Parameters
    ----------
    p
        Of shape (..., n_pairs): a family along the last axis.

    Returns
    -------
    Adjusted p-values of the same shape.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.

    Examples
    --------
    Times 3, times 2, times 1; the last may not fall below the one before:

    >>> holm(np.array([0.01, 0.03, 0.02]))
    array([0.03, 0.04, 0.04])
    """
    order = np.argsort(p, axis=-1, kind="stable")
    factors = np.arange(p.shape[-1], 0, -1.0)
    steps = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(steps, 1.0), axis=-1)
    return adjusted


def benjamini_hochberg(p: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Adjust the m p-values of each family step by step, from the largest.

    .. math:: \tilde p_{(i)} = \min_{j \ge i} \frac{m}{j}\, p_{(j)}

    Bounds the expected share of false rejections among the rejections (the false discovery
    rate), if tests are independent or depend positively. Pairs that share a system need not.

    Parameters
    ----------
    p
        Of shape (..., n_pairs): a family along the last axis.

    Returns
    -------
    Adjusted p-values of the same shape.

    References
    ----------
    Benjamini & Hochberg (1995), Controlling the false discovery rate.

    Examples
    --------
    Times 3/3, times 3/2, times 3/1; none may exceed the next larger one:

    >>> benjamini_hochberg(np.array([0.01, 0.03, 0.02]))
    array([0.03, 0.03, 0.03])
    """
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, axis=-1))
