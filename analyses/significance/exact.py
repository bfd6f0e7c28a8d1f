r"""Exact p-values of sums with random signs, by counting and by Fourier series.

With differences d of the users and independent signs s, the p-value of a total t is
:math:`P(|\sum_u s_u d_u| \ge t)`. Two algorithms give this tail:

- *Counting*, for few users: on a lattice the sign assignments that lead to each sum are counted
  user by user; off it see :mod:`analyses.significance.enumeration`.
- *Fourier series* of the event "closer to 0 than t", from the characteristic function
  :math:`\varphi(\theta) = \prod_u \cos(\theta d_u)`: finite on a lattice; off it summed until it
  dies away, or from power sums for all pairs at once where users are many.

Critical values are searched on the same tails. Differences are of shape (n_users,). Memory is
below 300 MB for the differences that `exact_test` asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import copysign
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Floats, Longs, Numbers

Tail = Callable[[float], float]

REACH = 8.6
"""Beyond this many standard deviations a sum of random signs has a probability below 2e-16."""

NORMAL = NormalDist()

# Counting.
MOST_CONVOLVED = 200
"""Differing users whose signs are counted on a lattice."""

COST_OF_COUNT, COST_OF_ARRAY, COST_OF_SUBSET = 0.4, 3000.0, 4.0
"""Nanoseconds for a count, an array of counts and a subset: they balance the two parts."""

MOST_LISTED = 18
MOST_COUNTED_IN_32_BITS = 31
LOOKS = 10
"""How often a search for a critical value looks at the tail."""

# Fourier series.
NEGLIGIBLE = -50.0
"""A product of cosines below e^-50 never grows again, and no sum of ours would notice it."""

COARSE_TURNS = 0.1
"""Turns (of pi) between neighbouring angles up to which one of them is screened for both."""

CHUNK = 1 << 15
FEW_SIZES = 1 << 12
"""Whole numbers below this are counted without being sorted."""

N_TERMS, MOST_TERMS = 32, 1 << 16
QUIET, DECAY = 1e-8, 37.0
REVIVAL_REACH, REVIVAL = 40.0, 1e-9
MOST_LOOKS = 12

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
"""-log cos x = x^2/2 + x^4/12 + x^6/45 + ...: 2^(2r-1) (4^r - 1) |B_2r| / (r (2r)!)."""

# Critical values.
STEPS_PER_DEVIATION = 1 << 40
"""Steps into which a continuous statistic's standard deviation is divided for the search."""

CLOSING = 0.2
"""How far a look is moved towards the middle, as a share of the square of what is left."""


def hoeffding_reach(alpha: float) -> float:
    """Give the z from which on every sum of random signs is significant: 2 exp(-z^2/2) = alpha."""
    return float(np.sqrt(2 * np.log(2 / alpha)))


def smallest_significant(
    tail: Tail,
    *,
    alpha: float,
    deviation: float,
    farthest: float,
    step: float = 1.0,
    start: float = 0.0,
) -> float:
    """Find the smallest total = start + k step, k > 0, with tail(total) <= alpha.

    The tail falls, and the farthest total is known to be significant. The normal approximation
    with this deviation says where to look first. Every look is where the normal quantiles of the
    p-values at both ends meet, moved towards the middle so that both ends close in, and so near the
    middle that no more than a look is lost to halving: the ITP method of Oliveira & Takahashi
    (2021). Flat and steep places do no harm.
    """
    wanted = -NORMAL.inv_cdf(alpha / 2)
    highest = round((farthest - start) / step)
    low, high = 0, highest
    below, above = wanted, max(highest / (deviation / step) - wanted, 0.0)
    most = 2.0 ** highest.bit_length()
    while high - low > 1:
        width, middle = high - low, (low + high) / 2
        root = low + width * below / (below + above) if below + above > 0 else middle
        shift = min(CLOSING * width * width / highest, abs(middle - root))
        reach = max(most - width / 2, 0.0)
        guess = root + copysign(shift, middle - root)
        k = round(min(max(guess, middle - reach), middle + reach))
        k = min(max(k, low + 1), high - 1)
        p = tail(start + k * step)
        distance = abs(wanted + NORMAL.inv_cdf(min(max(p, 1e-300), 1.0) / 2))
        if p <= alpha:
            high, above = k, distance
        else:
            low, below = k, distance
        most /= 2
    return start + high * step


