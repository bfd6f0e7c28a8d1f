"""Compiled loops of the exact permutation test and of Tukey's HSD test; imported when needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Floats
from runs.shared.compiled import jit


@jit()
def first_places(left: Floats, right: Floats, total: float) -> NDArray[np.intp]:
    """For each left sum, find the first right one that makes at least the total; both rise."""
    places = np.empty(len(left), dtype=np.intp)
    place = len(right)
    for number in range(len(left)):
        wanted = total - left[number]
        while place > 0 and right[place - 1] >= wanted:
            place -= 1
        places[number] = place
    return places


@jit()
def count_from(
    left: Floats, left_counts: Floats, right: Floats, right_counts: Floats, total: float
) -> float:
    """Count the signs with which a left and a right sum make at least the total; both rise."""
    place = len(right)
    n_right = 0.0
    n_signs = 0.0
    for number in range(len(left)):
        wanted = total - left[number]
        while place > 0 and right[place - 1] >= wanted:
            place -= 1
            n_right += right_counts[place]
        n_signs += left_counts[number] * n_right
    return n_signs


@jit()
def add_user(values: Floats, counts: Floats, size: float, width: float) -> tuple[Floats, Floats]:
    """Add a user to rising sums, which become less or more by the size of his difference.

    Sums that round to the same multiple of the width become one.
    """
    n_sums = len(values)
    longer = np.empty(2 * n_sums)
    longer_counts = np.empty(2 * n_sums)
    below, above, last = 0, 0, -1
    last_bin = -np.inf
    while above < n_sums:
        if below < n_sums and values[below] - size <= values[above] + size:
            value, count = values[below] - size, counts[below]
            below += 1
        else:
            value, count = values[above] + size, counts[above]
            above += 1
        value_bin = np.rint(value / width)
        if value_bin == last_bin:
            longer_counts[last] += count
        else:
            last += 1
            longer[last], longer_counts[last] = value, count
            last_bin = value_bin
    return longer[: last + 1].copy(), longer_counts[: last + 1].copy()


@jit()
def add_extreme(counts: NDArray[np.int64], flipped: Floats, thresholds: Floats) -> None:
    """Count the sums of pairs of systems that are at least as far from 0 as the thresholds.

    Flipped sums are of shape (n_measures, n_systems, n_permutations), the others of (n_measures,
    n_pairs), in the order of `pair_indices`.
    """
    n_measures, n_systems, n_permutations = flipped.shape
    for measure in range(n_measures):
        pair = 0
        for first in range(n_systems):
            for second in range(first + 1, n_systems):
                threshold, count = thresholds[measure, pair], 0
                for place in range(n_permutations):
                    distance = flipped[measure, first, place] - flipped[measure, second, place]
                    count += abs(distance) >= threshold
                counts[measure, pair] += count
                pair += 1


@jit()
def add_dealt_out(by_user: Floats, swaps: NDArray[np.uint8 | np.uint16], sums: Floats) -> None:
    """Add every user's scores to the systems that they are dealt to by `tukey.random_swaps`.

    Users in the outer loop: a user's scores stay in the cache for all permutations. Sums are of
    shape (n_permutations, n_systems, n_measures).
    """
    n_users, n_systems, n_measures = by_user.shape
    dealt = np.empty(n_systems, dtype=np.int64)
    for user in range(n_users):
        for permutation in range(len(swaps)):
            for system in range(n_systems):
                dealt[system] = system
            for swap in range(n_systems - 1):
                other = swaps[permutation, user, swap]
                dealt[swap + 1], dealt[other] = dealt[other], dealt[swap + 1]
            for system in range(n_systems):
                target = dealt[system]
                for measure in range(n_measures):
                    sums[permutation, target, measure] += by_user[user, system, measure]
