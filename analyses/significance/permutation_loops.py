"""Compiled loops of permutation tests and of max-T by the bootstrap; imported when needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Floats
from runs.shared.compiled import jit, jit_like_numpy

N_NEIGHBOURS = 32
"""Neighbouring angles whose cosines are computed together, by the addition theorem."""

N_BLOCKS = 32
"""Blocks of neighbouring angles whose first cosines are computed together, by the same theorem."""

USERS_BETWEEN_LOOKS = 16
"""After so many users it is looked whether all products of neighbouring angles are negligible."""


@jit()
def cosine_products(turns: Floats, first: int, last: int, negligible: float) -> Floats:
    """Multiply the cosines of all users at the multiples ``first`` to ``last`` of an angle.

    ``turns``: the angle times the absolute difference of each user, of shape (n_users,). Products
    are of shape (last - first + 1,). They are 0 in a block of `N_NEIGHBOURS` angles whose products,
    over the first users alone, are all below ``negligible`` in size.
    """
    n_users = len(turns)
    n_angles = last - first + 1
    cosines, sines = _cosines_and_sines(turns, N_NEIGHBOURS)
    far_cosines, far_sines = _cosines_and_sines(N_NEIGHBOURS * turns, N_BLOCKS)
    products = np.empty(n_angles)
    block = np.empty(N_NEIGHBOURS)
    for start in range(0, n_angles, N_NEIGHBOURS):
        n_blocks_before = start // N_NEIGHBOURS % N_BLOCKS
        if n_blocks_before == 0:
            origins = (first + start) * turns
            origin_cosines = np.cos(origins)
            origin_sines = np.sin(origins)
        block[:] = 1.0
        for user in range(n_users):
            far_cosine = far_cosines[user, n_blocks_before]
            far_sine = far_sines[user, n_blocks_before]
            cosine = origin_cosines[user] * far_cosine - origin_sines[user] * far_sine
            sine = origin_sines[user] * far_cosine + origin_cosines[user] * far_sine
            for neighbour in range(N_NEIGHBOURS):
                block[neighbour] *= (
                    cosine * cosines[user, neighbour] - sine * sines[user, neighbour]
                )
            is_look = user % USERS_BETWEEN_LOOKS == USERS_BETWEEN_LOOKS - 1
            if is_look and np.abs(block).max() < negligible:
                block[:] = 0.0
                break
        n_in_block = min(N_NEIGHBOURS, n_angles - start)
        products[start : start + n_in_block] = block[:n_in_block]
    return products


@jit()
def _cosines_and_sines(turns: Floats, n_multiples: int) -> tuple[Floats, Floats]:
    """Compute cosines and sines of 0, 1, 2, ... times the angles: (n_users, n_multiples) each."""
    angles = np.outer(turns, np.arange(n_multiples))
    return np.cos(angles), np.sin(angles)


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
def find_window(
    left: Floats,
    left_counts: Floats,
    right: Floats,
    right_counts: Floats,
    low: float,
    high: float,
    low_places: NDArray[np.int32],
    high_places: NDArray[np.int32],
) -> tuple[int, float, float]:
    """For each left sum, find the first right sums that add up with it to a low and a high total.

    Sums are of shape (n_left,) and (n_right,), and rise; counts, of the same shapes, are the
    numbers of sign assignments that give each sum. Places, which are filled, are of shape
    (n_left,), and the number of right sums where none is large enough. Returned are the number of
    sums from the low total to before the high one, and how many sign assignments give at least the
    low and the high total.
    """
    low_place = len(right)
    high_place = len(right)
    n_right_from_low = 0.0
    n_right_from_high = 0.0
    n_sums = 0
    n_from_low = 0.0
    n_from_high = 0.0
    for number in range(len(left)):
        while low_place > 0 and right[low_place - 1] >= low - left[number]:
            low_place -= 1
            n_right_from_low += right_counts[low_place]
        while high_place > 0 and right[high_place - 1] >= high - left[number]:
            high_place -= 1
            n_right_from_high += right_counts[high_place]
        low_places[number] = low_place
        high_places[number] = high_place
        n_sums += high_place - low_place
        n_from_low += left_counts[number] * n_right_from_low
        n_from_high += left_counts[number] * n_right_from_high
    return n_sums, n_from_low, n_from_high


@jit()
def list_window(
    left: Floats,
    left_counts: Floats,
    right: Floats,
    right_counts: Floats,
    first_places: NDArray[np.int32],
    last_places: NDArray[np.int32],
    values: Floats,
    counts: Floats,
) -> None:
    """List the sums of each left sum and the right sums from its first to before its last place.

    Sums and counts are those of `find_window`, places are of shape (n_left,). Filled are the values
    of the sums and the numbers of sign assignments that give each, both of shape (n_sums,), in no
    order.
    """
    place = 0
    for number in range(len(left)):
        for right_place in range(first_places[number], last_places[number]):
            values[place] = left[number] + right[right_place]
            counts[place] = left_counts[number] * right_counts[right_place]
            place += 1


@jit()
def add_user(
    values: Floats, counts: Floats, size: float, new_values: Floats, new_counts: Floats
) -> None:
    """Add a user to rising sums: each becomes smaller or larger by the size of his difference.

    Values and counts (sign assignments of each sum) are of shape (n_sums,), and symmetric about 0.
    Filled are the new values, rising, and their counts, of shape (2 n_sums,): the upper half
    mirrors the lower.
    """
    n_sums = len(values)
    below = 0
    above = 0
    for place in range(n_sums):
        lowered = values[below] - size
        raised = values[above] + size
        is_lowered = lowered <= raised
        value = min(lowered, raised)
        count = counts[below] if is_lowered else counts[above]
        below += is_lowered
        above += 1 - is_lowered
        mirrored_place = 2 * n_sums - 1 - place
        new_values[place] = value
        new_values[mirrored_place] = -value
        new_counts[place] = count
        new_counts[mirrored_place] = count


@jit()
def merge_ties(values: Floats, counts: Floats, width: float) -> tuple[Floats, Floats]:
    """Merge rising sums that round to the same multiple of the width, and add up their counts.

    Values and counts are of shape (n_sums,); a merged sum has the value that is nearest to 0.
    """
    n_sums = len(values)
    merged_values = np.empty(n_sums)
    merged_counts = np.empty(n_sums)
    last = -1
    last_bin = -np.inf
    for number in range(n_sums):
        value_bin = np.rint(values[number] / width)
        if value_bin > last_bin:
            last += 1
            last_bin = value_bin
            merged_values[last] = values[number]
            merged_counts[last] = counts[number]
        else:
            merged_counts[last] += counts[number]
            if abs(values[number]) < abs(merged_values[last]):
                merged_values[last] = values[number]
    return merged_values[: last + 1].copy(), merged_counts[: last + 1].copy()


@jit()
def means_of_blocks(values: Floats, counts: Floats, block: int) -> tuple[Floats, Floats]:
    """Replace each ``block`` sums by their mean over sign assignments, and add up their counts.

    Values and counts are of shape (n_sums,), the results of ceil(n_sums / block).
    """
    n_sums = len(values)
    n_blocks = -(-n_sums // block)
    means = np.empty(n_blocks)
    counts_of_blocks = np.empty(n_blocks)
    for number in range(n_blocks):
        total = 0.0
        count = 0.0
        for place in range(number * block, min((number + 1) * block, n_sums)):
            total += counts[place] * values[place]
            count += counts[place]
        means[number] = total / count
        counts_of_blocks[number] = count
    return means, counts_of_blocks


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