Found = tuple[float, float]
"""A p-value, and the smallest absolute sum whose p-value is at most alpha; NaN where none is."""


def p_on_lattice(differences: Floats) -> float:
    """Give the p-value of whole differences: by counting for at most 200 that are not 0.

    Counts are positive, so that even the smallest p-value is precise in all but the last digits;
    the cost grows with the square of the number of users times the size of their differences.
    Fourier sums may carry the smallest p-values slightly below 0. The sum of the differences is
    not 0; of more than 200 it is at most 8.6 sigma.
    """
    sizes, counts, unit = _in_units(differences)
    total = abs(float(differences.sum())) / unit
    return _lattice_tail(sizes, counts, nearest=total, farthest=total)(total)


def by_lattice(differences: Floats, *, alpha: float) -> Found:
    """Give the same p-value, and the smallest significant sum, from the same counts.

    Not all differences are 0; alpha is above 2 exp(-8.6^2 / 2).
    """
    sizes, counts, unit = _in_units(differences)
    deviation, highest = float(np.sqrt((counts * sizes**2).sum())), float((counts * sizes).sum())
    # Sums have the parity of the largest one; beyond that, or Hoeffding's, all is significant.
    parity = highest % 2
    n_steps = int(min(np.ceil(hoeffding_reach(alpha) * deviation), highest) - parity + 1) // 2
    farthest, total = parity + 2 * n_steps, abs(float(differences.sum())) / unit
    looked_at = max(farthest, min(total, REACH * deviation))
    tail = _lattice_tail(sizes, counts, nearest=parity, farthest=looked_at)
    p = tail(total)
    if np.ldexp(1.0, 1 - int(counts.sum())) > alpha:
        return p, float("nan")
    return p, unit * smallest_significant(
        tail, alpha=alpha, deviation=deviation, farthest=farthest, step=2.0, start=parity
    )


def by_product(differences: Floats, *, alpha: float) -> Found:
    """Sum the Fourier series with true cosines until its terms have died away.

    Nothing is assumed about the differences: the series is doubled until the second half of its
    terms adds up to less than 1e-8 in absolute value. NaN if 65,536 terms do not suffice, as where
    all differences are multiples of one size. The sum is at most 8.6 sigma, and so is a sum that is
    significant at alpha; of more than 40 differences that are not 0.
    """
    deviation = float(np.sqrt((differences * differences).sum()))
    total = abs(float(differences.sum()))
    farthest = hoeffding_reach(alpha) * deviation
    tail = _product_tail(differences, farthest=max(farthest, min(total, REACH * deviation)))
    p = tail(total)
    if np.isnan(p):
        return p, p
    step = deviation / STEPS_PER_DEVIATION
    return p, smallest_significant(
        tail, alpha=alpha, deviation=deviation, farthest=farthest, step=step
    )


def p_by_series(totals: Floats, powers: Floats) -> Floats:
    r"""Sum the Fourier series of many pairs at once, from power sums (n_pairs, 8) of d^2, d^4, ...

    On a circle of length :math:`L = t + 8.6\,\sigma`, with :math:`h = 2\pi/L`,

    .. math:: p = 1 - \frac{ht}{\pi}
              - \frac{2}{\pi} \sum_{k=1}^{32} \frac{\sin(kht)}{k}\, \varphi(kh).

    Wrapping the sum onto the circle costs at most 2e-16 (Hoeffding), as long as t <= 8.6 sigma. The
    logarithm of the cosine is its power series up to the 16th power, good to 1e-9 where 8.6 max|d|
    <= 2 sigma. Sums are over at least 200 differing users per pair, t > 0; errors may carry the
    smallest p-values slightly below 0.
    """
    steps = 2 * np.pi / (totals + REACH * np.sqrt(powers[:, 0]))
    return _sum_series(steps, totals, _series_characteristic(powers, steps))


