"""Ranks of models as whole numbers, so that equal correlations are equal to the last bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import DECIMALS

Floats = NDArray[np.float64]


def whole_ranks(values: Floats) -> Floats:
    """Rank models along the last axis: those below less those above, after rounding to `DECIMALS`.

    Returns
    -------
    Twice the mean ranks, centred: whole numbers of the same shape that add up to 0; all 0 where a
    value is undefined (NaN), as where all are equal.

    Examples
    --------
    >>> whole_ranks(np.array([[0.1, 0.4, 0.2], [0.3, 0.3, 0.1]]))
    array([[-2.,  2.,  0.],
           [ 1.,  1., -2.]])
    """
    rounded = np.rint(values * 10.0**DECIMALS)
    row, column = rounded[..., :, np.newaxis], rounded[..., np.newaxis, :]
    ranks = (row > column).sum(axis=-1) - (row < column).sum(axis=-1)
    return np.where(np.isnan(values).any(axis=-1, keepdims=True), 0.0, ranks)


def rank_correlations(ranks: Floats, reference: Floats) -> Floats:
    r"""Spearman's rho of many orderings with one, from whole ranks.

    With :math:`A = \sum_l x_l y_l`, :math:`X = \sum_l x_l^2` and :math:`Y = \sum_l y_l^2`, all
    whole numbers,

    .. math:: \rho = \mathrm{sgn}(A) \sqrt{(A^2 / X) / Y} .

    A division of whole numbers has one result, however the fraction is written: two orderings of
    equal rho, be their ties ever so different, have the same bits, and those of different rho
    differ (up to 79 models). Elsewhere, in :func:`analyses.ordering.spearman`, the last bit may
    differ.

    Ranks are those of `whole_ranks`, of shape (..., n_models) and (n_models,).

    Returns
    -------
    Values in [-1, 1] of shape (...); NaN where one side is constant or undefined.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things.

    Examples
    --------
    The first two of five models swap: 1 - 6 * 2 / (5 * 24).

    >>> rank_correlations(np.array([[-2, -4, 0, 2, 4.0]]), np.array([-4, -2, 0, 2, 4.0])).round(9)
    array([0.9])
    """
    products = ranks @ reference
    squares = (ranks * ranks).sum(axis=-1) * np.where(reference.any(), 1.0, np.nan)
    defined = squares > 0
    shares = np.divide(
        products * products, squares, out=np.full(squares.shape, np.nan), where=defined
    )
    return np.sign(products) * np.sqrt(shares / (reference * reference).sum().clip(1.0))


def distinct_orderings(ranks: Floats) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Give the different weak orderings among rows of whole ranks.

    Returns
    -------
    The orderings of shape (n_orderings, n_models), which of them each row is, and how many rows
    each of them has.

    Examples
    --------
    >>> distinct_orderings(whole_ranks(np.array([[1, 2.0], [3, 7.0], [2, 2.0]])))[2].tolist()
    [2, 1]
    """
    orderings, which, counts = np.unique(ranks, axis=0, return_inverse=True, return_counts=True)
    return orderings, which.reshape(-1), counts
