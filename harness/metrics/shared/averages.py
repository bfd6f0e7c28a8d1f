"""Averaging over users other than by the arithmetic mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FLOOR = 1e-5
"""What trec_eval puts in the place of lower scores (``MIN_GEO_MEAN``)."""


def geometric_mean(scores: NDArray[np.float64], *, floor: float = FLOOR) -> NDArray[np.float64]:
    r"""Geometric mean over users, which gives weight to those who are served badly.

    .. math:: \exp\left(\frac{1}{U} \sum_u \log \max(s_u, \mathrm{floor})\right)

    Parameters
    ----------
    scores
        Scores of at least 0, of shape (..., n_users): every user of the qrels counts, as with
        trec_eval's ``-c``.
    floor
        Stands in for lower scores, of which one would make every mean 0.

    Returns
    -------
    Means, of shape (...).

    Notes
    -----
    Of AP it is trec_eval's ``gm_map`` (Robertson 2006, On GMAP: and other transformations), of
    bpref its ``gm_bpref``. The users' scores are the same as for the arithmetic mean.

    Examples
    --------
    >>> float(geometric_mean(np.array([0.1, 0.4])))
    0.2
    """
    return np.asarray(np.exp(logarithms(scores, floor=floor).mean(axis=-1)))


def logarithms(scores: NDArray[np.float64], *, floor: float = FLOOR) -> NDArray[np.float64]:
    """Give the logarithms whose arithmetic mean orders systems as the geometric mean does.

    Examples
    --------
    >>> logarithms(np.array([1.0, 0.0])).round(3)
    array([  0.   , -11.513])
    """
    return np.asarray(np.log(np.maximum(scores, floor)))
