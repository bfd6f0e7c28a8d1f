"""How far chance alone keeps an ordering from the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def reliability(values: Floats) -> Floats:
    r"""Give the reliability of mean scores of systems: Cronbach's alpha with users as items.

    .. math:: \alpha = \frac{n}{n - 1} \left(1 - \frac{\sum_u \mathrm{var}_s(x_{su})}
        {\mathrm{var}_s(\sum_u x_{su})}\right)

    This is the mean, over all ways to halve the users, of the correlation between the systems' two
    means, stepped up to all users. Below 0 it is cut.

    Parameters
    ----------
    values
        Scores, of shape (..., n_systems, n_users).

    Returns
    -------
    In [0, 1], of shape (...); NaN for one user, or systems whose means are all equal.

    References
    ----------
    Cronbach (1951), Coefficient alpha and the internal structure of tests; Bodoff & Li (SIGIR
    2007) and Urbano, Marrero & Martín (SIGIR 2013) on test collections.

    Examples
    --------
    Two users who agree, and two who do not:

    >>> reliability(np.array([[[0.1, 0.1], [0.5, 0.5]], [[0.5, 0.1], [0.2, 0.6]]])).round(3)
    array([1., 0.])
    """
    n_users = values.shape[-1]
    whole = values.sum(axis=-1).var(axis=-1)
    apart = values.var(axis=-2).sum(axis=-1)
    shares = np.divide(apart, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    if n_users < 2:
        return np.full(whole.shape, np.nan)
    return np.clip(n_users / (n_users - 1) * (1 - shares), 0.0, 1.0)


def tau_within_noise(measured: Floats, true: Floats) -> Floats:
    r"""Give the tau that is expected of a measure that is right, but for chance over users.

    .. math:: \frac{2}{\pi} \arcsin \sqrt{\alpha_x \alpha_t}

    of the reliabilities of measure and truth: the correlation that two noisy values of one thing
    can have (Spearman 1904), and its tau, where systems are normally distributed (Kendall).

    Examples
    --------
    >>> tau_within_noise(np.array([1.0, 0.5]), np.array([1.0, 1.0])).round(3)
    array([1. , 0.5])
    """
    return np.asarray(2 / np.pi * np.arcsin(np.sqrt(measured * true)))
