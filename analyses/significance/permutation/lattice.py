"""Exact p-values for metrics whose scores are multiples of one number, such as P@k."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from analyses.significance.permutation.characteristic import characteristic_function, distinct_sizes
from analyses.significance.permutation.critical import first_significant, hoeffding_reach
from analyses.significance.permutation.pairs import REACH

# P@k up to k = 100, reciprocal ranks up to 10, and tables rounded to three, four or five decimals.
SCALES = (*range(1, 101), 420, 840, 1000, 2520, 10_000, 100_000)
TOLERANCE = 1e-10
MOST_NODES = 1 << 24


def find_scale(scores: NDArray[np.float64]) -> int | None:
    """Find the smallest usual scale that makes all scores integers."""
    few = scores.flat[:: max(1, scores.size // 64)]
    return next((c for c in SCALES if on_lattice(few, c) and on_lattice(scores, c)), None)


def on_lattice(scores: NDArray[np.float64], scale: int, *, tolerance: float = TOLERANCE) -> bool:
    """Tell whether scaled scores are integers, up to the tolerance and not by being tiny."""
    scaled = scores * scale
    furthest = np.abs(scaled - np.rint(scaled)).max(initial=0.0)
    return bool(furthest <= tolerance * min(1.0, np.abs(scaled).max(initial=0.0)))


def affordable(scores: NDArray[np.float64], scale: int) -> bool:
    """Tell whether no pair, its mean within 8.6 standard deviations, needs too many nodes."""
    widest_deviation = np.ptp(scores) * scale * np.sqrt(scores.shape[1])
    return bool(REACH * widest_deviation <= MOST_NODES)


def n_nodes(total: float, deviation: float) -> int:
    """Smallest odd number of nodes whose wrapped sums lie beyond 8.6 standard deviations."""
    return int(np.ceil((total + REACH * deviation) / 2)) // 2 * 2 + 1


def p_by_lattice(differences: NDArray[np.float64]) -> float:
    r"""Sum over the full period of the characteristic function, ties counted exactly.

    The signed sum T of integers has the parity of the observed total t, so with n odd,
    :math:`n \ge (t + 8.6\,\sigma)/2`, and :math:`h = \pi/n`

    .. math:: p = 1 - \frac1n \Big[ (t - 1) + 2 \sum_{k=1}^{(n-1)/2}
              \varphi(kh) \frac{\sin((t-1)kh)}{\sin(kh)} \Big]

    up to 2e-16 (Hoeffding) and rounding. Nothing is assumed about the differences. They are whole
    numbers, of shape (n_users,), with 0 < |sum| <= 8.6 sigma; errors may carry the smallest p-value
    slightly below 0.
    """
    sizes, counts, unit = _in_units(differences)
    total = abs(float(differences.sum())) / unit
    return _tail(sizes, counts, farthest=total)(total)


def critical_by_lattice(differences: NDArray[np.float64], *, alpha: float) -> float:
    """Find the smallest absolute sum whose p-value is at most alpha; NaN where none is.

    Differences are whole numbers, not all of them 0; alpha is above 2 exp(-8.6^2 / 2).
    """
    sizes, counts, unit = _in_units(differences)
    if np.ldexp(1.0, 1 - int(counts.sum())) > alpha:
        return float("nan")
    deviation = float(np.sqrt((counts * sizes**2).sum()))
    total = int((counts * sizes).sum())
    parity = total % 2
    # Sums are 2 steps + parity; beyond the largest one, or Hoeffding's, all is significant.
    highest = int(min(np.ceil(hoeffding_reach(alpha) * deviation), total) - parity + 1) // 2
    p_beyond = _tail(sizes, counts, farthest=2.0 * highest + parity)
    steps = first_significant(
        lambda k: p_beyond(2.0 * k + parity), alpha=alpha, deviation=deviation / 2, highest=highest
    )
    return float((2 * steps + parity) * unit)


def _in_units(
    differences: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.intp], int]:
    """Give distinct sizes in units of their common divisor, their counts, and the divisor."""
    sizes, counts = distinct_sizes(differences)
    unit = int(np.gcd.reduce(sizes.astype(np.int64)))
    return sizes / unit, counts, unit


def _tail(
    sizes: NDArray[np.float64], counts: NDArray[np.intp], *, farthest: float
) -> Callable[[float], float]:
    """Give the function from a sum, up to the farthest, to the probability of one as far from 0."""
    nodes = n_nodes(farthest, float(np.sqrt((counts * sizes**2).sum())))
    step = np.pi / nodes
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=nodes // 2)
    angles = step * numbers
    weights = products / np.sin(angles)

    def p_beyond(total: float) -> float:
        waves = (weights * np.sin((total - 1) * angles)).sum()
        return float(1 - ((total - 1) + 2 * waves) / nodes)

    return p_beyond
