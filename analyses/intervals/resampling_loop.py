"""The loop of `analyses.intervals.resampling.resampled_users`, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Floats
from runs.shared.compiled import jit


@jit()
def add_draws(counts: Floats, halves: NDArray[np.uint32]) -> None:
    """Count how often each user is drawn in each replicate: adds to the counts, in place.

    ``counts`` is of shape (n_replicates, n_users), ``halves``, random numbers of 32 bits, of
    (n_replicates, n_draws). A number draws the user number that is the upper half of its product
    with n_users, as `resampling.whole_numbers_below` has it.
    """
    n_users = np.uint64(counts.shape[1])
    n_bits = np.uint64(32)
    for replicate in range(halves.shape[0]):
        for draw in range(halves.shape[1]):
            product = np.uint64(halves[replicate, draw]) * n_users
            counts[replicate, product >> n_bits] += 1.0
