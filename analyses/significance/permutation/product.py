"""Exact p-values for continuous metrics from the product of cosines, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from analyses.significance.permutation.characteristic import characteristic_function, distinct_sizes
from analyses.significance.permutation.critical import (
    STEPS_PER_DEVIATION,
    first_significant,
    hoeffding_reach,
)
from analyses.significance.permutation.pairs import REACH
from analyses.significance.permutation.series import N_TERMS, fourier_terms

MOST_TERMS = 1 << 16
QUIET = 1e-8
DECAY = 37.0
REVIVAL_REACH = 40.0
REVIVAL = 1e-9


def p_by_product(differences: NDArray[np.float64]) -> float:
    """Sum the Fourier series with true cosines until its terms have died away.

    Unlike :func:`p_by_series` this assumes nothing about the differences: the series goes on past
    the angle where the cosines have decayed, and is doubled until the second half of its terms adds
    up to less than 1e-8 in absolute value. Differences are of shape (n_users,), with 0 < |sum| <=
    8.6 sigma.

    Returns
    -------
    The p-value, or NaN if 65,536 terms do not suffice, as happens where all differences are
    multiples of one size or of sizes too far apart.
    """
    total = abs(float(differences.sum()))
    return _tail(differences, farthest=total)(total)


def critical_by_product(differences: NDArray[np.float64], *, alpha: float) -> float:
    """Find the smallest absolute sum whose p-value is at most alpha; NaN as by `p_by_product`.

    More than 40 differences are not 0; alpha is above 2 exp(-8.6^2 / 2).
    """
    deviation = float(np.sqrt((differences * differences).sum()))
    farthest = hoeffding_reach(alpha) * deviation
    p_beyond, step = _tail(differences, farthest=farthest), deviation / STEPS_PER_DEVIATION
    if np.isnan(p_beyond(farthest)):
        return float("nan")
    steps = first_significant(
        lambda k: p_beyond(k * step),
        alpha=alpha,
        deviation=deviation / step,
        highest=round(farthest / step),
    )
    return steps * step


def _tail(differences: NDArray[np.float64], *, farthest: float) -> Callable[[float], float]:
    """Give the function from a sum, up to the farthest, to the probability of one as far from 0."""
    sizes, counts = distinct_sizes(differences)
    step = _step(differences, farthest)
    for n_terms in _lengths(sizes, counts, step):
        numbers, products = characteristic_function(sizes, counts, step=step, n_angles=n_terms)

        def terms(
            total: float, n: NDArray[np.intp] = numbers, phi: NDArray[np.float64] = products
        ) -> NDArray[np.float64]:
            return fourier_terms(step * total * n, n, phi)

        if np.abs(terms(farthest)[numbers > n_terms // 2]).sum() < QUIET:
            return lambda total: float(1 - step * total / np.pi - terms(total).sum())
    return lambda total: float("nan")


def revives(differences: NDArray[np.float64]) -> bool:
    """Tell whether the characteristic function grows again where the series has stopped.

    It does when the differences nearly share one size: then they nearly form a lattice.
    """
    sizes, counts = distinct_sizes(differences)
    # Farther sums than 8.6 standard deviations are never asked for.
    deviation = np.sqrt((differences * differences).sum())
    step = _step(differences, min(abs(float(differences.sum())), REACH * float(deviation)))
    last = int(np.ceil(REVIVAL_REACH / (sizes.max() * step)))
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=last)
    return bool((np.abs(products[numbers > N_TERMS]) > REVIVAL).any())


def _step(differences: NDArray[np.float64], farthest: float) -> float:
    deviation = np.sqrt((differences * differences).sum())
    return float(2 * np.pi / (farthest + REACH * deviation))


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
    """
    order = np.argsort(sizes)
    squares = np.cumsum(counts[order] * sizes[order] ** 2)
    widest = np.pi / 2 / sizes[order]
    wanted = np.sqrt(2 * DECAY / squares)
    reached = wanted <= widest
    if reached.any():
        return float(wanted[reached].min())
    return float(widest[np.argmax(widest**2 * squares)])