def critical_by_series(powers: Floats, *, alpha: float) -> Floats:
    """Find the smallest absolute sums whose p-values are at most alpha, of shape (n_pairs,).

    The normal approximation is where the search begins; the smooth p-value is then halved in
    until float64 can tell no more.
    """
    deviations = np.sqrt(powers[:, 0])
    high = hoeffding_reach(alpha) * deviations
    steps = 2 * np.pi / (high + REACH * deviations)
    characteristic = _series_characteristic(powers, steps)
    low = np.zeros_like(high)
    totals = -NORMAL.inv_cdf(alpha / 2) * deviations
    for _ in range(MOST_LOOKS):
        p = _sum_series(steps, totals, characteristic)
        significant = p <= alpha
        low, high = np.where(significant, low, totals), np.where(significant, totals, high)
        density = 2 * NORMAL.pdf(NORMAL.inv_cdf(alpha / 2)) / deviations
        guesses = totals + (p - alpha) / density
        totals = np.where((guesses > low) & (guesses < high), guesses, (low + high) / 2)
    return high


def revives(differences: Floats) -> bool:
    """Tell whether the characteristic function grows again where `p_by_series` has stopped.

    It does when the differences nearly share one size: then they nearly form a lattice.
    """
    sizes, counts = distinct_sizes(differences)
    # Farther sums than 8.6 standard deviations are never asked for.
    deviation = np.sqrt((differences * differences).sum())
    step = _step(differences, min(abs(float(differences.sum())), REACH * float(deviation)))
    last = int(np.ceil(REVIVAL_REACH / (sizes.max() * step)))
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=last)
    return bool((np.abs(products[numbers > N_TERMS]) > REVIVAL).any())


def distinct_sizes(differences: NDArray[np.number]) -> tuple[Floats, Numbers]:
    """Give the distinct absolute differences except 0 and how often each occurs, frequent first."""
    sizes = np.abs(differences)
    if sizes.max(initial=0) < FEW_SIZES and np.array_equal(whole := sizes.astype(np.intp), sizes):
        counts = np.bincount(whole)
        sizes = np.arange(len(counts))
    else:
        sizes, counts = np.unique(sizes, return_counts=True)
    some = np.flatnonzero((sizes > 0) & (counts > 0))
    order = some[np.lexsort((-sizes[some], -counts[some]))]
    return sizes[order].astype(np.float64), counts[order]


def _in_units(differences: Floats) -> tuple[Floats, Numbers, int]:
    """Give distinct sizes in units of their common divisor, their counts, and the divisor."""
    sizes, counts = distinct_sizes(differences)
    unit = int(np.gcd.reduce(sizes.astype(np.int64)))
    return sizes / unit, counts, unit


