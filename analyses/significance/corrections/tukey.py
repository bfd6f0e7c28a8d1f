"""The paired randomised Tukey HSD test: all pairs of a measure at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import SHUFFLING, below, count_in_parts, random_halves
from analyses.shared.measure import to_grid
from analyses.significance.permutation.pairs import pair_indices

BLOCK = 16
PERMUTATIONS_PER_TASK = 256


def tukey_test(
    scores: NDArray[np.float64],
    *,
    permutations: int = 5000,
    seed: int,
    n_jobs: int = 1,
    advance: Callable[[int], object] | None = None,
) -> NDArray[np.float64]:
    r"""Test all pairs of each measure against the range of the systems' means under permutation.

    The null hypothesis is that all systems are alike: a user's scores may be dealt out to the
    systems in any order. They are, for every user by himself, the same way for all measures, and

    .. math:: \tilde p_{ij} = \frac{1 + \#\{b : \max_s \bar x^b_s - \min_s \bar x^b_s \ge
              |\bar x_i - \bar x_j|\}}{B + 1} .

    Scores are on the grid of :func:`to_grid`, where all sums are exact: the result does not
    depend on the number of jobs or the order of summation. Sums that the grid cannot tell apart
    tie, and count.

    Returns
    -------
    Adjusted p-values of shape (n_measures, n_pairs), at least 1 / (permutations + 1). That the
    chance of any false rejection is bounded is proved if all systems are alike; a pair that is
    alike among others that are not is tested against a wider range, which errs on the safe side.

    References
    ----------
    Carterette (2012), Multiple testing in statistical analysis of systems-based information
    retrieval experiments; Tukey (1953); Phipson & Smyth (2010) for the +1.
    """
    grid = to_grid(scores)
    # Users first, measures last: a user's scores are dealt out in rows that lie together.
    by_user = np.ascontiguousarray(grid.transpose(2, 1, 0))
    count = partial(count_ranges, by_user, seed=seed)
    counts = count_in_parts(
        count, permutations, part=PERMUTATIONS_PER_TASK, n_jobs=n_jobs, advance=advance
    )
    return (counts + 1) / (permutations + 1)


def count_ranges(
    by_user: NDArray[np.float64], start: int, stop: int, *, seed: int, block: int = BLOCK
) -> NDArray[np.int64]:
    """Count the permutations whose range of sums is at least each pair's difference.

    From gridded scores of shape (n_users, n_systems, n_measures) to (n_measures, n_pairs).
    """
    from analyses.significance.corrections.tukey_loop import add_dealt_out

    n_users, n_systems, n_measures = by_user.shape
    first, second = pair_indices(n_systems)
    totals = by_user.sum(axis=0)
    thresholds = np.abs(totals[first] - totals[second]).T - 2 * n_users
    counts = np.zeros(thresholds.shape, dtype=np.int64)
    for begin in range(start, stop, block):
        end = min(begin + block, stop)
        swaps = random_swaps(begin, end, n_users=n_users, n_systems=n_systems, seed=seed)
        sums = np.zeros((end - begin, n_systems, n_measures))
        add_dealt_out(by_user, swaps, sums)
        for widths in np.ptp(sums, axis=1):
            counts += widths[:, np.newaxis] >= thresholds
    return counts


def random_swaps(
    start: int, stop: int, *, n_users: int, n_systems: int, seed: int
) -> NDArray[np.uint8 | np.uint16]:
    """Draw for each permutation and user the swaps of Fisher & Yates.

    System s = 1, 2, ... in turn changes places with system j, 0 <= j <= s, each equally likely;
    the j are of shape (stop - start, n_users, n_systems - 1).
    """
    n_swaps = n_systems - 1
    halves = random_halves(
        start, stop, n_halves=n_users * n_swaps, seed=seed, purpose=SHUFFLING
    ).reshape(-1, n_users, n_swaps)
    systems = below(halves, np.arange(2, n_systems + 1))
    return systems.astype(np.uint8 if n_systems <= 256 else np.uint16)
