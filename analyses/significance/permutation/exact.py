"""Exact p-values for all pairs of systems: which method is safe for which pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from analyses.significance.permutation import convolution, enumeration
from analyses.significance.permutation.convolution import critical_by_convolution, p_by_convolution
from analyses.significance.permutation.enumeration import critical_by_enumeration, p_by_enumeration
from analyses.significance.permutation.lattice import (
    affordable,
    critical_by_lattice,
    find_scale,
    p_by_lattice,
)
from analyses.significance.permutation.pairs import REACH, PairSums, pair_indices
from analyses.significance.permutation.product import critical_by_product, p_by_product, revives
from analyses.significance.permutation.series import LOG_COSINE, critical_by_series, p_by_series

SERIES_USERS = 200
SERIES_SPREAD = 2.0
N_REVIVAL_CHECKS = 3
# Means that differ by less than this share of the largest score differ by rounding only.
ROUNDING = 2.0**-48


class Method(StrEnum):
    """How a p-value was found."""

    EQUAL_MEANS = "equal-means"
    BOUND = "bound"
    CONVOLUTION = "exact-convolution"
    LATTICE = "exact-lattice"
    ENUMERATION = "enumeration"
    SERIES = "exact-series"
    PRODUCT = "exact-product"
    MONTE_CARLO = "monte-carlo"


PAIRWISE = {
    Method.CONVOLUTION: p_by_convolution,
    Method.LATTICE: p_by_lattice,
    Method.ENUMERATION: p_by_enumeration,
    Method.PRODUCT: p_by_product,
}
ON_LATTICE = (Method.CONVOLUTION, Method.LATTICE)
CRITICAL: Mapping[Method, Callable[..., float]] = {
    Method.CONVOLUTION: critical_by_convolution,
    Method.LATTICE: critical_by_lattice,
    Method.ENUMERATION: critical_by_enumeration,
    Method.PRODUCT: critical_by_product,
}


@dataclass(frozen=True, eq=False)
class ExactTest:
    """p-values of all pairs and how each was found.

    Parameters
    ----------
    p
        p-values in (0, 1], of shape (n_pairs,); NaN where no exact method is safe.
    methods
        Labels, of shape (n_pairs,): "monte-carlo" where p is still to be drawn.
    required
        Smallest difference between two means that is significant at the level asked for, of
        shape (n_pairs,); NaN where none is, and where no exact method is safe.
    """

    p: NDArray[np.float64]
    methods: NDArray[np.str_]
    required: NDArray[np.float64]


def exact_test(
    scores: NDArray[np.float64],
    *,
    scale: int | None = None,
    alpha: float | None = None,
    pairs: NDArray[np.intp] | None = None,
) -> ExactTest:
    """Test pairs of systems, each by the first of these methods that is safe for it.

    1. Equal means: p = 1.
    2. More than 8.6 standard deviations: p < 2e-16; Hoeffding's bound stands for it.
    3. Scores on a lattice: :func:`p_by_convolution` for at most 200 differing users,
       :func:`p_by_lattice` for more.
    4. At most 40 differing users: :func:`p_by_enumeration`.
    5. At least 200 differing users and no difference too large: :func:`p_by_series`, unless the
       characteristic function of one of the three riskiest such pairs revives.
    6. :func:`p_by_product`, where its series dies away.
    7. Otherwise p is NaN, to be drawn by Monte-Carlo.

    Parameters
    ----------
    scores
        Scores of one measure, of shape (n_systems, n_users).
    scale
        Factor that makes all scores integers; looked for if not given.
    alpha
        Level for which required differences are found, by the same methods; none by default.
    pairs
        Numbers of the pairs to test, in the order of :func:`pair_indices`; all by default.

    Returns
    -------
    Tests of the pairs. The absolute error is about 1e-13; near their limits up to 1e-9 by 5 (few
    users, large differences) and 1e-7 by 6 (41 users).

    Examples
    --------
    Three users, differences 3, 2 and 1: two of eight sign assignments are as extreme.

    >>> exact_test(np.array([[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])).p.round(12)
    array([0.25])
    """
    if pairs is None:
        pairs = np.arange(len(scores) * (len(scores) - 1) // 2)
    found = scale or find_scale(scores)
    if found and affordable(scores, found):
        unit = 1 / found
        values = np.rint(scores * found)
        sums = PairSums.of(values, n_powers=1).select(pairs)
        regular = _choose_on_lattice(sums)
    else:
        unit = _power_of_two(scores)
        values = scores / unit
        sums = PairSums.of(values, n_powers=len(LOG_COSINE)).select(pairs)
        regular = _choose_off_lattice(sums, values, pairs)
    methods = _settle_extremes(regular, sums, values)
    p = _solve(sums, values, pairs, methods)
    methods[np.isnan(p)] = Method.MONTE_CARLO
    required = np.full(len(pairs), np.nan)
    if alpha is not None:
        required = _critical_totals(sums, values, pairs, regular, alpha=alpha)
        required *= unit / max(1, scores.shape[1])
        required[methods == Method.MONTE_CARLO] = np.nan
    return ExactTest(np.clip(p, sums.lower_bounds, sums.upper_bounds), methods, required)


def _power_of_two(scores: NDArray[np.float64]) -> float:
    """Give the unit, division by which is exact, in which sixteenth powers stay in range."""
    _, exponent = np.frexp(np.abs(scores).max(initial=0.0))
    return float(np.ldexp(1.0, int(exponent)))


def _choose_on_lattice(sums: PairSums) -> NDArray[np.str_]:
    few = sums.n_differing <= convolution.MOST_USERS
    return np.where(few, Method.CONVOLUTION, Method.LATTICE)


def _choose_off_lattice(
    sums: PairSums, values: NDArray[np.float64], pairs: NDArray[np.intp]
) -> NDArray[np.str_]:
    moderate = REACH * sums.largest <= SERIES_SPREAD * sums.deviations
    many = sums.n_differing >= SERIES_USERS
    methods = np.where(moderate & many, Method.SERIES, Method.PRODUCT)
    methods[sums.n_differing <= enumeration.MOST_USERS] = Method.ENUMERATION
    series = np.flatnonzero(methods == Method.SERIES)
    risky = _differences(values, pairs[_riskiest(sums, series)])
    if any(revives(differences) for differences in risky):
        methods[series] = Method.PRODUCT
    return methods


def _settle_extremes(
    methods: NDArray[np.str_], sums: PairSums, values: NDArray[np.float64]
) -> NDArray[np.str_]:
    """Need no method for pairs whose means are equal or too far apart to compute with."""
    rounding = ROUNDING * values.shape[1] * np.abs(values).max(initial=0.0)
    far = sums.standardised > REACH
    return np.select(
        [sums.totals <= rounding, far], [Method.EQUAL_MEANS, Method.BOUND], default=methods
    )


def _riskiest(sums: PairSums, pairs: NDArray[np.intp]) -> NDArray[np.intp]:
    """Choose the pairs whose differences come closest to sharing one size.

    By Cauchy & Schwarz n sum d^4 >= (sum d^2)^2, with equality if all sizes are equal.
    """
    flatness = sums.n_differing[pairs] * sums.powers[pairs, 1] / sums.powers[pairs, 0] ** 2
    return pairs[np.argsort(flatness, kind="stable")[:N_REVIVAL_CHECKS]]


def _solve(
    sums: PairSums, values: NDArray[np.float64], pairs: NDArray[np.intp], methods: NDArray[np.str_]
) -> NDArray[np.float64]:
    p = np.where(methods == Method.EQUAL_MEANS, 1.0, sums.upper_bounds)
    series = np.flatnonzero(methods == Method.SERIES)
    if len(series) > 0:
        p[series] = p_by_series(sums.select(series))
    for method, test in PAIRWISE.items():
        chosen = np.flatnonzero(methods == method)
        p[chosen] = [test(differences) for differences in _differences(values, pairs[chosen])]
    return p


def _critical_totals(
    sums: PairSums,
    values: NDArray[np.float64],
    pairs: NDArray[np.intp],
    methods: NDArray[np.str_],
    *,
    alpha: float,
) -> NDArray[np.float64]:
    """Find the smallest significant sums; where no user differs, there is none."""
    totals = np.full(len(pairs), np.nan)
    series = np.flatnonzero(methods == Method.SERIES)
    if len(series) > 0:
        totals[series] = critical_by_series(sums.select(series), alpha=alpha)
    for method, search in CRITICAL.items():
        chosen = np.flatnonzero((methods == method) & (sums.n_differing > 0))
        some = _differences(values, pairs[chosen])
        if method in ON_LATTICE:
            totals[chosen] = [_attainable(search, each, alpha=alpha) for each in some]
        else:
            totals[chosen] = [search(differences, alpha=alpha) for differences in some]
    return totals


def _attainable(
    search: Callable[..., float], differences: NDArray[np.float64], *, alpha: float
) -> float:
    """Search in steps of the largest number that divides all differences: sums take no others."""
    step = int(np.gcd.reduce(differences.astype(np.int64)))
    return step * search(differences / step, alpha=alpha)


def _differences(
    values: NDArray[np.float64], pairs: NDArray[np.intp]
) -> Iterator[NDArray[np.float64]]:
    first, second = pair_indices(len(values))
    for i, j in zip(first[pairs], second[pairs], strict=True):
        yield values[i] - values[j]
