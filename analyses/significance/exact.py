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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.significance.characteristic_function import characteristic_function
from runs.shared.arrays import Floats, Longs, Numbers

Tail = Callable[[float], float]

TAIL_DEVIATIONS = 8.6
"""Beyond this many standard deviations a sum of random signs has a probability below 2e-16."""

NORMAL = NormalDist()

# Counting.
MAX_CONVOLVED_USERS = 200
"""Differing users whose signs are counted on a lattice."""

COST_OF_COUNT = 0.4
COST_OF_ARRAY = 3000.0
COST_OF_SUBSET = 4.0
"""Nanoseconds for a count, an array of counts and a subset: they balance the two parts."""

MAX_LISTED_SIZES = 18
"""Largest number of sizes whose subsets are listed."""

MAX_SIZES_IN_32_BITS = 31
"""Numbers of subsets of so many sizes are held as 32-bit integers."""

LOOKS = 10
"""How often a search for a critical value looks at the tail."""

# Fourier series.
FEW_SIZES = 1 << 12
"""Whole numbers below this are counted without being sorted."""

N_TERMS = 32
"""Terms of the series that is summed for all pairs at once."""

MAX_TERMS = 1 << 16
"""Longest series of a single pair."""

NEGLIGIBLE_PRODUCT = float(np.exp(-50.0))
"""A product of cosines below this in size counts as 0."""

NEGLIGIBLE_REST = 1e-8
"""A series is long enough if the second half of its terms adds up to less, in absolute value."""

DECAY = 37.0
"""A characteristic function below e^-37 has died away."""

REVIVAL_ANGLE = 40.0
"""Angle, for the largest difference, up to which revivals are looked for."""

REVIVAL = 1e-9
"""A characteristic function that exceeds this again has a revival."""

N_REFINEMENTS = 12
"""Number of halvings in which critical values of many pairs are searched."""

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


