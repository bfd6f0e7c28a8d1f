"""The permutation test by Monte-Carlo: one matrix of random signs for all pairs and measures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import count_in_parts
from analyses.shared.measure import to_grid
from analyses.significance.permutation.pairs import pair_indices
from analyses.significance.permutation.signs import flipped_sums

BLOCK = 1024
PERMUTATIONS_PER_TASK = 2048


def monte_carlo_test(
    scores: NDArray[np.float64],
    *,
    permutations: int,
    seed: int,
    n_jobs: int = 1,
    advance: Callable[[int], object] | None = None,
) -> NDArray[np.float64]:
    """Test all pairs of systems with the same random sign flips.

    p = (count + 1) / (permutations + 1) counts the observed signs (Phipson & Smyth 2010). Flipped
    sums are linear in the scores, so one matrix product gives those of all pairs. Scores are
    rounded to a grid on which every sum is exact in float64: the result does not depend on the
    BLAS library, the number of jobs or the order of summation. A sum closer to the observed one
    than the grid can tell (below 1e-11 of the largest score, per user) is a tie, and counts.

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
    p-values of shape (n_measures, n_pairs), at least 1 / (permutations + 1). Their standard error
    is sqrt(p (1 - p) / permutations); errors of different pairs are correlated.

    Examples
    --------
    Equal systems cannot be told apart:

    >>> monte_carlo_test(np.ones((1, 2, 5)), permutations=99, seed=0)
    array([[1.]])
    """
    counts = count_in_parts(
        partial(count_as_extreme, to_grid(scores), seed=seed),
        permutations,
        part=PERMUTATIONS_PER_TASK,
        n_jobs=n_jobs,
        advance=advance,
    )
    return (counts + 1) / (permutations + 1)


def count_as_extreme(
    grid: NDArray[np.float64], start: int, stop: int, *, seed: int, block: int = BLOCK
) -> NDArray[np.int64]:
    """Count the permutations whose sum is at least as far from 0 as the observed one.

    Counts are of permutations ``start`` to ``stop``, of shape (n_measures, n_pairs).
    """
    first, second = pair_indices(grid.shape[1])
    totals = grid.sum(axis=2)
    thresholds = np.abs(totals[:, first] - totals[:, second]) - 2 * grid.shape[2]
    counts = np.zeros(thresholds.shape, dtype=np.int64)
    for flipped in flipped_sums(grid, start, stop, seed=seed, block=block):
        _add_extreme(counts, flipped, thresholds)
    return counts


def _add_extreme(
    counts: NDArray[np.int64], flipped: NDArray[np.float64], thresholds: NDArray[np.float64]
) -> None:
    """Add the counts of one block: flipped sums are (n_measures, n_systems, block)."""
    n_systems = flipped.shape[1]
    for measure, sums in enumerate(flipped):
        start = 0
        for system in range(n_systems - 1):
            pairs = slice(start, start + n_systems - 1 - system)
            start = pairs.stop
            distances = np.abs(sums[system] - sums[system + 1 :])
            extreme = distances >= thresholds[measure, pairs, np.newaxis]
            counts[measure, pairs] += np.count_nonzero(extreme, axis=1)
