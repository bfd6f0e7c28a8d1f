"""Random words: what they are, so that studies of the past can be drawn again."""

from hashlib import blake2b

import numpy as np
import pytest

from runs.shared.streams import id_hashes, random_uniforms, random_words, splitmix64

KEY = (7, "judgements", 3)


def test_words_are_those_of_philox_under_the_digest_of_the_key() -> None:
    digest = blake2b(b"(7, 'judgements', 3)", digest_size=16).digest()
    philox = np.random.Philox(key=int.from_bytes(digest, "little"))
    assert random_words(9, *KEY).tolist() == philox.random_raw(9).tolist()


def test_streams_of_different_keys_differ() -> None:
    assert not np.intersect1d(random_words(50, 1, "a"), random_words(50, 1, "b")).size
    assert not np.intersect1d(random_words(50, 1, "1"), random_words(50, 1, 1)).size


@pytest.mark.parametrize("places", [[0], [3], [4], [5, 4], [11, 2, 7, 2], [23, 8], []])
def test_a_place_has_the_first_53_bits_of_its_word_whatever_else_is_asked_for(
    places: list[int],
) -> None:
    expected = [int(word) // 2**11 / 2**53 for word in random_words(24, *KEY)]
    found = random_uniforms(np.array(places, dtype=np.int64), *KEY)
    assert found.tolist() == [expected[place] for place in places]


def test_keys_are_mixed_as_by_splitmix64() -> None:
    """The first three numbers of SplitMix64 from seed 0, as published with its C code."""
    golden = 0x9E3779B97F4A7C15
    states = np.array([(golden * n) % 2**64 for n in (1, 2, 3)], dtype=np.uint64)
    assert [hex(word) for word in splitmix64(states).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_an_id_is_hashed_by_itself_after_the_name() -> None:
    expected = [
        int.from_bytes(blake2b(f"users\n{id}".encode(), digest_size=8).digest(), "little")
        for id in ("u1", "é")
    ]
    assert id_hashes(np.array(["u1", "é"]), "users").tolist() == expected
