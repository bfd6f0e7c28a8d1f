"""Holm's correction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
    factors = np.arange(p.shape[-1], 0, -1)
    rising = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(rising, 1.0), axis=-1)
    return adjusted