def _lattice_tail(sizes: Floats, counts: Numbers, *, nearest: float, farthest: float) -> Tail:
    """Give the tail of whole sizes, at totals of the right parity from nearest to farthest."""
    n_users, highest = int(counts.sum()), int((counts * sizes).sum())
    if n_users > MOST_CONVOLVED:
        return _periodic_tail(sizes, counts, farthest=farthest)
    every = np.sort(np.repeat(sizes.astype(np.int64), counts))
    # With plus signs adding up to k the signed sum is 2 k - highest; the upper tail mirrors.
    count_up_to = subset_counter(every, highest=(highest - int(nearest)) // 2, n_looks=LOOKS)
    return lambda total: float(np.ldexp(count_up_to((highest - int(total)) // 2), 1 - n_users))


def subset_counter(sizes: Longs, *, highest: int, n_looks: int) -> Callable[[int], float]:
    """Prepare to count subsets of rising sizes whose sum is at most a limit, the highest at most.

    The small sizes are added one by one to an array of counts; the subsets of the few large ones,
    for which that array would be long, are listed: so many that the work of all looks is least.
    """
    lengths = np.minimum(np.cumsum(sizes), highest)
    adding = np.cumsum(np.append(0.0, COST_OF_COUNT * lengths + COST_OF_ARRAY))
    n_large = np.arange(min(len(sizes), MOST_LISTED) + 1)
    work = adding[len(sizes) - n_large] + n_looks * COST_OF_SUBSET * 2.0**n_large
    n_small = len(sizes) - int(np.argmin(work))
    listed = np.zeros(1, dtype=np.int64)
    for size in sizes[n_small:]:
        listed = np.concatenate([listed, listed + size])
    counts = _cumulate(sizes[:n_small].tolist(), highest=highest)

    def count_up_to(limit: int) -> float:
        places = np.clip(limit + 1 - listed, 0, len(counts) - 1)
        return float(counts[places].sum(dtype=np.float64))

    return count_up_to


def _cumulate(sizes: list[int], *, highest: int) -> NDArray[np.uint32] | Floats:
    """Count the subsets with sums of at most -1, 0, 1, ..., the highest that matters."""
    kind = np.uint32 if len(sizes) <= MOST_COUNTED_IN_32_BITS else np.float64
    counts, longer = np.empty((2, min(sum(sizes), highest) + 2), dtype=kind)
    counts[:2] = 0, 1
    length, n_subsets = 2, 1
    for size in sizes:
        length, before = min(length + size, len(counts)), length
        counts[before:length] = n_subsets
        longer[:size] = counts[: min(size, length)]
        np.add(counts[size:length], counts[: max(0, length - size)], out=longer[size:length])
        counts, longer = longer, counts
        n_subsets *= 2
    return counts[:length]


def _periodic_tail(sizes: Floats, counts: Numbers, *, farthest: float) -> Tail:
    r"""Sum over the full period of the characteristic function, ties counted exactly.

    The signed sum of integers has the parity of the total t, so with n odd,
    :math:`n \ge (t + 8.6\,\sigma)/2`, and :math:`h = \pi/n`

    .. math:: p = 1 - \frac1n \Big[ (t - 1) + 2 \sum_{k=1}^{(n-1)/2}
              \varphi(kh) \frac{\sin((t-1)kh)}{\sin(kh)} \Big]

    up to 2e-16 (Hoeffding) and rounding.
    """
    reach = farthest + REACH * float(np.sqrt((counts * sizes**2).sum()))
    nodes = int(np.ceil(reach / 2)) // 2 * 2 + 1
    step = np.pi / nodes
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=nodes // 2)
    angles = step * numbers
    weights = products / np.sin(angles)

    def p_beyond(total: float) -> float:
        waves = (weights * np.sin((total - 1) * angles)).sum()
        return float(1 - ((total - 1) + 2 * waves) / nodes)

    return p_beyond


def _product_tail(differences: Floats, *, farthest: float) -> Tail:
    """Give the tail up to the farthest total; it is NaN where the series does not die away."""
    sizes, counts = distinct_sizes(differences)
    step = _step(differences, farthest)
    for n_terms in _lengths(sizes, counts, step):
        numbers, products = characteristic_function(sizes, counts, step=step, n_angles=n_terms)
        terms = _fourier_terms(step * farthest * numbers, numbers, products)
        if np.abs(terms[numbers > n_terms // 2]).sum() < QUIET:
            return partial(_sum_product, step, numbers, products)
    return lambda total: float("nan")


def _sum_product(step: float, numbers: Numbers, products: Floats, total: float) -> float:
    terms = _fourier_terms(step * total * numbers, numbers, products)
    return float(1 - step * total / np.pi - terms.sum())


def _step(differences: Floats, farthest: float) -> float:
    deviation = np.sqrt((differences * differences).sum())
    return float(2 * np.pi / (farthest + REACH * deviation))


def _lengths(sizes: Floats, counts: Numbers, step: float) -> Iterator[int]:
    """Numbers of terms to try: twice what decay and revivals ask for, then doubled."""
    angle = max(_decay_angle(sizes, counts), REVIVAL_REACH / sizes.max())
    n_terms = 2 * max(N_TERMS, int(np.ceil(min(angle / step, MOST_TERMS))))
    while n_terms <= MOST_TERMS:
        yield n_terms
        n_terms *= 2


def _decay_angle(sizes: Floats, counts: Numbers) -> float:
    r"""Find the angle at which the characteristic function has provably decayed.

    :math:`|\cos x| \le e^{-x^2/2}` for :math:`|x| \le \pi/2`, hence
    :math:`|\varphi(\theta)| \le e^{-E(\theta)}` with E half of :math:`\theta^2` times the sum of
    squares of the sizes up to :math:`\pi / 2\theta`. This is the smallest angle where E reaches 37;
    if there is none, the angle where E is largest.
    """
    order = np.argsort(sizes)
    squares = np.cumsum(counts[order] * sizes[order] ** 2)
    widest = np.pi / 2 / sizes[order]
    wanted = np.sqrt(2 * DECAY / squares)
    reached = wanted <= widest
    if reached.any():
        return float(wanted[reached].min())
    return float(widest[np.argmax(widest**2 * squares)])


def _series_characteristic(powers: Floats, steps: Floats) -> Floats:
    """Give the characteristic functions at 1, 2, ..., 32 steps, of shape (n_pairs, 32)."""
    squares = np.multiply.outer(steps, np.arange(1, N_TERMS + 1)) ** 2
    logarithms = np.zeros_like(squares)
    for order in reversed(range(len(LOG_COSINE))):
        logarithms += LOG_COSINE[order] * powers[:, order, np.newaxis]
        logarithms *= squares
    return np.exp(-logarithms)


def _sum_series(steps: Floats, totals: Floats, characteristic: Floats) -> Floats:
    turns, numbers = steps * totals, np.arange(1, N_TERMS + 1)
    terms = _fourier_terms(np.multiply.outer(turns, numbers), numbers, characteristic)
    return 1 - turns / np.pi - terms.sum(axis=1)


def _fourier_terms(
    angles: NDArray[np.floating], numbers: Numbers, characteristic: Floats
) -> Floats:
    """Terms (2/pi) sin(k h t) phi(k h) / k from the angles k h t and the numbers k."""
    return (2 / np.pi) * np.sin(angles) * characteristic / numbers


def characteristic_function(
    sizes: Floats, counts: Numbers, *, step: float, n_angles: int
) -> tuple[Numbers, Floats]:
    r"""Multiply cosines, :math:`\varphi(\theta) = \prod_v \cos(\theta v)^{n_v}`, at even steps.

    Few angles need their cosines. With x the distance of an angle from the nearest multiple of
    pi, :math:`|\cos x| \le e^{-x^2/2}`: this bound, which needs additions only, shows first for
    groups of neighbours, then for single angles, where the product is negligible.

    Sizes and counts are the distinct absolute differences v and their numbers of users n_v, of
    shape (n_sizes,); the angles are step, 2 step, ..., n_angles step. Returned are the rising
    numbers k of the angles where the product may exceed e^-50 in size, and the products there.
    """
    turns = sizes * (step / np.pi)
    reach = int(min(COARSE_TURNS / turns.max(), n_angles // 2))
    numbers = np.arange(1 + reach, n_angles + 1 + reach, 2 * reach + 1)
    if reach > 0:
        numbers = _screen(numbers, turns, counts, slack=reach * turns)
        numbers = np.add.outer(numbers, np.arange(-reach, reach + 1)).ravel()
        numbers = numbers[numbers <= n_angles]
    numbers = _screen(numbers, turns, counts, slack=np.zeros_like(turns))
    return numbers, _multiply_cosines(numbers, turns, counts)


def _screen(numbers: Numbers, turns: Floats, counts: Numbers, *, slack: Floats) -> Numbers:
    """Keep the multiples of the step where the bound, less the slack, is not negligible."""
    bounds = np.zeros(len(numbers))
    start = 0
    while start < len(turns) and len(numbers) > 0:
        some = slice(start, start + max(1, CHUNK // len(numbers)))
        start = some.stop
        distances = np.multiply.outer(numbers, turns[some])
        distances -= np.rint(distances)
        distances = np.maximum(np.abs(distances) - slack[some], 0.0)
        bounds -= (counts[some] * distances * distances).sum(axis=1)
        kept = bounds * (np.pi**2 / 2) > NEGLIGIBLE
        numbers, bounds = numbers[kept], bounds[kept]
    return numbers


def _multiply_cosines(numbers: Numbers, turns: Floats, counts: Numbers) -> Floats:
    """Products over all sizes; the cosine of a whole number of half turns is exactly +-1."""
    logarithms = np.zeros(len(numbers))
    n_half_turns = np.zeros(len(numbers))
    width = max(1, CHUNK // max(1, len(numbers)))
    for start in range(0, len(turns), width):
        some = slice(start, start + width)
        distances = np.multiply.outer(numbers, turns[some])
        nearest = np.rint(distances)
        cosines = np.cos(np.pi * (distances - nearest))
        logarithms += (counts[some] * np.log(cosines)).sum(axis=1)
        n_half_turns += (counts[some] * nearest).sum(axis=1)
    return np.where(n_half_turns % 2 == 0, 1.0, -1.0) * np.exp(logarithms)
