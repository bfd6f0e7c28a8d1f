"""Compiled loops of permutation tests and of max-T by the bootstrap; imported when needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Floats
from runs.shared.compiled import jit, jit_like_numpy


@jit()
def first_places(left: Floats, right: Floats, total: float) -> NDArray[np.intp]:
    """For each left sum, find the first right sum that adds up with it to at least the total.

    Both lists rise; ``left`` is of shape (n_left,), as are the places. A place is ``len(right)``
    where no right sum is large enough.
    """
    places = np.empty(len(left), dtype=np.intp)
    place = len(right)
    for number in range(len(left)):
        smallest = total - left[number]
        while place > 0 and right[place - 1] >= smallest:
            place -= 1
        places[number] = place
    return places


@jit()
def count_from(
    left: Floats, left_counts: Floats, right: Floats, right_counts: Floats, total: float
) -> float:
    """Count the sign assignments whose left and right sums add up to at least the total.

    Sums are of shape (n_left,) and (n_right,), and rise; counts, of the same shapes, are the
    numbers of sign assignments that give each sum.
    """
    place = len(right)
    n_right = 0.0
    n_signs = 0.0
    for number in range(len(left)):
        smallest = total - left[number]
        while place > 0 and right[place - 1] >= smallest:
            place -= 1
            n_right += right_counts[place]
        n_signs += left_counts[number] * n_right
    return n_signs


@jit()
def add_user(values: Floats, counts: Floats, size: float, width: float) -> tuple[Floats, Floats]:
    """Add a user to rising sums: each becomes smaller or larger by the size of his difference.

    Values and counts (sign assignments of each sum) are of shape (n_sums,). Returned are the new
    sums, at most 2 n_sums, rising, and their counts. Sums that round to the same multiple of the
    width become one, with the value of the smallest.
    """
    n_sums = len(values)
    new_values = np.empty(2 * n_sums)
    new_counts = np.empty(2 * n_sums)
    below = 0
    above = 0
    last = -1
    last_bin = -np.inf
    while above < n_sums:
        if below < n_sums and values[below] - size <= values[above] + size:
            value = values[below] - size
            count = counts[below]
            below += 1
        else:
            value = values[above] + size
            count = counts[above]
            above += 1
        value_bin = np.rint(value / width)
        if value_bin == last_bin:
            new_counts[last] += count
        else:
            last += 1
            new_values[last] = value
            new_counts[last] = count
            last_bin = value_bin
    return new_values[: last + 1].copy(), new_counts[: last + 1].copy()


@jit()
def add_extreme(
    counts: NDArray[np.int64], flipped: Floats, thresholds: Floats, farther_thresholds: Floats
) -> None:
    """Count the permutations whose sum for a pair of systems reaches thresholds from 0.

    Adds to the counts in place. Flipped sums of the systems' scores are of shape (n_measures,
    n_systems, n_permutations), both thresholds of (n_measures, n_pairs), in the order of
    `pair_indices`. Counts are of shape (2, n_measures, n_pairs): of sums at least as far from 0 as
    the threshold, and of sums farther than the farther threshold.
    """
    n_measures, n_systems, n_permutations = flipped.shape
    for measure in range(n_measures):
        pair = 0
        for first in range(n_systems):
            for second in range(first + 1, n_systems):
                threshold = thresholds[measure, pair]
                farther_threshold = farther_thresholds[measure, pair]
                n_extreme = 0
                n_farther = 0
                for place in range(n_permutations):
                    distance = flipped[measure, first, place] - flipped[measure, second, place]
                    n_extreme += abs(distance) >= threshold
                    n_farther += abs(distance) > farther_threshold
                counts[0, measure, pair] += n_extreme
                counts[1, measure, pair] += n_farther
                pair += 1


@jit()
def add_permuted_scores(
    by_user: Floats, swaps: NDArray[np.uint8 | np.uint16], sums: Floats
) -> None:
    """Add every user's scores to the systems to which they are permuted, in place.

    ``by_user``: scores of shape (n_users, n_systems, n_measures). ``swaps``: those of
    `corrections.random_swaps`, of shape (n_permutations, n_users, n_systems - 1). ``sums``: of
    shape (n_permutations, n_systems, n_measures), to which scores are added. Users are in the outer
    loop: a user's scores stay in the cache for all permutations.
    """
    n_users, n_systems, n_measures = by_user.shape
    targets = np.empty(n_systems, dtype=np.int64)
    for user in range(n_users):
        for permutation in range(len(swaps)):
            for system in range(n_systems):
                targets[system] = system
            for swap in range(n_systems - 1):
                partner = swaps[permutation, user, swap]
                targets[swap + 1], targets[partner] = targets[partner], targets[swap + 1]
            for system in range(n_systems):
                target = targets[system]
                for measure in range(n_measures):
                    sums[permutation, target, measure] += by_user[user, system, measure]


@jit_like_numpy
def add_extreme_maxima(
    counts: NDArray[np.int64],
    maxima: Floats,
    sums: Floats,
    square_sums: Floats,
    systems: NDArray[np.intp],
    observed_sums: Floats,
    factors: Floats,
    observed_variances: Floats,
    tolerances: Floats,
    thresholds: Floats,
    n_blocks: int,
) -> None:
    """Count the replicates whose largest squared statistic, over the pairs so far, is extreme.

    Adds to the counts, (n_pairs,), and raises the maxima over earlier pairs, (n_replicates,), in
    place. Pairs are in rising order of their observed statistic.

    Parameters
    ----------
    counts
        How many replicates are at least as extreme as what was observed, (n_pairs,).
    maxima
        The largest squared statistic over the pairs so far, (n_replicates,).
    sums
        Sums of the systems' scores over the blocks of users of each replicate, (n_systems,
        n_replicates).
    square_sums
        Sums of the pairs' squared centred differences, as whole numbers, over the blocks of each
        replicate, (n_pairs, n_replicates).
    systems
        Numbers of the two systems of each pair, (n_pairs, 2).
    observed_sums
        Sums of the pairs' differences over all blocks, (n_pairs,).
    factors
        What makes mean squares of the sums of squares, (n_pairs,): a power of two over the blocks.
    observed_variances
        Variances of the differences of all blocks, (n_pairs,); infinite for a pair without
        statistics.
    tolerances
        Variances that can be rounding alone, (n_pairs,): the observed one then takes their place.
    thresholds
        The squared statistic from which a replicate counts, (n_pairs,).
    n_blocks
        Number of blocks.
    """
    n_pairs, n_replicates = square_sums.shape
    for pair in range(n_pairs):
        first = systems[pair, 0]
        second = systems[pair, 1]
        count = 0
        for replicate in range(n_replicates):
            difference = sums[first, replicate] - sums[second, replicate]
            shift = (difference - observed_sums[pair]) / n_blocks
            square = shift * shift
            variance = square_sums[pair, replicate] * factors[pair] - square
            if variance <= tolerances[pair]:
                variance = observed_variances[pair]
            maximum = max(maxima[replicate], square / variance)
            maxima[replicate] = maximum
            count += maximum >= thresholds[pair]
        counts[pair] += count
