"""Exact p-values for continuous metrics from the product of cosines, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analyses.permutation.characteristic import characteristic_function, distinct_sizes
from analyses.permutation.pairs import REACH
from analyses.permutation.series import N_TERMS, fourier_terms

MOST_TERMS = 1 << 16
QUIET = 1e-8
DECAY = 37.0
REVIVAL_REACH = 40.0
REVIVAL = 1e-9


def p_by_product(differences: NDArray[np.float64]) -> float:
    """Sum the Fourier series with true cosines until its terms have died away.

    Unlike :func:`p_by_series` this assumes nothing about the differences: the series goes on
    past the angle where the cosines have decayed, and is doubled until the second half of its
    terms adds up to less than 1e-8 in absolute value.

    Parameters
    ----------
    differences
        Differences of all users, of shape (n_users,), with 0 < |sum| <= 8.6 sigma.

    Returns
    -------
    The p-value, or NaN if 65,536 terms do not suffice, as happens where all differences are
    multiples of one size or of sizes too far apart.
    """
    sizes, counts = distinct_sizes(differences)
    total = abs(float(differences.sum()))
    step = _step(differences)
    for n_terms in _lengths(sizes, counts, step):
        numbers, products = characteristic_function(sizes, counts, step=step, n_angles=n_terms)
        terms = fourier_terms(step * total * numbers, numbers, products)
        if np.abs(terms[numbers > n_terms // 2]).sum() < QUIET:
            return float(1 - step * total / np.pi - terms.sum())
    return float("nan")


def revives(differences: NDArray[np.float64]) -> bool:
    """Tell whether the characteristic function grows again where the series has stopped.

    It does when the differences nearly share one size: then they nearly form a lattice.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> bool(revives(rng.normal(size=1000)))
    False
    >>> bool(revives(rng.choice([-1, 1], 1000) * rng.normal(1, 0.01, size=1000)))
    True
    """
    sizes, counts = distinct_sizes(differences)
    step = _step(differences)
    last = int(np.ceil(REVIVAL_REACH / (sizes.max() * step)))
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=last)
    return bool((np.abs(products[numbers > N_TERMS]) > REVIVAL).any())


def _step(differences: NDArray[np.float64]) -> float:
    deviation = np.sqrt((differences * differences).sum())
    return float(2 * np.pi / (np.abs(differences.sum()) + REACH * deviation))


def _lengths(sizes: NDArray[np.float64], counts: NDArray[np.intp], step: float) -> Iterator[int]:
    """Numbers of terms to try: twice what decay and revivals ask for, then doubled."""
    angle = max(decay_angle(sizes, counts), REVIVAL_REACH / sizes.max())
    n_terms = 2 * max(N_TERMS, int(np.ceil(min(angle / step, MOST_TERMS))))
    while n_terms <= MOST_TERMS:
        yield n_terms
        n_terms *= 2


def decay_angle(sizes: NDArray[np.float64], counts: NDArray[np.intp]) -> float:
    r"""Find the angle at which the characteristic function has provably decayed.

    :math:`|\cos x| \le e^{-x^2/2}` for :math:`|x| \le \pi/2`, hence
    :math:`|\varphi(\theta)| \le e^{-E(\theta)}` with E half of :math:`\theta^2` times the sum of
    squares of the sizes up to :math:`\pi / 2\theta`.

    Returns
    -------
    The smallest angle where E reaches 37; if there is none, the angle where E is largest.

    Examples
    --------
    For 1,000 differences of size 1, half of 1000 theta^2 is 37 here:

    >>> round(decay_angle(np.array([1.0]), np.array([1000])), 4)
    0.272
    """
    order = np.argsort(sizes)
    squares = np.cumsum(counts[order] * sizes[order] ** 2)
    widest = np.pi / 2 / sizes[order]
    wanted = np.sqrt(2 * DECAY / squares)
    reached = wanted <= widest
    if reached.any():
        return float(wanted[reached].min())
    return float(widest[np.argmax(widest**2 * squares)])
