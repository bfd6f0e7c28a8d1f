"""Exact p-values for metrics whose scores are multiples of one number, such as P@k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.permutation.characteristic import characteristic_function, distinct_sizes
from analyses.permutation.pairs import REACH

# P@k up to k = 100, reciprocal ranks up to 10, and tables rounded to three or four decimals.
SCALES = (*range(1, 101), 420, 840, 1000, 2520, 10_000)
TOLERANCE = 1e-9
MOST_NODES = 1 << 23


def find_scale(scores: NDArray[np.float64]) -> int | None:
    """Find the smallest usual scale that makes all scores integers.

    Examples
    --------
    >>> find_scale(np.array([[0.5, 0.25]]))
    4
    >>> find_scale(np.array([[0.5, 1 / np.pi]])) is None
    True
    """
    few = scores.flat[:: max(1, scores.size // 64)]
    gaps = np.multiply.outer(SCALES, few)
    gaps -= np.rint(gaps)
    candidates = np.array(SCALES)[(np.abs(gaps) <= TOLERANCE).all(axis=1)]
    return next((int(c) for c in candidates if lattice_error(scores, int(c)) <= TOLERANCE), None)


def lattice_error(scores: NDArray[np.float64], scale: int) -> float:
    """Largest distance of a scaled score from an integer."""
    scaled = scores * scale
    return float(np.abs(scaled - np.rint(scaled)).max(initial=0.0))


def n_nodes(total: float, deviation: float) -> int:
    """Smallest odd number of nodes whose wrapped sums lie beyond 8.6 standard deviations."""
    return int(np.ceil((total + REACH * deviation) / 2)) // 2 * 2 + 1


def p_by_lattice(differences: NDArray[np.float64]) -> float:
    r"""Sum over the full period of the characteristic function, ties counted exactly.

    The signed sum T of integers has the parity of the observed total t, so with n odd,
    :math:`n \ge (t + 8.6\,\sigma)/2`, and :math:`h = \pi/n`

    .. math:: p = 1 - \frac1n \Big[ (t - 1) + 2 \sum_{k=1}^{(n-1)/2}
              \varphi(kh) \frac{\sin((t-1)kh)}{\sin(kh)} \Big]

    up to 2e-16 (Hoeffding) and rounding. Nothing is assumed about the differences.

    Parameters
    ----------
    differences
        Whole numbers, of shape (n_users,), with 0 < |sum| <= 8.6 sigma.

    Returns
    -------
    The p-value; errors may carry the smallest slightly below 0.

    Examples
    --------
    Of the eight sums of +-3, +-2, +-1, two are as large as 6:

    >>> round(p_by_lattice(np.array([3.0, 2.0, 1.0])), 12)
    0.25
    """
    sizes, counts = distinct_sizes(differences)
    unit = np.gcd.reduce(sizes.astype(np.int64))
    sizes, total = sizes / unit, abs(differences.sum()) / unit
    nodes = n_nodes(total, float(np.sqrt((counts * sizes**2).sum())))
    step = np.pi / nodes
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=nodes // 2)
    kernel = np.sin((total - 1) * step * numbers) / np.sin(step * numbers)
    return float(1 - ((total - 1) + 2 * (products * kernel).sum()) / nodes)
