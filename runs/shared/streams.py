"""Random numbers keyed by what they are for, never by when they are drawn."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Floats, Integers

WORDS_PER_COUNT = 4
"""Number of words that Philox 4x64 makes of each value of its counter."""


def random_words(n_words: int, *key: int | str) -> NDArray[np.uint64]:
    """Draw raw 64-bit words, of shape (n_words,), from the stream of a key.

    A key is such as (seed, stage, level, sample); equal keys give equal words. Raw words of a
    counter-based generator (Philox 4x64, Salmon et al. 2011) stay the same in every version of
    numpy, unlike the methods of ``numpy.random.Generator``.
    """
    return _generator(key).random_raw(n_words)


def random_uniforms(places: Integers, *key: int | str) -> Floats:
    """Look up the random numbers in [0, 1) at some places of the random stream of a key.

    ``places``, of shape (n_places,), are positions in the stream from 0, such as the numbers of
    users. What a place gets does not depend on which other places are asked for, nor in which
    order. Numbers are multiples of 2^-53, of shape (n_places,). All words from the lowest to the
    highest place are drawn.
    """
    if len(places) == 0:
        return np.zeros(0)
    # The generator can only be advanced by whole counts, of several words each.
    first_count = int(places.min()) // WORDS_PER_COUNT
    first_place = first_count * WORDS_PER_COUNT
    n_words = int(places.max()) + 1 - first_place
    generator = _generator(key)
    generator.advance(first_count)
    words = generator.random_raw(n_words)
    highest_53_bits = words[places - first_place] >> np.uint64(11)
    return np.asarray(highest_53_bits * 2.0**-53)


def _generator(key: tuple[int | str, ...]) -> np.random.Philox:
    """Make the generator of a key, whose own key is a hash of the text of that."""
    digest = blake2b(repr(key).encode(), digest_size=16).digest()
    return np.random.Philox(key=int.from_bytes(digest, "little"))


def splitmix64(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter keys over 64 bits: the finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def id_hashes(ids: NDArray[np.str_], name: str) -> NDArray[np.uint64]:
    """Hash each id into 64 bits, uint64 of shape (n_ids,), the same on every machine.

    ``name`` is that of a use, such as a stage of a study: under another name hashes are other ones,
    as if independent.
    """
    hash_of_name = blake2b(name.encode(), digest_size=8)
    digests = bytearray()
    for id in ids.tolist():
        hash_of_id = hash_of_name.copy()
        hash_of_id.update(b"\n" + id.encode())
        digests += hash_of_id.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)
