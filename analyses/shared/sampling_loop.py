"""The loops of `analyses.sampled.samples`, compiled: draws of negatives."""

from __future__ import annotations

import math

import numpy as np

from runs.shared.arrays import Floats, Longs
from runs.shared.compiled import jit

NEGLIGIBLE = 45.0
"""Minus the logarithm of a chance that is left out: 3e-20, well below the step of a uniform."""


@jit()
def _log_choices(n: int, k: int) -> float:
    """Compute the logarithm of the binomial coefficient n over k, 0 <= k <= n."""
    log_factorial = math.lgamma(n + 1.0)
    return log_factorial - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@jit()
def _binomial_quantile(uniform: float, m: int, chance: float, start: int) -> int:
    """Find the smallest x with F(x) > the uniform number, F that of Bin(m, chance), from a start.

    F is the distribution function, whose terms are added up from the start; lower ones are
    negligible. The chance is in (0, 1).
    """
    x = start
    log_choices = _log_choices(m, x) if x > 0 else 0.0
    log_below = (m - x) * math.log1p(-chance)
    logarithm = x * math.log(chance) + log_below
    mass = math.exp(logarithm + log_choices)
    odds = chance / (1.0 - chance)
    while uniform >= mass and x < m:
        uniform -= mass
        mass *= odds * (m - x) / (x + 1.0)
        x += 1
    return x


@jit()
def _hypergeometric_quantile(uniform: float, m: int, a: int, n: int, start: int) -> int:
    """Find the smallest x with F(x) > the uniform number, F that of Hyp(n, a, m), from a start.

    F is the distribution function of the number of items among a special ones, if m of n are drawn;
    its terms are added up from the start, and lower ones are negligible.
    """
    x = start
    below = n - a
    log_favourable = _log_choices(a, x) + _log_choices(below, m - x)
    mass = math.exp(log_favourable - _log_choices(n, m))
    while uniform >= mass and x < min(m, a):
        uniform -= mass
        numerator = (a - x) * float(m - x)
        mass *= numerator / ((x + 1.0) * (below - m + x + 1))
        x += 1
    return x


@jit()
def negatives_above(
    uniforms: Floats, negatives: Longs, above: Longs, others: Longs, replace: bool
) -> Longs:
    r"""Turn uniform numbers into numbers of sampled negatives above, all of shape (n,).

    ``negatives``: numbers m of negatives that are sampled, from N irrelevant candidates
    (``others``), of which a are above the item. The result is the smallest x with :math:`F(x) > u`,
    F the distribution function of :math:`\mathrm{Bin}(m, a / N)` or :math:`\mathrm{Hyp}(N, a, m)`,
    to about 1e-11: what ``ppf`` of scipy gives, in an eighth (binomial) and a thousandth
    (hypergeometric) of its time.
    """
    sampled_above = np.zeros(len(uniforms), dtype=np.int64)
    for row in range(len(uniforms)):
        m = negatives[row]
        a = above[row]
        n = others[row]
        if m == 0 or a == 0:
            continue
        if a == n:
            sampled_above[row] = m
            continue
        chance = a / n
        # Start where nothing below has a chance that counts (Bernstein's inequality), so that the
        # first chance does not underflow; without replacement it holds, too (Hoeffding, 1963).
        n_varying = m if replace else min(m, n - m)
        third = NEGLIGIBLE / 3.0
        squares = third * third + 2.0 * NEGLIGIBLE * n_varying * chance * (1.0 - chance)
        distance = third + math.sqrt(squares)
        smallest = 0 if replace else max(0, m - (n - a))
        start = max(smallest, int(m * chance - distance))
        if replace:
            sampled_above[row] = _binomial_quantile(uniforms[row], m, chance, start)
        else:
            sampled_above[row] = _hypergeometric_quantile(uniforms[row], m, a, n, start)
    return sampled_above


@jit()
def distinct_places(uniforms: Floats, size: int) -> Longs:
    """Draw distinct whole numbers from 0 to size - 1 in each row (Fisher & Yates, 1938).

    From uniform numbers in [0, 1). Both are of shape (n_rows, n), n at most the size.
    """
    # Each row goes on from the order that the row before left, which is as good as any.
    order = np.arange(size)
    places = np.empty(uniforms.shape, dtype=np.int64)
    for row in range(len(uniforms)):
        for n in range(uniforms.shape[1]):
            partner = n + int(uniforms[row, n] * (size - n))
            order[n], order[partner] = order[partner], order[n]
            places[row, n] = order[n]
    return places
