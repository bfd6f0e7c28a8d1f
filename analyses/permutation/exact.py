"""Exact p-values for all pairs of systems: which method is safe for which pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from analyses.permutation import convolution, enumeration
from analyses.permutation.convolution import p_by_convolution
from analyses.permutation.enumeration import p_by_enumeration
from analyses.permutation.lattice import affordable, find_scale, p_by_lattice
from analyses.permutation.pairs import REACH, PairSums, pair_indices
from analyses.permutation.product import p_by_product, revives
from analyses.permutation.series import LOG_COSINE, p_by_series

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


@dataclass(frozen=True, eq=False)
class ExactTest:
    """p-values of all pairs and how each was found.

    Parameters
    ----------
    p
        p-values in (0, 1], of shape (n_pairs,); NaN where no exact method is safe.
    methods
        Labels, of shape (n_pairs,): "monte-carlo" where p is still to be drawn.
    """

    p: NDArray[np.float64]
    methods: NDArray[np.str_]


def exact_test(scores: NDArray[np.float64], *, scale: int | None = None) -> ExactTest:
    """Test all pairs of systems, each by the first of these methods that is safe for it.

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

    Returns
    -------
    Tests of the pairs i < j, in the order of :func:`pair_indices`. The absolute error is about
    1e-13; near their limits up to 1e-9 by 5 (few users, large differences) and 1e-7 by 6 (41
    users).

    Examples
    --------
    Three users, differences 3, 2 and 1: two of eight sign assignments are as extreme.

    >>> exact_test(np.array([[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])).p.round(12)
    array([0.25])
    """
    found = scale or find_scale(scores)
    if found and affordable(scores, found):
        values = np.rint(scores * found)
        sums = PairSums.of(values, n_powers=1)
        methods = _choose_on_lattice(sums, values)
    else:
        values = _normalised(scores)
        sums = PairSums.of(values, n_powers=len(LOG_COSINE))
        methods = _choose_off_lattice(sums, values)
    p = _solve(sums, values, methods)
    methods[np.isnan(p)] = Method.MONTE_CARLO
    return ExactTest(np.clip(p, sums.lower_bounds, sums.upper_bounds), methods)


def _normalised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale by a power of two, which is exact, so that sixteenth powers stay in range."""
    _, exponent = np.frexp(np.abs(scores).max(initial=0.0))
    return np.ldexp(scores, -exponent)


def _choose_on_lattice(sums: PairSums, values: NDArray[np.float64]) -> NDArray[np.str_]:
    few = sums.n_differing <= convolution.MOST_USERS
    return _settle_extremes(np.where(few, Method.CONVOLUTION, Method.LATTICE), sums, values)


def _choose_off_lattice(sums: PairSums, values: NDArray[np.float64]) -> NDArray[np.str_]:
    moderate = REACH * sums.largest <= SERIES_SPREAD * sums.deviations
    many = sums.n_differing >= SERIES_USERS
    methods = np.where(moderate & many, Method.SERIES, Method.PRODUCT)
    methods[sums.n_differing <= enumeration.MOST_USERS] = Method.ENUMERATION
    methods = _settle_extremes(methods, sums, values)
    series = np.flatnonzero(methods == Method.SERIES)
    if any(revives(differences) for differences in _differences(values, _riskiest(sums, series))):
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
    sums: PairSums, values: NDArray[np.float64], methods: NDArray[np.str_]
) -> NDArray[np.float64]:
    p = np.where(methods == Method.EQUAL_MEANS, 1.0, sums.upper_bounds)
    series = methods == Method.SERIES
    if series.any():
        p[series] = p_by_series(sums.select(series))
    for method, test in PAIRWISE.items():
        pairs = np.flatnonzero(methods == method)
        p[pairs] = [test(differences) for differences in _differences(values, pairs)]
    return p


def _differences(
    values: NDArray[np.float64], pairs: NDArray[np.intp]
) -> Iterator[NDArray[np.float64]]:
    first, second = pair_indices(len(values))
    for i, j in zip(first[pairs], second[pairs], strict=True):
        yield values[i] - values[j]