def hoeffding_deviations(alpha: float) -> float:
    """Compute the z from which on every sum of random signs is significant.

    It solves 2 exp(-z^2/2) = alpha (Hoeffding 1963); in standard deviations of the sum.
    """
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

    ``tail`` computes the p-value of a total, and falls as totals grow; the farthest total is known
    to be significant. The normal approximation with this deviation says where to look first. Every
    look is where the normal quantiles of the p-values at both ends meet, moved towards the middle
    so that both ends close in, and so near the middle that no more than a look is lost to halving:
    the ITP method of Oliveira & Takahashi (2021). Flat and steep places do no harm.
    """
    critical_quantile = -NORMAL.inv_cdf(alpha / 2)
    highest = round((farthest - start) / step)
    low = 0
    high = highest
    # Distances of the normal quantiles at both ends from the critical one.
    low_distance = critical_quantile
    high_distance = max(highest / (deviation / step) - critical_quantile, 0.0)
    largest_width = 2.0 ** highest.bit_length()
    while high - low > 1:
        guess = _next_guess(low, high, low_distance, high_distance, highest, largest_width)
        k = min(max(guess, low + 1), high - 1)
        p = tail(start + k * step)
        quantile = NORMAL.inv_cdf(min(max(p, 1e-300), 1.0) / 2)
        distance = abs(critical_quantile + quantile)
        if p <= alpha:
            high = k
            high_distance = distance
        else:
            low = k
            low_distance = distance
        largest_width /= 2
    return start + high * step


def _next_guess(
    low: int,
    high: int,
    low_distance: float,
    high_distance: float,
    highest: int,
    largest_width: float,
) -> int:
    """Choose the number of steps at which the ITP method looks next.

    Ends are numbers of steps, distances those of the normal quantiles at the ends from the critical
    one, ``highest`` the number of steps at the beginning, and ``largest_width`` what halving alone
    would have left of them. The result can be an end.
    """
    width = high - low
    middle = (low + high) / 2
    both_distances = low_distance + high_distance
    root = low + width * low_distance / both_distances if both_distances > 0 else middle
    shift = min(CLOSING * width * width / highest, abs(middle - root))
    radius = max(largest_width - width / 2, 0.0)
    guess = root + copysign(shift, middle - root)
    return round(min(max(guess, middle - radius), middle + radius))


class PairTest(NamedTuple):
    """The test of one pair of systems, whose observed sum of differences is t, by random sums T.

    ``p`` is P(abs(T) >= abs(t)). ``mid_p`` is P(abs(T) > abs(t)) + P(abs(T) = abs(t)) / 2: half of
    the sign assignments that tie with the observed one count. ``critical_sum`` is the smallest
    absolute sum whose p-value is at most alpha, NaN where none is.
    """

    p: float
    mid_p: float
    critical_sum: float


def p_on_lattice(differences: Floats) -> float:
    """Compute the p-value of whole differences: by counting for at most 200 that are not 0.

    Counts are positive, so that even the smallest p-value is precise in all but the last digits;
    the cost grows with the square of the number of users times the size of their differences.
    Fourier sums may carry the smallest p-values slightly below 0. Differences are of shape
    (n_users,); their sum is not 0; of more than 200 it is at most 8.6 sigma.
    """
    sizes, counts, divisor = _divided_sizes(differences)
    total = abs(float(differences.sum())) / divisor
    tail = _lattice_tail(sizes, counts, nearest=total, farthest=total)
    return tail(total)


def by_lattice(differences: Floats, *, alpha: float) -> PairTest:
    """Test whole differences, and find the smallest significant sum, from counts.

    Differences are of shape (n_users,), not all 0; alpha is above 2 exp(-8.6^2 / 2). The p-value is
    that of `p_on_lattice`, and 1 for a sum of 0. The smallest sum is NaN if no sum is significant.
    """
    sizes, counts, divisor = _divided_sizes(differences)
    deviation = float(np.sqrt((counts * sizes**2).sum()))
    highest = float((counts * sizes).sum())
    # Sums have the parity of the largest one; beyond that, or Hoeffding's, all is significant.
    parity = highest % 2
    limit = min(np.ceil(hoeffding_deviations(alpha) * deviation), highest)
    n_steps = int(limit - parity + 1) // 2
    farthest = parity + 2 * n_steps
    total = abs(float(differences.sum())) / divisor
    # Divided sums are all even or all odd: the next larger one is 2 more.
    farthest_look = max(farthest, min(total + 2, TAIL_DEVIATIONS * deviation))
    tail = _lattice_tail(sizes, counts, nearest=parity, farthest=farthest_look)
    p = tail(total) if total > 0 else 1.0
    mid_p = (p + tail(total + 2)) / 2
    smallest_p = np.ldexp(1.0, 1 - int(counts.sum()))
    if smallest_p > alpha:
        return PairTest(p, mid_p, float("nan"))
    critical = smallest_significant(
        tail, alpha=alpha, deviation=deviation, farthest=farthest, step=2.0, start=parity
    )
    return PairTest(p, mid_p, divisor * critical)


def by_product(differences: Floats, *, alpha: float) -> PairTest:
    """Test differences, and find the smallest significant sum, from a series of true cosines.

    Nothing is assumed about the differences: the series is doubled until the second half of its
    terms adds up to less than 1e-8 in absolute value. All results are NaN if 65,536 terms do not
    suffice, as where all differences are multiples of one size. Where they do, no sum is likely
    enough to matter as a tie: the mid-p-value is the p-value. Differences are of shape (n_users,);
    more than 40 are not 0. The sum is at most 8.6 sigma, and so is a sum that is significant at
    alpha.
    """
    deviation = float(np.sqrt((differences * differences).sum()))
    total = abs(float(differences.sum()))
    farthest = hoeffding_deviations(alpha) * deviation
    farthest_look = max(farthest, min(total, TAIL_DEVIATIONS * deviation))
    tail = _product_tail(differences, farthest=farthest_look)
    p = tail(total)
    if np.isnan(p):
        return PairTest(p, p, p)
    step = deviation / STEPS_PER_DEVIATION
    critical = smallest_significant(
        tail, alpha=alpha, deviation=deviation, farthest=farthest, step=step
    )
    return PairTest(p, p, critical)


def p_by_series(totals: Floats, powers: Floats) -> Floats:
    r"""Compute the p-values of many pairs at once, by Fourier series from power sums.

    Totals are the absolute sums of the differences d, of shape (n_pairs,), as are the p-values;
    powers the sums of d^2, d^4, ..., of shape (n_pairs, 8).

    On a circle of length :math:`L = t + 8.6\,\sigma`, with :math:`h = 2\pi/L`,

    .. math:: p = 1 - \frac{ht}{\pi}
              - \frac{2}{\pi} \sum_{k=1}^{32} \frac{\sin(kht)}{k}\, \varphi(kh).

    Wrapping the sum onto the circle costs at most 2e-16 (Hoeffding), as long as t <= 8.6 sigma. The
    logarithm of the cosine is its power series up to the 16th power, good to 1e-9 where 8.6 max|d|
    <= 2 sigma. Sums are over at least 200 differing users per pair, t > 0; errors may carry the
    smallest p-values slightly below 0.
    """
    lengths = totals + TAIL_DEVIATIONS * np.sqrt(powers[:, 0])
    steps = 2 * np.pi / lengths
    characteristic = _series_characteristic(powers, steps)
    return _sum_series(steps, totals, characteristic)


def critical_by_series(powers: Floats, *, alpha: float) -> Floats:
    """Find the smallest absolute sums whose p-values are at most alpha, of shape (n_pairs,).

    From power sums of the differences d, of shape (n_pairs, 8): of d^2, d^4, ... The search begins
    at the normal approximation; the smooth p-value is then searched by secants and halving, in 12
    steps, until float64 can tell no more.
    """
    deviations = np.sqrt(powers[:, 0])
    high = hoeffding_deviations(alpha) * deviations
    steps = 2 * np.pi / (high + TAIL_DEVIATIONS * deviations)
    characteristic = _series_characteristic(powers, steps)
    low = np.zeros_like(high)
    quantile = NORMAL.inv_cdf(alpha / 2)
    totals = -quantile * deviations
    densities = 2 * NORMAL.pdf(quantile) / deviations
    for _ in range(N_REFINEMENTS):
        p = _sum_series(steps, totals, characteristic)
        is_significant = p <= alpha
        low = np.where(is_significant, low, totals)
        high = np.where(is_significant, totals, high)
        guesses = totals + (p - alpha) / densities
        is_inside = (guesses > low) & (guesses < high)
        totals = np.where(is_inside, guesses, (low + high) / 2)
    return high


def has_revival(differences: Floats) -> bool:
    """Check whether the characteristic function grows again where `p_by_series` has stopped.

    It does when the differences, of shape (n_users,), nearly share one size: then they nearly form
    a lattice. Looked at are the multiples of the series' step of angles beyond its 32 terms, up to
    an angle of 40 for the largest difference; more than 1e-9 in size is a revival.
    """
    sizes, counts = distinct_sizes(differences)
    # Farther sums than 8.6 standard deviations are never asked for.
    deviation = np.sqrt((differences * differences).sum())
    total = abs(float(differences.sum()))
    step = _angle_step(differences, min(total, TAIL_DEVIATIONS * float(deviation)))
    last = int(np.ceil(REVIVAL_ANGLE / (sizes.max() * step)))
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=last)
    later_products = products[numbers > N_TERMS]
    return bool((np.abs(later_products) > REVIVAL).any())


def distinct_sizes(differences: NDArray[np.number]) -> tuple[Floats, Numbers]:
    """Find the distinct absolute differences except 0, and how often each occurs.

    Both are of shape (n_sizes,): the most frequent first, equally frequent ones in falling size.
    """
    sizes = np.abs(differences)
    if _are_small_integers(sizes):
        counts = np.bincount(sizes.astype(np.intp))
        sizes = np.arange(len(counts))
    else:
        sizes, counts = np.unique(sizes, return_counts=True)
    places = np.flatnonzero((sizes > 0) & (counts > 0))
    order = places[np.lexsort((-sizes[places], -counts[places]))]
    return sizes[order].astype(np.float64), counts[order]


def _are_small_integers(sizes: NDArray[np.number]) -> bool:
    """Check whether all sizes are integers below `FEW_SIZES`, which are counted unsorted."""
    if sizes.max(initial=0) >= FEW_SIZES:
        return False
    return np.array_equal(sizes.astype(np.intp), sizes)


def _divided_sizes(differences: Floats) -> tuple[Floats, Numbers, int]:
    """Find distinct sizes of whole differences, divided by their greatest common divisor.

    Sizes, and how often each occurs, are of shape (n_sizes,); the divisor comes last.
    """
    sizes, counts = distinct_sizes(differences)
    divisor = int(np.gcd.reduce(sizes.astype(np.int64)))
    return sizes / divisor, counts, divisor


def _lattice_tail(sizes: Floats, counts: Numbers, *, nearest: float, farthest: float) -> Tail:
    """Prepare p-values of sums of whole sizes, for totals from ``nearest`` to ``farthest``.

    Distinct sizes and their numbers of users are of shape (n_sizes,). Totals have the parity of the
    largest sum. At most 200 users are counted, more are summed by Fourier series.
    """
    n_users = int(counts.sum())
    highest = int((counts * sizes).sum())
    if n_users > MAX_CONVOLVED_USERS:
        return _periodic_tail(sizes, counts, farthest=farthest)
    all_sizes = np.sort(np.repeat(sizes.astype(np.int64), counts))
    # With plus signs adding up to k the signed sum is 2 k - highest; the upper tail mirrors.
    count_up_to = subset_counter(all_sizes, highest=(highest - int(nearest)) // 2, n_looks=LOOKS)

    def tail(total: float) -> float:
        n_subsets = count_up_to((highest - int(total)) // 2)
        return float(np.ldexp(n_subsets, 1 - n_users))

    return tail


def subset_counter(sizes: Longs, *, highest: int, n_looks: int) -> Callable[[int], float]:
    """Prepare to count subsets of rising sizes whose sum is at most a limit, the highest at most.

    The small sizes are added one by one to an array of counts; the subsets of the few large ones,
    for which that array would be long, are listed: so many that the work of all looks is least.
    Sizes are of shape (n_sizes,); the function that is returned takes the limit, ``n_looks`` times.
    """
    lengths = np.minimum(np.cumsum(sizes), highest)
    costs = np.append(0.0, COST_OF_COUNT * lengths + COST_OF_ARRAY)
    cost_of_adding = np.cumsum(costs)
    n_large = np.arange(min(len(sizes), MAX_LISTED_SIZES) + 1)
    cost_of_looks = n_looks * COST_OF_SUBSET * 2.0**n_large
    work = cost_of_adding[len(sizes) - n_large] + cost_of_looks
    n_small = len(sizes) - int(np.argmin(work))
    listed = np.zeros(1, dtype=np.int64)
    for size in sizes[n_small:]:
        listed = np.concatenate([listed, listed + size])
    # Of the subsets of small sizes: how many have sums of at most -1, 0, 1, ...
    counts = _cumulate(sizes[:n_small].tolist(), highest=highest)

    def count_up_to(limit: int) -> float:
        places = np.clip(limit + 1 - listed, 0, len(counts) - 1)
        return float(counts[places].sum(dtype=np.float64))

    return count_up_to


def _cumulate(sizes: list[int], *, highest: int) -> NDArray[np.uint32] | Floats:
    """Count the subsets with sums of at most -1, 0, 1, ..., the highest that matters.

    The length is 2 more than the highest sum, or than the sum of all sizes if that is smaller.
    """
    dtype = np.uint32 if len(sizes) <= MAX_SIZES_IN_32_BITS else np.float64
    n_counts = min(sum(sizes), highest) + 2
    counts, new_counts = np.empty((2, n_counts), dtype=dtype)
    counts[0] = 0
    counts[1] = 1
    length = 2
    n_subsets = 1
    for size in sizes:
        old_length = length
        length = min(old_length + size, n_counts)
        counts[old_length:length] = n_subsets
        new_counts[:size] = counts[: min(size, length)]
        shifted = counts[: max(0, length - size)]
        np.add(counts[size:length], shifted, out=new_counts[size:length])
        counts, new_counts = new_counts, counts
        n_subsets *= 2
    return counts[:length]


def _periodic_tail(sizes: Floats, counts: Numbers, *, farthest: float) -> Tail:
    r"""Prepare p-values as sums over the full period of the characteristic function.

    Distinct whole sizes and their numbers of users are of shape (n_sizes,); ties count exactly. The
    signed sum of integers has the parity of the total t, so with n odd,
    :math:`n \ge (t + 8.6\,\sigma)/2`, and :math:`h = \pi/n`

    .. math:: p = 1 - \frac1n \Big[ (t - 1) + 2 \sum_{k=1}^{(n-1)/2}
              \varphi(kh) \frac{\sin((t-1)kh)}{\sin(kh)} \Big]

    up to 2e-16 (Hoeffding) and rounding, for t up to the farthest.
    """
    deviation = float(np.sqrt((counts * sizes**2).sum()))
    length = farthest + TAIL_DEVIATIONS * deviation
    n_nodes = int(np.ceil(length / 2)) // 2 * 2 + 1
    step = np.pi / n_nodes
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=n_nodes // 2)
    angles = step * numbers
    weights = products / np.sin(angles)

    def tail(total: float) -> float:
        waves = (weights * np.sin((total - 1) * angles)).sum()
        return float(1 - ((total - 1) + 2 * waves) / n_nodes)

    return tail


def _product_tail(differences: Floats, *, farthest: float) -> Tail:
    """Prepare p-values of totals up to the farthest, by a series of products of cosines.

    Differences are of shape (n_users,). A series is long enough if the second half of its terms
    adds up to less than 1e-8 in absolute value, for the farthest total. The p-values are NaN where
    no series of at most 65,536 terms does. A longer series goes on from the products of a shorter.
    """
    from analyses.significance.permutation_loops import cosine_products

    sizes, counts = distinct_sizes(differences)
    step = _angle_step(differences, farthest)
    turns = np.repeat(step * sizes, counts)
    products = np.empty(0)
    for n_terms in _series_lengths(sizes, counts, step):
        further_products = cosine_products(turns, len(products) + 1, n_terms, NEGLIGIBLE_PRODUCT)
        products = np.concatenate([products, further_products])
        numbers = np.arange(1, n_terms + 1)
        terms = _fourier_terms(step * farthest * numbers, numbers, products)
        second_half = terms[n_terms // 2 :]
        if np.abs(second_half).sum() < NEGLIGIBLE_REST:
            matters = products != 0
            return partial(_sum_product, step, numbers[matters], products[matters])
    return lambda total: float("nan")


def _sum_product(step: float, numbers: Numbers, products: Floats, total: float) -> float:
    """Compute the p-value of a total from products of cosines at some multiples of the step.

    The numbers of the multiples and the products are of shape (n_terms,).
    """
    terms = _fourier_terms(step * total * numbers, numbers, products)
    return float(1 - step * total / np.pi - terms.sum())


def _angle_step(differences: Floats, farthest: float) -> float:
    """Compute the step of angles for a circle of the farthest total and 8.6 deviations.

    Differences are of shape (n_users,).
    """
    deviation = np.sqrt((differences * differences).sum())
    return float(2 * np.pi / (farthest + TAIL_DEVIATIONS * deviation))


def _series_lengths(sizes: Floats, counts: Numbers, step: float) -> Iterator[int]:
    """Yield numbers of terms to try: twice what decay and revivals need, then doubled.

    Distinct absolute differences and their numbers of users are of shape (n_sizes,); ``step`` is
    the step of angles. Nothing more is yielded above 65,536.
    """
    angle = max(_decay_angle(sizes, counts), REVIVAL_ANGLE / sizes.max())
    n_angles = int(np.ceil(min(angle / step, MAX_TERMS)))
    n_terms = 2 * max(N_TERMS, n_angles)
    while n_terms <= MAX_TERMS:
        yield n_terms
        n_terms *= 2


def _decay_angle(sizes: Floats, counts: Numbers) -> float:
    r"""Find the angle at which the characteristic function has provably decayed.

    :math:`|\cos x| \le e^{-x^2/2}` for :math:`|x| \le \pi/2`, hence
    :math:`|\varphi(\theta)| \le e^{-E(\theta)}` with E half of :math:`\theta^2` times the sum of
    squares of the sizes up to :math:`\pi / 2\theta`. This is the smallest angle where E is at least
    37; if there is none, the angle where E is largest. Distinct absolute differences and their
    numbers of users are of shape (n_sizes,).
    """
    order = np.argsort(sizes)
    squares = np.cumsum(counts[order] * sizes[order] ** 2)
    widest_angles = np.pi / 2 / sizes[order]
    decayed_angles = np.sqrt(2 * DECAY / squares)
    is_decayed = decayed_angles <= widest_angles
    if is_decayed.any():
        return float(decayed_angles[is_decayed].min())
    best = np.argmax(widest_angles**2 * squares)
    return float(widest_angles[best])


def _series_characteristic(powers: Floats, steps: Floats) -> Floats:
    """Compute the characteristic functions at 1, 2, ..., 32 steps, of shape (n_pairs, 32).

    From power sums of the differences, of shape (n_pairs, 8), and the pairs' steps of angles, of
    shape (n_pairs,), by the power series of the logarithm of the cosine.
    """
    angles = np.multiply.outer(steps, np.arange(1, N_TERMS + 1))
    squares = angles**2
    logarithms = np.zeros_like(squares)
    for order in reversed(range(len(LOG_COSINE))):
        logarithms += LOG_COSINE[order] * powers[:, order, np.newaxis]
        logarithms *= squares
    return np.exp(-logarithms)


def _sum_series(steps: Floats, totals: Floats, characteristic: Floats) -> Floats:
    """Compute the p-values of totals from characteristic functions at 1, 2, ..., 32 steps.

    Steps of angles, totals and p-values are of shape (n_pairs,), the functions of (n_pairs, 32).
    """
    turns = steps * totals
    numbers = np.arange(1, N_TERMS + 1)
    angles = np.multiply.outer(turns, numbers)
    terms = _fourier_terms(angles, numbers, characteristic)
    return 1 - turns / np.pi - terms.sum(axis=1)


def _fourier_terms(
    angles: NDArray[np.floating], numbers: Numbers, characteristic: Floats
) -> Floats:
    """Compute the terms (2/pi) sin(k h t) phi(k h) / k, of the shape of the angles.

    From the angles k h t, the numbers k of shape (n_terms,), and the characteristic function phi.
    """
    return (2 / np.pi) * np.sin(angles) * characteristic / numbers
