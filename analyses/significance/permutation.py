r"""The paired permutation (sign-flip) test for all pairs of systems, exact and by Monte-Carlo.

Under the null hypothesis every user's difference d between two systems is as likely as -d. With
independent signs s, the two-sided p-value of the mean difference is

.. math:: p = P\left( \Big|\sum_u s_u d_u\Big| \ge \Big|\sum_u d_u\Big| \right),

ties included: the randomisation test of Fisher (1935), as Smucker, Allan & Carterette (2007)
recommend it for information retrieval. The mid-p-value counts half of the ties (Lancaster 1961):
its mean is 1/2 under the null hypothesis, whatever the grid of the scores, while that of p is
larger, the more sums tie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import SIGNS, Advance, monte_carlo_p, random_uint32
from analyses.shared.exact_sums import to_grid
from analyses.significance.enumeration import MAX_ENUMERATED_USERS, by_enumeration
from analyses.significance.exact import (
    LOG_COSINE,
    MAX_CONVOLVED_USERS,
    TAIL_DEVIATIONS,
    by_lattice,
    by_product,
    critical_by_series,
    has_revival,
    p_by_series,
)
from runs.shared.arrays import Floats, Longs, Numbers

# P@k up to k = 100, reciprocal ranks up to 10, and tables rounded to three, four or five decimals.
SCALES = (*range(1, 101), 420, 840, 1000, 2520, 10_000, 100_000)
TOLERANCE = 1e-10
MAX_NODES = 1 << 24
ALPHA = 0.05

SERIES_USERS = 200
"""Smallest number of differing users for the series from power sums."""

SERIES_SPREAD = 2.0
"""The series needs 8.6 times the largest difference to be at most this many deviations."""

N_REVIVAL_CHECKS = 3
"""Number of pairs whose characteristic function is checked for revivals."""

# Means that differ by less than this share of the largest score differ by rounding only.
ROUNDING = 2.0**-48

BLOCK = 1024
PERMUTATIONS_PER_TASK = 2048

# Random signs, sums and differences of this many users or systems are held at a time: 64 MB.
NUMBERS_AT_ONCE = 1 << 23
BITS_PER_HALF = 32


def find_scale(scores: Floats) -> int | None:
    """Find the smallest usual scale that makes all scores, times the scale, integers.

    Usual scales are 1 to 100 and a few up to 100,000 (`SCALES`); None if none of them does.
    """
    # Some scores show quickly that most scales are wrong.
    sampled_scores = scores.flat[:: max(1, scores.size // 64)]
    for scale in SCALES:
        if on_lattice(sampled_scores, scale) and on_lattice(scores, scale):
            return scale
    return None


def on_lattice(scores: Floats, scale: int, *, tolerance: float = TOLERANCE) -> bool:
    """Check whether scores times the scale are integers, up to the tolerance.

    False where scaled scores are as small as the tolerance allows: those are no integers.
    """
    scaled = scores * scale
    furthest = np.abs(scaled - np.rint(scaled)).max(initial=0.0)
    largest = np.abs(scaled).max(initial=0.0)
    return bool(furthest <= tolerance * min(1.0, largest))


def pair_indices(n_systems: int) -> tuple[Numbers, Numbers]:
    """Number the unordered pairs of systems (i, j) with i < j, first by i, then by j.

    The results are the i and the j of all pairs, each of shape (n_pairs,).
    """
    first, second = np.triu_indices(n_systems, k=1)
    return first, second


def pair_differences(values: Floats, axis: int = -1) -> Floats:
    """Subtract the second of every two numbers along an axis from the first.

    The axis then has one entry for each pair, in the order of `pair_indices`.

    Examples
    --------
    >>> pair_differences(np.array([3.0, 2.0, 0.0]))
    array([1., 3., 2.])
    """
    first, second = pair_indices(values.shape[axis])
    return np.asarray(values.take(first, axis) - values.take(second, axis))


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over the users' differences d of each pair of systems.

    Of shape (n_pairs,) are the number of users with d != 0, the totals, absolute values of the sum
    of d, which are the test statistic t, and the largest absolute d; powers, of shape (n_pairs,
    n_powers), are the sums of d^2, d^4, d^6, ...
    """

    n_differing: Numbers
    totals: Floats
    largest: Floats
    powers: Floats

    @classmethod
    def from_scores(cls, scores: Floats, *, n_powers: int) -> PairSums:
        """Sum differences over users, in a fixed order, for all pairs of systems.

        Scores are of shape (n_systems, n_users), the sums of (n_pairs,).

        ``n_powers``: how many of the sums of d^2, d^4, ... are computed. Four arrays of at most
        16 MB, or of one difference of each user, are held at a time.
        """
        n_systems, n_users = scores.shape
        at_once = max(1, NUMBERS_AT_ONCE // (4 * max(1, n_users)))
        blocks = []
        for first in range(n_systems):
            # Without a second system the block is empty; it has the right shapes.
            end = max(n_systems, first + 2)
            for start in range(first + 1, end, at_once):
                second_scores = scores[start : start + at_once]
                blocks.append(_sum_differences(scores[first] - second_scores, n_powers))
        n_differing, totals, largest, powers = zip(*blocks, strict=True)
        return cls(
            n_differing=np.concatenate(n_differing),
            totals=np.concatenate(totals),
            largest=np.concatenate(largest),
            powers=np.concatenate(powers),
        )

    def select(self, pairs: Numbers) -> PairSums:
        """Select pairs by their numbers."""
        return PairSums(
            n_differing=self.n_differing[pairs],
            totals=self.totals[pairs],
            largest=self.largest[pairs],
            powers=self.powers[pairs],
        )

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviation of the sum under random signs: sigma, of shape (n_pairs,)."""
        return np.sqrt(self.powers[:, 0])

    @cached_property
    def standardised(self) -> Floats:
        """Test statistic in standard deviations: z = t / sigma, 0 where all d are 0."""
        zeros = np.zeros(len(self.totals))
        return np.divide(self.totals, self.deviations, out=zeros, where=self.deviations > 0)

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Bounds of p: 2^(1 - n), and Hoeffding's (1963) 2 exp(-z^2 / 2); they are never 0.

        Lower and upper bounds are of shape (n_pairs,).
        """
        tiny = np.finfo(np.float64).tiny
        lower = np.ldexp(1.0, 1 - np.maximum(self.n_differing, 1))
        upper = 2 * np.exp(-0.5 * self.standardised**2)
        return np.maximum(lower, tiny), np.clip(upper, tiny, 1.0)


def _sum_differences(differences: Floats, n_powers: int) -> tuple[Numbers, Floats, Floats, Floats]:
    """Compute the fields of `PairSums` from differences of pairs (n_pairs, n_users).

    Number of users who differ, absolute sum, largest absolute difference, each of shape (n_pairs,);
    sums of the second, fourth, ... powers, of shape (n_pairs, n_powers).
    """
    squares = differences * differences
    powers = np.empty((len(differences), n_powers))
    product = squares.copy()
    for order in range(n_powers):
        powers[:, order] = product.sum(axis=1)
        product *= squares
    n_differing = np.count_nonzero(differences, axis=1)
    totals = np.abs(differences.sum(axis=1))
    largest = np.abs(differences).max(axis=1, initial=0.0)
    return n_differing, totals, largest, powers


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
    Method.CONVOLUTION: by_lattice,
    Method.LATTICE: by_lattice,
    Method.ENUMERATION: by_enumeration,
    Method.PRODUCT: by_product,
}


