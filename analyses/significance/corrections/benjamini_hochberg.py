"""Benjamini & Hochberg's correction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
    falling = np.argsort(-p, axis=-1, kind="stable")
    factors = p.shape[-1] / np.arange(p.shape[-1], 0, -1)
    shrunk = np.minimum.accumulate(np.take_along_axis(p, falling, axis=-1) * factors, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, falling, shrunk, axis=-1)
    return adjusted
