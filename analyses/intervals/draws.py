"""Random numbers that a draw owns: the same whichever block or worker makes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# The top word of the counter says what the bits are for, so that no two uses share any.
SIGNS = 1
RESAMPLING = 2
SHUFFLING = 3
RESAMPLING_SAMPLES = 4
POPULATIONS = 5
RUNS = 6
WORDS_PER_STEP = 4


def random_halves(
    start: int, stop: int, *, n_halves: int, seed: int, purpose: int
) -> NDArray[np.uint32]:
    """Draw 32-bit numbers for draws ``start`` to ``stop``, independent of all others' order.

    Draw b owns ceil(n_halves / 8) steps of the counter of a Philox 4x64 generator (Salmon et al.
    2011) whose key is the seed: its raw words as little-endian halves. Raw words, since the
    streams of numpy's other methods may change.

    Returns
    -------
    Numbers of shape (stop - start, n_halves).

    Examples
    --------
    >>> together = random_halves(0, 3, n_halves=5, seed=7, purpose=RESAMPLING)
    >>> alone = random_halves(2, 3, n_halves=5, seed=7, purpose=RESAMPLING)
    >>> bool((together[2:] == alone).all())
    True
    """
    n_steps = -(-n_halves // (2 * WORDS_PER_STEP))
    generator = np.random.Philox(key=seed, counter=np.array([0, 0, 0, purpose], dtype=np.uint64))
    generator.advance(start * n_steps)
    words = generator.random_raw((stop - start) * n_steps * WORDS_PER_STEP)
    halves = words.astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)
    return halves.reshape(stop - start, n_steps * 2 * WORDS_PER_STEP)[:, :n_halves]


def below(halves: NDArray[np.uint32], bounds: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn 32-bit numbers into whole numbers 0 <= x < bound, as the upper half of a product.

    Chances differ from 1 / bound by less than 2^-32, a millionth of it for 4,000 users.

    Examples
    --------
    >>> below(np.array([0, 2**31, 2**32 - 1], dtype=np.uint32), 6)
    array([0, 3, 5])
    """
    wide = halves.astype(np.uint64)
    return (wide * np.asarray(bounds, dtype=np.uint64) >> np.uint64(32)).astype(np.int64)
