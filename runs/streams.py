"""Random words keyed by what they are for, never by when they are drawn."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def random_words(n_words: int, *key: int | str) -> NDArray[np.uint64]:
    """Draw raw 64-bit words from the stream of a key such as (seed, stage, level, sample).

    Raw words of a counter-based generator (Philox 4x64, Salmon et al. 2011) stay the same in
    every version of numpy, unlike the methods of ``numpy.random.Generator``.

    Examples
    --------
    >>> random_words(3, 42, "sparsity", 5).tolist() == random_words(3, 42, "sparsity", 5).tolist()
    True
    """
    digest = blake2b(repr(key).encode(), digest_size=16).digest()
    return np.random.Philox(key=int.from_bytes(digest, "little")).random_raw(n_words)


def random_uniforms(places: NDArray[np.integer], *key: int | str) -> NDArray[np.float64]:
    """Draw one number in [0, 1) for each place of the stream of a key.

    What a place (such as a user's number) gets does not depend on which other places are asked
    for, nor in which order.

    Parameters
    ----------
    places
        Places in the stream, from 0, of shape (n,); as many words as the last place are drawn.

    Returns
    -------
    Multiples of 2^-53, of shape (n,).

    Examples
    --------
    >>> bool(random_uniforms(np.array([5]), 42)[0] == random_uniforms(np.arange(9), 42)[5])
    True
    """
    n_words = int(places.max(initial=-1)) + 1
    return (random_words(n_words, *key)[places] >> np.uint64(11)) * 2.0**-53
