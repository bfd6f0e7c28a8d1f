"""Users of a study and users of its truth, resampled together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import random_blocks, resample_means
from analyses.shared.measure import Scores

Floats = NDArray[np.float64]


def resample_jointly(
    first: Scores, second: Scores, *, replicates: int, seed: int
) -> tuple[Floats, Floats]:
    """Give means over users drawn from all that either knows, as often as each is drawn.

    Who has the same id is the same user, and is drawn with both scores; users of one alone are
    drawn on their own.

    Returns
    -------
    Means of shape (n_measures, n_systems, n_replicates), of the first and of the second; NaN where
    no user of it was drawn.
    """
    users = np.union1d(first.users, second.users)
    a, b = (
        _resampled(scores, users, replicates=replicates, seed=seed) for scores in (first, second)
    )
    return a, b


def _resampled(scores: Scores, users: NDArray[np.str_], *, replicates: int, seed: int) -> Floats:
    shape = scores.values.shape[:2]
    if replicates == 0:
        return np.empty((*shape, 0))
    places = np.searchsorted(users, scores.users)
    values = np.zeros((*shape, len(users)))
    values[:, :, places] = scores.values
    known = np.zeros(len(users))
    known[places] = 1.0
    means = resample_means(values, replicates=replicates, seed=seed)
    shares = np.broadcast_to(resample_means(known, replicates=replicates, seed=seed), means.shape)
    return np.divide(means, shares, out=np.full(means.shape, np.nan), where=shares > 0)


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
