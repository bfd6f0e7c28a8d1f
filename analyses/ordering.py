"""How alike two orderings of systems are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DECIMALS = 12
"""System scores are rounded to this many decimals, so that equal systems tie."""


def tau_b(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Kendall's tau-b between orderings of systems, for whole arrays of orderings.

    .. math:: \tau_b = \frac{\sum_{i<j} \mathrm{sgn}(x_i - x_j) \, \mathrm{sgn}(y_i - y_j)}
        {\sqrt{n_x n_y}}

    :math:`n_x` and :math:`n_y` count the pairs that are not tied.

    Parameters
    ----------
    first, second
        Scores of the systems along the last axis; the other axes broadcast.

    Returns
    -------
    Values in [-1, 1]; NaN where all systems of an ordering tie.

    References
    ----------
    Kendall (1945), The treatment of ties in ranking problems.

    Examples
    --------
    One of three pairs is tied in the second ordering, the others agree: 2 / sqrt(3 * 2).

    >>> tau_b(np.array([3.0, 2.0, 1.0]), np.array([5.0, 4.0, 4.0])).round(4)
    np.float64(0.8165)
    """
    signs_first, signs_second = _pair_signs(first), _pair_signs(second)
    agreement = (signs_first * signs_second).sum(axis=-1, dtype=np.int64)
    untied = _count_untied(signs_first) * _count_untied(signs_second)
    with np.errstate(invalid="ignore"):
        return agreement / np.sqrt(untied)


def _pair_signs(scores: NDArray[np.float64]) -> NDArray[np.int8]:
    rounded = scores.round(DECIMALS)
    first, second = np.triu_indices(scores.shape[-1], k=1)
    return np.sign(rounded[..., first] - rounded[..., second]).astype(np.int8)


def _count_untied(signs: NDArray[np.int8]) -> NDArray[np.int64]:
    return np.asarray(np.count_nonzero(signs, axis=-1), dtype=np.int64)
