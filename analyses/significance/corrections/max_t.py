"""The max-T permutation test: all pairs of a measure at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import count_in_parts
from analyses.shared.measure import to_grid
from analyses.significance.permutation.pairs import PairSums, pair_indices
from analyses.significance.permutation.signs import flipped_sums

BLOCK = 512
PERMUTATIONS_PER_TASK = 2048


def max_t_test(
    scores: NDArray[np.float64],
    *,
    permutations: int,
    seed: int,
    step_down: bool = True,
    n_jobs: int = 1,
    advance: Callable[[int], object] | None = None,
) -> NDArray[np.float64]:
    r"""Test all pairs of each measure against the largest statistic that random signs give.

    The signs are those of :func:`analyses.significance.permutation.monte_carlo_test` with this
    seed. With
    :math:`\sigma_{ij}^2 = \sum_u d_u^2`, which no sign changes, z = ``|sum of d| / sigma`` as
    observed, and :math:`M_b` the largest :math:`|T_b| / \sigma` over all pairs under signs b,

    .. math:: \tilde p_{ij} = \frac{1 + \#\{b : M_b \ge z_{ij}\}}{B + 1} .

    Step-down takes, for the pair of the k-th largest z, the maximum over that pair and those of
    smaller z alone; adjusted p-values then may not fall below those of larger z.

    Each pair alone is tested exactly. That the chance of any false rejection is bounded, needs
    each user's vector of differences to be symmetric as a whole; else it holds for many users.
    Scores are on the grid of :func:`to_grid`; what it cannot tell apart is a tie, and counts.

    Returns
    -------
    Adjusted p-values of shape (n_measures, n_pairs), at least 1 / (permutations + 1).

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing, sections 2.3 and 2.6; Phipson &
    Smyth (2010) for the +1.
    """
    grid = to_grid(scores)
    families = [Family.of(one) for one in grid]
    count = partial(count_maxima, grid, families, seed=seed, step_down=step_down)
    counts = count_in_parts(
        count, permutations, part=PERMUTATIONS_PER_TASK, n_jobs=n_jobs, advance=advance
    )
    p = (counts + 1) / (permutations + 1)
    return np.array([family.never_falling(row) for family, row in zip(families, p, strict=True)])


@dataclass(frozen=True, eq=False)
class Family:
    """Pairs of one measure, in falling order of z.

    Arrays are of shape (n_pairs,): ``order`` has the numbers of the pairs, ``first`` and ``second``
    their systems, ``scales`` 1 / sigma (0 where systems are equal but for rounding), ``observed``
    z. By the tolerance sums on the grid may differ where true sums tie.
    """

    order: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    scales: NDArray[np.float64]
    observed: NDArray[np.float64]
    tolerance: float

    @classmethod
    def of(cls, grid: NDArray[np.float64]) -> Family:
        """Standardise the observed sums of gridded scores (n_systems, n_users)."""
        tolerance = 2.0 * grid.shape[1]
        sums = PairSums.of(grid, n_powers=1)
        sigma = sums.deviations
        scales = np.divide(1.0, sigma, out=np.zeros(len(sigma)), where=sigma > tolerance)
        observed = sums.totals * scales
        order = np.argsort(-observed, kind="stable")
        first, second = pair_indices(len(grid))
        pairs = (first[order], second[order], scales[order], observed[order])
        return cls(order, *pairs, tolerance)

    def count(self, flipped: NDArray[np.float64], *, step_down: bool) -> NDArray[np.int64]:
        """Count for each pair the signs whose maximum reaches z; sums are (n_systems, n_signs)."""
        distances = np.abs(flipped[self.first] - flipped[self.second]) + self.tolerance
        distances *= self.scales[:, np.newaxis]
        if step_down:
            maxima = np.maximum.accumulate(distances[::-1], axis=0)[::-1]
        else:
            maxima = distances.max(axis=0, keepdims=True)
        return np.count_nonzero(maxima >= self.observed[:, np.newaxis], axis=1)

    def never_falling(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Raise p-values that fall below one of a larger z."""
        raised = np.empty_like(p)
        raised[self.order] = np.maximum.accumulate(p[self.order])
        return raised


def count_maxima(
    grid: NDArray[np.float64],
    families: list[Family],
    start: int,
    stop: int,
    *,
    seed: int,
    step_down: bool,
    block: int = BLOCK,
) -> NDArray[np.int64]:
    """Count the permutations ``start`` to ``stop`` whose maximum reaches each pair's z."""
    counts = np.zeros((len(grid), len(families[0].order)), dtype=np.int64)
    for flipped in flipped_sums(grid, start, stop, seed=seed, block=block):
        for measure, family in enumerate(families):
            counts[measure, family.order] += family.count(flipped[measure], step_down=step_down)
    return counts
