"""Corrections that adjust the p-values of any test: Bonferroni, Holm, Benjamini & Hochberg."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def bonferroni(p: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Adjust the m p-values of each family: :math:`\tilde p = \min(1, m p)`.

    Bounds the chance of any false rejection in the family, however the tests depend on each
    other. :func:`holm` rejects all that this does, and more.

    Returns
    -------
    Adjusted p-values of the same shape.

    References
    ----------
    Dunn (1961), Multiple comparisons among means.
    """
    return np.minimum(p.shape[-1] * p, 1.0)


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Adjust the m p-values of each family step by step, from the smallest.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})

    Bounds the chance of any false rejection in the family, however the tests depend on each
    other.

    Returns
    -------
    Adjusted p-values of the same shape.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.
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

    Returns
    -------
    Adjusted p-values of the same shape.

    References
    ----------
    Benjamini & Hochberg (1995), Controlling the false discovery rate.
    """
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, axis=-1))
