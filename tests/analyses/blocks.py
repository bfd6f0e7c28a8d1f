"""Sums over blocks of users, for tests that score by hand."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from analyses.shared.work import SumSamples

Floats = NDArray[np.float64]


def sums_of(score_users: Callable[[NDArray[np.bool_]], Floats]) -> SumSamples:
    """Add up scores of shape (n_measures, n_systems, n_users, n_samples) over blocks of users."""

    def sum_samples(kept: NDArray[np.bool_], *, blocks: NDArray[np.intp]) -> Floats:
        scores = score_users(kept).transpose(0, 2, 1, 3)
        sums = np.zeros((len(scores), blocks.max() + 1, *scores.shape[2:]))
        for user, block in enumerate(blocks):
            sums[:, block] += scores[:, user]
        return sums

    return sum_samples
