"""What Spearman's rho is by chance: its exact distribution for few models, and what follows."""

from __future__ import annotations

import math
from functools import cache
from itertools import takewhile
from typing import Final

import numpy as np
from numpy.typing import NDArray

MOST_EXACT: Final = 12
"""Models up to which all orders are counted; beyond, a series is good to 2e-4."""

SMALLEST_STEP: Final = 1e-9
"""Values of rho that differ by less are the same."""


@cache
def _count_orders(n_models: int) -> NDArray[np.int64]:
    """Count the orders by their sum of products of ranks, from the lowest sum to the highest.

    Ranks are given out in turn. What matters of those given is which, 2^n sets instead of n!
    orders.
    """
    ranks = np.arange(n_models)
    highest = int((ranks * ranks).sum())
    counts = np.zeros((2**n_models, highest + 1), dtype=np.int64)
    counts[0, 0] = 1
    for given in range(2**n_models):
        place = given.bit_count()
        for rank in range(n_models):
            if not given >> rank & 1:
                added = place * rank
                counts[given | 1 << rank, added:] += counts[given, : highest + 1 - added]
    lowest = int((ranks * ranks[::-1]).sum())
    return counts[-1, lowest:]


def chance_of_rho(rho: float, n_models: int) -> float:
    r"""Give the one-sided p of a rho: the chance of it or a larger one if order means nothing.

    With :math:`D = \sum d^2`, which is even, :math:`\rho = 1 - 6 D / (n^3 - n)` (Kendall 1938).
    Exact for 2 to 12 models without ties; beyond, an Edgeworth series (Best & Roberts 1975,
    Algorithm AS 89) half a step below the next value that rho can have, whose error is below 2e-4
    and falls with the number of models.

    Examples
    --------
    Five of the 120 orders of five models have a rho of .9 or more:

    >>> round(120 * chance_of_rho(0.9, 5))
    5
    """
    if n_models <= MOST_EXACT:
        counts = _count_orders(n_models)
        values = np.linspace(-1.0, 1.0, len(counts))
        return float(counts[values >= rho - SMALLEST_STEP].sum() / math.factorial(n_models))
    step = 12 / (n_models**3 - n_models)
    next_value = math.ceil((rho + 1) / step - SMALLEST_STEP) * step - 1
    # The series may fall below the chance of a single order.
    return max(_edgeworth_tail(next_value - step / 2, n_models), 1 / math.factorial(n_models))


def _edgeworth_tail(rho: float, n_models: int) -> float:
    """Chance of a rho above this, with the constants of AS 89."""
    b, x = 1 / n_models, rho * math.sqrt(n_models - 1)
    y = x * x
    third = 0.0072 - 0.0831 * b + y * b * (0.0131 - 4.6e-4 * y)
    second = 0.0879 + 0.0151 * b - y * third
    first = -0.0758 + b * (0.1033 + 0.3932 * b) - y * b * second
    series = x * b * (0.2274 + b * (0.2531 + 0.1745 * b) + y * first)
    return min(series * math.exp(-y / 2) + math.erfc(x / math.sqrt(2)) / 2, 1.0)


def smallest_rho(n_models: int, *, alpha: float = 0.05) -> float:
    """Give the smallest rho whose one-sided p is at most alpha; NaN if no order is so rare.

    Examples
    --------
    >>> [round(smallest_rho(n_models), 3) for n_models in (5, 6, 7, 8, 9, 20)]
    [0.9, 0.829, 0.714, 0.643, 0.6, 0.38]
    >>> smallest_rho(3)
    nan
    """
    step = 12 / (n_models**3 - n_models)
    values = (1.0 - n_steps * step for n_steps in range((n_models**3 - n_models) // 6))
    rare = takewhile(lambda rho: chance_of_rho(rho, n_models) <= alpha, values)
    return min(rare, default=math.nan)
