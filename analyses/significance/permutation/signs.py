"""Random signs that every pair, metric and cut-off shares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import SIGNS, random_halves

BITS_PER_HALF = 32


def random_signs(start: int, stop: int, *, n_users: int, seed: int) -> NDArray[np.float64]:
    """Draw the signs of permutations ``start`` to ``stop``, independent of all others' order.

    Permutation b owns ceil(n_users / 256) steps of the counter of a Philox generator (Salmon
    et al. 2011) whose key is the seed. User u has bit u of its raw words, in little-endian order:
    raw words, since the streams of numpy's other methods may change. The signs are +1 or -1,
    float64 of shape (stop - start, n_users).
    """
    halves = random_halves(
        start, stop, n_halves=-(-n_users // BITS_PER_HALF), seed=seed, purpose=SIGNS
    )
    octets = np.ascontiguousarray(halves.astype("<u4", copy=False)).view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=n_users, bitorder="little")
    return (1 - 2 * bits.view(np.int8)).astype(np.float64)


def flipped_sums(
    grid: NDArray[np.float64], start: int, stop: int, *, seed: int, block: int
) -> Iterator[NDArray[np.float64]]:
    """Sum gridded scores under the signs ``start`` to ``stop``: (n_measures, n_systems, block)."""
    n_users = grid.shape[2]
    rows = grid.reshape(-1, n_users)
    for begin in range(start, stop, block):
        signs = random_signs(begin, min(begin + block, stop), n_users=n_users, seed=seed)
        yield (rows @ signs.T).reshape(*grid.shape[:2], -1)
