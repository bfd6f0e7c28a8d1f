"""Chance over systems: what other systems of the same kind would have given.

Drawn with replacement, systems would be there twice, tied with their copies; subsets have none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from analyses.intervals.resampling import CONFIDENCE
from analyses.ordering.agreement import mean_of_defined
from runs.shared.streams import random_words

Floats = NDArray[np.float64]

SHARE = 0.75
"""Part of the systems that is in a subset."""

N_SUBSETS = 200
LEAST_SYSTEMS = 8
"""With fewer systems subsets are too much alike: intervals held the truth in 65 to 95 of 100."""


def system_subsets(n_systems: int, *, seed: int, n_subsets: int = N_SUBSETS) -> NDArray[np.intp]:
    """Draw subsets of three quarters of the systems, without copies, of shape (n_subsets, size).

    Examples
    --------
    >>> system_subsets(8, seed=1, n_subsets=2)
    array([[0, 1, 2, 5, 6, 7],
           [0, 3, 4, 5, 6, 7]])
    """
    keys = [random_words(n_systems, seed, "systems", n_systems, n) for n in range(n_subsets)]
    chosen = np.argsort(np.array(keys), axis=1, kind="stable")[:, : round(SHARE * n_systems)]
    return np.sort(chosen, axis=1)


def pairs_within(subsets: NDArray[np.intp], n_systems: int) -> Floats:
    """Mark the pairs i < j that are in each subset of the systems, of shape (n_subsets, n_pairs).

    Examples
    --------
    Of the pairs ab, ac and bc:

    >>> pairs_within(np.array([[0, 2]]), 3)
    array([[0., 1., 0.]])
    """
    chosen = np.zeros((len(subsets), n_systems))
    np.put_along_axis(chosen, subsets, 1.0, axis=1)
    first, second = np.triu_indices(n_systems, k=1)
    return chosen[:, first] * chosen[:, second]


def over_systems(
    statistic: Callable[[NDArray[np.intp]], Floats],
    n_systems: int,
    *,
    seed: int,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Floats, Floats]:
    r"""Give the 95 % interval of a statistic over systems, by the delete-d jackknife.

    With m of S systems in a subset, and v the variance of the statistic over subsets,

    .. math:: \hat\theta \pm t_{S-1} \sqrt{\frac{m}{S - m} v}

    Parameters
    ----------
    statistic
        From systems, (..., m), to values of shape (..., that of all else); smooth in the systems,
        such as tau or a share of pairs. NaN where it is undefined.
    n_systems
        Number of systems, S.
    seed
        Of the subsets.
    limits
        The lowest and the highest value there is.

    Returns
    -------
    Both limits; NaN with fewer than 8 systems.

    References
    ----------
    Shao & Wu (1989), A general theory for jackknife variance estimation.

    Notes
    -----
    In simulation (tau of 8 to 21 systems drawn from normal populations, 400 draws each) 93 to 99 of
    100 intervals held tau of the population.

    Examples
    --------
    The variance of a mean of 8 values is known:

    >>> values = np.arange(8.0)
    >>> low, high = over_systems(lambda some: values[some].mean(axis=-1), 8, seed=1)
    >>> round(float(high - low) / 2 / 2.3646, 1), round(float(values.std(ddof=1) / 8**0.5), 1)
    (0.9, 0.9)
    """
    observed = statistic(np.arange(n_systems))
    if n_systems < LEAST_SYSTEMS:
        unknown = np.full(observed.shape, np.nan)
        return unknown, unknown
    subsets = system_subsets(n_systems, seed=seed)
    size = subsets.shape[1]
    values = np.moveaxis(statistic(subsets), 0, -1)
    variances = mean_of_defined((values - mean_of_defined(values)[..., np.newaxis]) ** 2)
    quantile = stdtrit(n_systems - 1, (1 + CONFIDENCE) / 2)
    reach = quantile * np.sqrt(size / (n_systems - size) * variances)
    return np.clip(observed - reach, *limits), np.clip(observed + reach, *limits)
