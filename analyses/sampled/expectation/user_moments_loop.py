"""Moments of what users add to an estimate, compiled: a walk down the relevant items of each user.

Between two relevant items that follow each other, the number of sampled negatives is binomial, or
hypergeometric, given those above the first: what came before does not matter. So a walk from the
top that carries, for each number of negatives passed, its chance and the first two moments of what
was added so far, takes one step an item and no sum over pairs.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]

NEGLIGIBLE = 1e-20
"""Chances that are left out; no sum of floats to which the others add up would notice."""

jit = numba.njit(nogil=True, cache=True, error_model="numpy")


@jit
def fill_chances(
    chances: Floats, m: int, above: int, others: int, replace: bool, least: float
) -> tuple[int, int]:
    """Write how likely x of m negatives come from ``above`` of ``others``, for x about the mode.

    Ratios of neighbours multiply up from the mode to both sides, so that no logarithm is taken and
    the relative error is a few hundred roundings. Chances below the part ``least`` of the largest
    are left out; the first and the last x that is not are given.
    """
    below = others - above
    if m == 0 or above == 0 or below == 0:
        x = m if below == 0 else 0
        chances[x] = 1.0
        return x, x
    taken = 0 if replace else 1
    lowest, highest = (0, m) if replace else (max(0, m - below), min(m, above))
    mode = int((m + 1.0) * (above + taken) / (others + 2.0 * taken))
    mode = min(max(mode, lowest), highest)
    chances[mode] = 1.0
    first = last = mode
    while last < highest and chances[last] > least:
        chances[last + 1] = chances[last] * _ratio(last, m, above, below, taken)
        last += 1
    while first > lowest and chances[first] > least:
        # The inverse waits for no other chance, where a quotient of chances would.
        chances[first - 1] = chances[first] * (1.0 / _ratio(first - 1, m, above, below, taken))
        first -= 1
    chances[first : last + 1] *= 1.0 / chances[first : last + 1].sum()
    return first, last


@jit
def _ratio(x: int, m: int, above: int, below: int, taken: int) -> float:
    """Give how much likelier x + 1 is than x, where what is drawn is ``taken`` away or is not."""
    return (m - x) * float(above - taken * x) / ((x + 1.0) * (below - taken * (m - x - 1)))


@jit
def row_means(
    values: Floats, kinds: Integers, above: Integers, others: Integers, replace: bool
) -> Floats:
    """Expect what each relevant item adds: (n_rows, n_estimates).

    Values are what items of each kind add when x negatives are above, (n_kinds, m + 1,
    n_estimates); of the items there is the kind, and irrelevant candidates above and in all.
    """
    m, n_estimates = values.shape[1] - 1, values.shape[2]
    means = np.zeros((len(kinds), n_estimates))
    chances = np.empty(m + 1)
    for row in range(len(kinds)):
        first, last = fill_chances(chances, m, above[row], others[row], replace, NEGLIGIBLE)
        for x in range(first, last + 1):
            for estimate in range(n_estimates):
                means[row, estimate] += chances[x] * values[kinds[row], x, estimate]
    return means


@jit
def user_moments(
    values: Floats,
    kinds: Integers,
    factors: Floats,
    above: Integers,
    others: Integers,
    starts: Integers,
    replace: bool,
) -> tuple[Floats, Floats]:
    """Give mean and variance of what each user adds: (n_users, n_estimates) each.

    Rows are as for :func:`row_means`, those of a user together and from the top; factors, (n_rows,
    n_estimates), multiply their values, and starts are the first row of each user, and the number
    of rows.
    """
    m, n_estimates = values.shape[1] - 1, values.shape[2]
    means = np.zeros((len(starts) - 1, n_estimates))
    variances = np.zeros((len(starts) - 1, n_estimates))
    here = np.zeros((1 + 2 * n_estimates, m + 1))
    next_ = np.zeros((1 + 2 * n_estimates, m + 1))
    chances = np.empty(m + 1)
    for user in range(len(starts) - 1):
        here[0, 0] = 1.0
        low = high = passed = 0
        for row in range(starts[user], starts[user + 1]):
            if above[row] > passed:
                gap, left = above[row] - passed, others[row] - passed
                low, high = _pass(here, next_, chances, low, high, m, gap, left, replace)
                here, next_ = next_, here
                passed = above[row]
            means[user] += _add(here, low, high, values[kinds[row]], factors[row])
        for estimate in range(n_estimates):
            variances[user, estimate] = here[1 + n_estimates + estimate, low : high + 1].sum()
        here[:, low : high + 1] = 0.0
    return means, variances


@jit
def _pass(
    here: Floats,
    next_: Floats,
    chances: Floats,
    low: int,
    high: int,
    m: int,
    gap: int,
    left: int,
    replace: bool,
) -> tuple[int, int]:
    """Walk past ``gap`` of the ``left`` candidates; give the first and last x that is reached.

    Of the two buffers, the one that is walked to is empty before, the other one after.
    """
    lowest, highest = m, 0
    for before in range(low, high + 1):
        if here[0, before] <= NEGLIGIBLE:
            continue
        least = NEGLIGIBLE / here[0, before]
        first, last = fill_chances(chances, m - before, gap, left, replace, least)
        lowest, highest = min(lowest, before + first), max(highest, before + last)
        reached = chances[first : last + 1]
        for moment in range(len(here)):
            # One run over neighbours in memory, which compiles to vector instructions.
            into, weight = next_[moment, before + first :], here[moment, before]
            for place in range(len(reached)):
                into[place] += weight * reached[place]
    here[:, low : high + 1] = 0.0
    return lowest, highest


@jit
def _add(here: Floats, low: int, high: int, values: Floats, factors: Floats) -> Floats:
    """Add an item's values less their mean, so that nothing cancels; give the mean."""
    n_estimates = len(factors)
    means = np.zeros(n_estimates)
    for x in range(low, high + 1):
        for estimate in range(n_estimates):
            means[estimate] += here[0, x] * values[x, estimate] * factors[estimate]
    for x in range(low, high + 1):
        for estimate in range(n_estimates):
            value = values[x, estimate] * factors[estimate] - means[estimate]
            first, second = 1 + estimate, 1 + n_estimates + estimate
            here[second, x] += value * (2 * here[first, x] + value * here[0, x])
            here[first, x] += value * here[0, x]
    return means
