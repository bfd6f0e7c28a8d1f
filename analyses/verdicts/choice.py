"""What is lost by choosing the system that a measure puts first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import DECIMALS

Floats = NDArray[np.float64]


def put_first(estimates: Floats) -> NDArray[np.bool_]:
    """Mark the system with the highest score along the last axis; several, if they tie.

    Examples
    --------
    >>> put_first(np.array([0.2, 0.3, 0.3]))
    array([False,  True,  True])
    """
    rounded = estimates.round(DECIMALS)
    return np.asarray(rounded == rounded.max(axis=-1, keepdims=True))


def regret(estimates: Floats, truth: Floats) -> Floats:
    r"""Give how much truth is lost by choosing the system with the highest estimate.

    .. math:: \max_s t_s - t_{\arg\max_s x_s}

    Of systems that tie as first, one is chosen by lot: their mean counts.

    Parameters
    ----------
    estimates, truth
        Scores of the systems along the last axis, more is better; other axes broadcast.

    Returns
    -------
    At least 0; NaN where a score is undefined.

    Examples
    --------
    The second system is chosen, and the first is truly best:

    >>> regret(np.array([0.1, 0.3, 0.2]), np.array([0.9, 0.5, 0.1])).round(3)
    np.float64(0.4)
    """
    first = put_first(estimates)
    n_first = first.sum(axis=-1)
    worth = np.divide(
        (truth * first).sum(axis=-1),
        n_first,
        out=np.full(np.broadcast_shapes(estimates.shape, truth.shape)[:-1], np.nan),
        where=n_first > 0,
    )
    return np.asarray(np.maximum(truth.max(axis=-1) - worth, 0.0))


def as_share(lost: Floats, truth: Floats) -> Floats:
    """Divide what is lost by the range of the truth; NaN where all systems are worth the same.

    Examples
    --------
    >>> as_share(np.array(0.4), np.array([0.9, 0.5, 0.1]))
    array(0.5)
    """
    extent = np.broadcast_to(np.ptp(truth, axis=-1), lost.shape)
    return np.divide(lost, extent, out=np.full(lost.shape, np.nan), where=extent > 0)
