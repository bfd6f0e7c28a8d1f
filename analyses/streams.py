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