@dataclass(frozen=True, eq=False)
class PairTests:
    """p-values of pairs of systems, and how each was found.

    Arrays are of shape (n_pairs,) by one measure, or (n_measures, n_pairs).

    Parameters
    ----------
    p
        p-values in (0, 1]; NaN where no exact method is safe.
    mid_p
        Mid-p-values in (0, 1]: half of the sign assignments that tie with the observed one count.
        NaN where no exact method is safe. Of tests that are not permutation tests of the means,
        the p-values.
    methods
        Labels: "monte-carlo" where p is still to be drawn.
    required
        Smallest difference between two means that is significant at the level asked for; NaN where
        none is, and where no exact method is safe.
    """

    p: Floats
    mid_p: Floats
    methods: NDArray[np.str_]
    required: Floats


def exact_test(
    scores: Floats, *, scale: int | None = None, alpha: float = ALPHA, pairs: Numbers | None = None
) -> PairTests:
    """Test pairs of systems, each by the first of these methods that is safe for it.

    1. Equal means: p = 1; the mid-p-value is by the methods below, and 1/2 if no user differs.
    2. More than 8.6 standard deviations: p < 2e-16; Hoeffding's bound stands for it.
    3. Scores on a lattice: counting for at most 200 differing users, a finite Fourier sum for more.
    4. At most 40 differing users: counting by enumeration.
    5. At least 200 differing users and no difference too large: a Fourier series from power sums,
       unless the characteristic function of one of the three riskiest such pairs has_revival.
    6. The Fourier series of a product of cosines, where it dies away.
    7. Otherwise p is NaN, to be drawn by Monte-Carlo; of equal means, the mid-p-value alone.

    By 2, 5 and 6 the mid-p-value is p, as no sum is likely enough to matter as a tie.

    Parameters
    ----------
    scores
        Scores of one measure, of shape (n_systems, n_users).
    scale
        Factor that makes all scores integers; looked for if not given.
    alpha
        Level for which required differences are found, by the same methods.
    pairs
        Numbers of the pairs to test, in the order of :func:`pair_indices`; all by default.

    Returns
    -------
    Tests of the pairs. The absolute error is about 1e-13; near their limits up to 1e-9 by 5 (few
    users, large differences) and 1e-7 by 6 (41 users).

    Memory is below 500 MB, beyond three copies of the scores and 500 bytes for each pair.

    Examples
    --------
    Three users, differences 3, 2 and 1: two of eight sign assignments are as extreme.

    >>> exact_test(np.array([[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])).p.round(12)
    array([0.25])
    """
    n_systems, n_users = scores.shape
    if pairs is None:
        pairs = np.arange(n_systems * (n_systems - 1) // 2)
    lattice_scale = scale or find_scale(scores)
    if lattice_scale and _needed_nodes(scores, lattice_scale) <= MAX_NODES:
        unit = 1 / lattice_scale
        values = np.rint(scores * lattice_scale)
        sums = PairSums.from_scores(values, n_powers=1).select(pairs)
        is_convolved = sums.n_differing <= MAX_CONVOLVED_USERS
        regular = np.where(is_convolved, Method.CONVOLUTION, Method.LATTICE)
    else:
        # Division by a power of two is exact, and sixteenth powers stay in range.
        _, exponent = np.frexp(np.abs(scores).max(initial=0.0))
        unit = float(np.ldexp(1.0, int(exponent)))
        values = scores / unit
        sums = PairSums.from_scores(values, n_powers=len(LOG_COSINE)).select(pairs)
        regular = _choose_off_lattice(sums, values, pairs)
    rounding = ROUNDING * n_users * np.abs(values).max(initial=0.0)
    extremes = [sums.totals <= rounding, sums.standardised > TAIL_DEVIATIONS]
    methods = np.select(extremes, [Method.EQUAL_MEANS, Method.BOUND], default=regular)
    lower_bounds, upper_bounds = sums.bounds
    tests = _test_pairs(sums, values, pairs, regular, alpha=alpha)
    is_bound = methods == Method.BOUND
    p = np.where(is_bound, upper_bounds, tests.p)
    p[methods == Method.EQUAL_MEANS] = 1.0
    mid_p = np.where(is_bound, upper_bounds, tests.mid_p)
    mid_p[sums.n_differing == 0] = 0.5
    required = tests.critical_sums * (unit / max(1, n_users))
    methods[np.isnan(p)] = Method.MONTE_CARLO
    required[methods == Method.MONTE_CARLO] = np.nan
    # At least half of the smallest p-value, but not 0.
    lower_mid_bounds = np.maximum(lower_bounds / 2, np.finfo(np.float64).tiny)
    return PairTests(
        p=np.clip(p, lower_bounds, upper_bounds),
        mid_p=np.clip(mid_p, lower_mid_bounds, upper_bounds),
        methods=methods,
        required=required,
    )


def _needed_nodes(scores: Floats, scale: int) -> float:
    """Compute how many nodes a pair may need whose mean is within 8.6 standard deviations.

    Scores are of shape (n_systems, n_users); the scale makes them integers.
    """
    n_users = scores.shape[1]
    return float(TAIL_DEVIATIONS * np.ptp(scores) * scale * np.sqrt(n_users))


def _choose_off_lattice(sums: PairSums, values: Floats, pairs: Numbers) -> NDArray[np.str_]:
    """Choose a method for each pair of scores (n_systems, n_users) that are on no lattice.

    ``sums``: those of the pairs that are tested, with powers up to the 16th; ``pairs``: their
    numbers, of shape (n_pairs,). Enumeration for at most 40 differing users; the series for 200 or
    more without a large difference (8.6 times the largest is at most two deviations), unless the
    characteristic function of one of the three riskiest such pairs grows again; else the product.
    """
    is_moderate = TAIL_DEVIATIONS * sums.largest <= SERIES_SPREAD * sums.deviations
    has_enough_users = sums.n_differing >= SERIES_USERS
    methods = np.where(is_moderate & has_enough_users, Method.SERIES, Method.PRODUCT)
    methods[sums.n_differing <= MAX_ENUMERATED_USERS] = Method.ENUMERATION
    series = np.flatnonzero(methods == Method.SERIES)
    # By Cauchy & Schwarz n sum d^4 >= (sum d^2)^2, with equality if all sizes are equal: the
    # riskiest pairs are those whose differences come closest to sharing one size.
    squares = sums.powers[series, 0]
    fourth_powers = sums.powers[series, 1]
    flatness = sums.n_differing[series] * fourth_powers / squares**2
    riskiest = series[np.argsort(flatness, kind="stable")[:N_REVIVAL_CHECKS]]
    for differences in _differences(values, pairs[riskiest]):
        if has_revival(differences):
            methods[series] = Method.PRODUCT
            break
    return methods


class _SumTests(NamedTuple):
    """Tests of pairs of systems: the fields of `PairTest` as arrays of shape (n_pairs,)."""

    p: Floats
    mid_p: Floats
    critical_sums: Floats


def _test_pairs(
    sums: PairSums, values: Floats, pairs: Numbers, methods: NDArray[np.str_], *, alpha: float
) -> _SumTests:
    """Compute p-values, and the smallest sums that are significant at alpha, by the methods.

    Scores are of shape (n_systems, n_users); ``pairs`` are numbers of pairs, with their sums and
    methods, of shape (n_pairs,). Arrays of the result are of this shape; NaN where no user differs
    and where the method finds none.
    """
    p_values = np.full(len(pairs), np.nan)
    mid_p_values = np.full(len(pairs), np.nan)
    critical_sums = np.full(len(pairs), np.nan)
    series = np.flatnonzero(methods == Method.SERIES)
    if len(series) > 0:
        powers = sums.powers[series]
        p_values[series] = p_by_series(sums.totals[series], powers)
        mid_p_values[series] = p_values[series]
        critical_sums[series] = critical_by_series(powers, alpha=alpha)
    for method, test in PAIRWISE.items():
        tested = np.flatnonzero((methods == method) & (sums.n_differing > 0))
        differences_of_pairs = _differences(values, pairs[tested])
        for pair, differences in zip(tested, differences_of_pairs, strict=True):
            result = test(differences, alpha=alpha)
            p_values[pair] = result.p
            mid_p_values[pair] = result.mid_p
            critical_sums[pair] = result.critical_sum
    return _SumTests(p_values, mid_p_values, critical_sums)


def _differences(values: Floats, pairs: Numbers) -> Iterator[Floats]:
    """Yield the users' differences (n_users,) of pairs, given by their numbers.

    Scores are of shape (n_systems, n_users).
    """
    first, second = pair_indices(len(values))
    for i, j in zip(first[pairs], second[pairs], strict=True):
        yield values[i] - values[j]


def random_signs(start: int, stop: int, *, n_users: int, seed: int) -> Floats:
    """Draw the signs of permutations ``start`` to ``stop``, independent of all others' order.

    Permutation b owns ceil(n_users / 256) steps of the counter of a Philox generator (Salmon
    et al. 2011) whose key is the seed. User u has bit u of its raw words, in little-endian order:
    raw words, since the streams of numpy's other methods may change. The signs are +1 or -1,
    float64 of shape (stop - start, n_users).
    """
    n_halves = -(-n_users // BITS_PER_HALF)
    halves = random_uint32(start, stop, n_halves=n_halves, seed=seed, purpose=SIGNS)
    little_endian = np.ascontiguousarray(halves.astype("<u4", copy=False))
    octets = little_endian.view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=n_users, bitorder="little")
    return (1 - 2 * bits.view(np.int8)).astype(np.float64)


def flipped_sums(grid: Floats, start: int, stop: int, *, seed: int, block: int) -> Iterator[Floats]:
    """Yield the sums over users of gridded scores under the random signs ``start`` to ``stop``.

    From scores of shape (n_measures, n_systems, n_users), in blocks of shape (n_measures,
    n_systems, block). A block is shorter where signs of all users, or sums of all systems, need
    more than 64 MB.
    """
    n_measures, n_systems, n_users = grid.shape
    rows = grid.reshape(-1, n_users)
    block = max(1, min(block, NUMBERS_AT_ONCE // max(n_users, len(rows))))
    for begin in range(start, stop, block):
        end = min(begin + block, stop)
        signs = random_signs(begin, end, n_users=n_users, seed=seed)
        yield (rows @ signs.T).reshape(n_measures, n_systems, -1)


class DrawnTests(NamedTuple):
    """p-values and mid-p-values by random signs, each of shape (n_measures, n_pairs)."""

    p: Floats
    mid_p: Floats


def monte_carlo_test(
    scores: Floats, *, permutations: int, seed: int, n_jobs: int = 1, advance: Advance | None = None
) -> DrawnTests:
    """Test all pairs of systems with the same random sign flips.

    p = (count + 1) / (permutations + 1) counts the observed signs (Phipson & Smyth 2010). Flipped
    sums are linear in the scores, so one matrix product gives those of all pairs. Scores are
    rounded to a grid on which every sum is exact in float64: the result does not depend on the
    BLAS library, the number of jobs or the order of summation. A sum closer to the observed one
    than the grid can tell (below 1e-11 of the largest score, per user) is a tie, and counts. Of the
    ties, the observed signs among them, mid-p-values count half.

    Parameters
    ----------
    scores
        Of shape (n_measures, n_systems, n_users).
    permutations
        Number of random sign assignments.
    seed
        Key of the random signs.
    n_jobs
        Number of threads, each with one of BLAS.
    advance
        Called with the number of permutations finished since the last call.

    Returns
    -------
    p-values of shape (n_measures, n_pairs), at least 1 / (permutations + 1), and mid-p-values, at
    least half of that. The standard error of p is sqrt(p (1 - p) / permutations); errors of
    different pairs are correlated.

    Memory beyond scores on the grid and p-values is below 200 MB for each job, and 32 bytes for
    each measure and pair.

    Examples
    --------
    Equal systems cannot be told apart:

    >>> monte_carlo_test(np.ones((1, 2, 5)), permutations=99, seed=0).p
    array([[1.]])
    """
    count = partial(count_as_extreme, to_grid(scores), seed=seed)
    p, p_of_farther = monte_carlo_p(
        count,
        permutations,
        draws_per_task=PERMUTATIONS_PER_TASK,
        n_jobs=n_jobs,
        advance=advance,
    )
    # The observed signs are not farther than themselves, although they were counted so.
    share_farther = p_of_farther - 1 / (permutations + 1)
    return DrawnTests(p, (p + share_farther) / 2)


def count_as_extreme(grid: Floats, start: int, stop: int, *, seed: int) -> Longs:
    """Count the permutations whose sum is as far from 0 as the observed one, and those farther.

    From gridded scores of shape (n_measures, n_systems, n_users), for the permutations ``start`` to
    ``stop``. Counts are of shape (2, n_measures, n_pairs): of sums at least as far, and of those
    that are farther. Sums within 2 n_users of the grid tie.
    """
    from analyses.significance.permutation_loops import add_extreme

    first, second = pair_indices(grid.shape[1])
    totals = grid.sum(axis=2)
    observed = np.abs(totals[:, first] - totals[:, second])
    # The grid changes the observed and a flipped sum by at most one step a user each.
    tolerance = 2 * grid.shape[2]
    counts = np.zeros((2, *observed.shape), dtype=np.int64)
    for flipped in flipped_sums(grid, start, stop, seed=seed, block=BLOCK):
        add_extreme(counts, flipped, observed - tolerance, observed + tolerance)
    return counts
