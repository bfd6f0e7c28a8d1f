"""Users of a study and users of its truth, resampled together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import random_blocks, resample_means, run_noise
from analyses.shared.measure import RunDeviations, Scores

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointUsers:
    """Users drawn from all that either knows, as often as each is drawn.

    Who has the same id is the same user, and is drawn on both sides; users of one side alone are
    drawn on their own.

    Parameters
    ----------
    users
        All ids, sorted.
    replicates, seed
        How often users are drawn, and the key of the draws.
    """

    users: NDArray[np.str_]
    replicates: int
    seed: int

    @classmethod
    def of(cls, first: Scores, second: Scores, *, replicates: int, seed: int) -> JointUsers:
        """Draw from the users of both."""
        return cls(np.union1d(first.users, second.users), replicates, seed)

    def means(
        self, values: Floats, users: NDArray[np.str_], runs: RunDeviations | None = None
    ) -> Floats:
        """Resample the means of values of some of the users, along the last axis, and of runs.

        Returns
        -------
        Means of shape (..., n_replicates); NaN where none of these users was drawn.
        """
        if self.replicates == 0:
            return np.empty((*values.shape[:-1], 0))
        filled = np.zeros((*values.shape[:-1], len(self.users)))
        filled[..., np.searchsorted(self.users, users)] = values
        means, shares = self._resampled(filled), self.shares(users)
        shares = np.broadcast_to(shares, means.shape)
        found = np.divide(means, shares, out=np.full(means.shape, np.nan), where=shares > 0)
        return found + self.noise(runs)

    def noise(self, runs: RunDeviations | None) -> Floats | float:
        """Draw runs: the same numbers on either side."""
        return run_noise(runs, replicates=self.replicates, seed=self.seed)

    def shares(self, users: NDArray[np.str_]) -> Floats:
        """Give the share of some of the users among those drawn, of shape (n_replicates,)."""
        return self._resampled(np.isin(self.users, users).astype(np.float64))

    def _resampled(self, values: Floats) -> Floats:
        return resample_means(values, replicates=self.replicates, seed=self.seed)


def block_sums(
    scores: Scores, users: NDArray[np.str_], blocks: NDArray[np.intp], *, seed: int
) -> Floats:
    """Add up scores in the blocks of the users who have the same ids; others are put at random.

    Returns
    -------
    Sums of shape (n_measures, n_blocks, n_systems).
    """
    n_blocks = int(blocks.max()) + 1
    own = random_blocks(len(scores.users), n_blocks=n_blocks, seed=seed)
    order = np.argsort(users, kind="stable")
    places = order[np.minimum(np.searchsorted(users[order], scores.users), len(users) - 1)]
    own = np.where(users[places] == scores.users, blocks[places], own)
    sums = [scores.values[:, :, own == block].sum(axis=2) for block in range(n_blocks)]
    return np.stack(sums, axis=1)


def n_shared(first: Scores, second: Scores) -> int:
    """Count the users whom both know."""
    return len(np.intersect1d(first.users, second.users))
