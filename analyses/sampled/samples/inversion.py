"""Binomial and hypergeometric numbers from uniform ones, by the inverse of their distribution."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

NEGLIGIBLE = 45.0
"""Minus the logarithm of a chance that is left out: 3e-20, well below the step of a uniform."""


@numba.njit(nogil=True, cache=True)
def _log_choices(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@numba.njit(nogil=True, cache=True)
def _start(m: int, spread: int, chance: float, lowest: int) -> int:
    """Give a number that as good as all draws reach, but whose own chance does not underflow.

    This is the inequality of Bernstein, with the variance of ``spread`` binomial draws; it holds
    without replacement as well (Hoeffding, 1963).
    """
    variance = spread * chance * (1.0 - chance)
    third = NEGLIGIBLE / 3.0
    reach = third + math.sqrt(third * third + 2.0 * NEGLIGIBLE * variance)
    return max(lowest, int(m * chance - reach))


@numba.njit(nogil=True, cache=True)
def _binomial(uniform: float, m: int, above: int, others: int) -> int:
    chance = above / others
    x = _start(m, m, chance, 0)
    logarithm = x * math.log(chance) + (m - x) * math.log1p(-chance)
    mass = math.exp(logarithm + (_log_choices(m, x) if x > 0 else 0.0))
    odds = chance / (1.0 - chance)
    while uniform >= mass and x < m:
        uniform -= mass
        mass *= odds * (m - x) / (x + 1.0)
        x += 1
    return x


@numba.njit(nogil=True, cache=True)
def _hypergeometric(uniform: float, m: int, above: int, others: int) -> int:
    below = others - above
    # Those left out are a sample too, and vary as much.
    spread = min(m, others - m)
    x = _start(m, spread, above / others, max(0, m - below))
    highest = min(m, above)
    mass = math.exp(_log_choices(above, x) + _log_choices(below, m - x) - _log_choices(others, m))
    while uniform >= mass and x < highest:
        uniform -= mass
        mass *= (above - x) * float(m - x) / ((x + 1.0) * (below - m + x + 1))
        x += 1
    return x


@numba.njit(nogil=True, cache=True)
def negatives_above(
    uniforms: NDArray[np.float64],
    negatives: NDArray[np.int64],
    above: NDArray[np.int64],
    others: NDArray[np.int64],
    replace: bool,
) -> NDArray[np.int64]:
    r"""Turn uniform numbers into numbers of sampled negatives above.

    This is the smallest x with :math:`F(x) > u`, F the distribution function of
    :math:`\mathrm{Bin}(m, a / N)` or :math:`\mathrm{Hyp}(N, a, m)`, to about 1e-11. Equal
    uniforms therefore give the same number in every version of every library, and a larger one
    for an item that is ranked lower. All arrays, uniforms from [0, 1), the negatives drawn m, and
    irrelevant candidates above, a, and in all, N, are of shape (n,), as the negatives above are.

    Examples
    --------
    Two draws, half of the candidates above: 0, 1 and 2 have chances 1/4, 1/2 and 1/4.

    >>> two = np.full(4, 2)
    >>> negatives_above(np.array([0.2, 0.3, 0.7, 0.8]), two, two, 2 * two, True)
    array([0, 1, 1, 2])
    """
    drawn = np.zeros(len(uniforms), dtype=np.int64)
    for row in range(len(uniforms)):
        m, a, n = negatives[row], above[row], others[row]
        if m == 0 or a == 0:
            continue
        if a == n:
            drawn[row] = m
        elif replace:
            drawn[row] = _binomial(uniforms[row], m, a, n)
        else:
            drawn[row] = _hypergeometric(uniforms[row], m, a, n)
    return drawn


@numba.njit(nogil=True, cache=True)
def distinct_places(uniforms: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Draw distinct places below a size in each row, from uniform numbers: Fisher & Yates (1938).

    Examples
    --------
    Half of what is left is passed by each:

    >>> distinct_places(np.array([[0.5, 0.5]]), 3)
    array([[1, 2]])
    """
    order, drawn = np.arange(size), np.empty(uniforms.shape, dtype=np.int64)
    for row in range(len(uniforms)):
        for n in range(uniforms.shape[1]):
            other = n + int(uniforms[row, n] * (size - n))
            order[n], order[other] = order[other], order[n]
            drawn[row, n] = order[n]
    return drawn
