"""Exact p-values for continuous metrics and many users, from eight power sums per pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.significance.permutation.critical import NORMAL, hoeffding_reach
from analyses.significance.permutation.pairs import REACH, PairSums

N_TERMS = 32
MOST_LOOKS = 12

# -log cos x = x^2/2 + x^4/12 + x^6/45 + ...: 2^(2r-1) (4^r - 1) |B_2r| / (r (2r)!).
LOG_COSINE = (
    1 / 2,
    1 / 12,
    1 / 45,
    17 / 2520,
    31 / 14175,
    691 / 935550,
    10922 / 42567525,
    929569 / 10216206000,
)


def p_by_series(sums: PairSums) -> NDArray[np.float64]:
    r"""Sum the Fourier series of the event "closer to 0 than the observed total".

    The signed sum T has the characteristic function
    :math:`\varphi(\theta) = \prod_u \cos(\theta d_u)`. On a circle of length
    :math:`L = t + 8.6\,\sigma`, with :math:`h = 2\pi/L`,

    .. math:: p = 1 - \frac{ht}{\pi}
              - \frac{2}{\pi} \sum_{k=1}^{32} \frac{\sin(kht)}{k}\, \varphi(kh).

    Wrapping T onto the circle costs at most 2e-16 (Hoeffding), as long as t <= 8.6 sigma. The
    logarithm of the cosine is its power series up to the 16th power, good to 1e-9 where 8.6 max|d|
    <= 2 sigma. Sums are over at least 200 differing users per pair, with eight powers and t > 0.

    Returns
    -------
    p-values of shape (n_pairs,); errors may carry the smallest slightly below 0.
    """
    steps = 2 * np.pi / (sums.totals + REACH * sums.deviations)
    return _sum_series(steps, sums.totals, _characteristic(sums, steps))


def critical_by_series(sums: PairSums, *, alpha: float) -> NDArray[np.float64]:
    """Find the smallest absolute sums whose p-values are at most alpha, of shape (n_pairs,).

    The normal approximation is where the search begins; the smooth p-value is then halved in
    until float64 can tell no more. Sums are as for `p_by_series`, alpha as for the lattice.
    """
    high = hoeffding_reach(alpha) * sums.deviations
    steps = 2 * np.pi / (high + REACH * sums.deviations)
    characteristic = _characteristic(sums, steps)
    low = np.zeros_like(high)
    totals = -NORMAL.inv_cdf(alpha / 2) * sums.deviations
    for _ in range(MOST_LOOKS):
        p = _sum_series(steps, totals, characteristic)
        significant = p <= alpha
        low, high = np.where(significant, low, totals), np.where(significant, totals, high)
        density = 2 * NORMAL.pdf(NORMAL.inv_cdf(alpha / 2)) / sums.deviations
        guesses = totals + (p - alpha) / density
        totals = np.where((guesses > low) & (guesses < high), guesses, (low + high) / 2)
    return high


def _characteristic(sums: PairSums, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the characteristic functions at 1, 2, ..., 32 steps, of shape (n_pairs, 32)."""
    squares = np.multiply.outer(steps, np.arange(1, N_TERMS + 1)) ** 2
    logarithms = np.zeros_like(squares)
    for order in reversed(range(len(LOG_COSINE))):
        logarithms += LOG_COSINE[order] * sums.powers[:, order, np.newaxis]
        logarithms *= squares
    return np.exp(-logarithms)


def _sum_series(
    steps: NDArray[np.float64], totals: NDArray[np.float64], characteristic: NDArray[np.float64]
) -> NDArray[np.float64]:
    turns, numbers = steps * totals, np.arange(1, N_TERMS + 1)
    terms = fourier_terms(np.multiply.outer(turns, numbers), numbers, characteristic)
    return 1 - turns / np.pi - terms.sum(axis=1)


def fourier_terms(
    angles: NDArray[np.floating], numbers: NDArray[np.intp], characteristic: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Terms (2/pi) sin(k h t) phi(k h) / k from the angles k h t and the numbers k."""
    return (2 / np.pi) * np.sin(angles) * characteristic / numbers
