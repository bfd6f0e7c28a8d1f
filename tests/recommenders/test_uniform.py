"""Random scores: what they are made of, and that they are random."""

from hashlib import blake2b

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import kstest

from recommenders.uniform import RandomScorer
from runs import Numbering

USERS = Numbering.of(f"u{number}" for number in range(50))
ITEMS = Numbering.of(f"i{number}" for number in range(200))
ALL = np.arange(50, dtype=np.int32)


def test_the_numbers_are_uniform() -> None:
    scores = RandomScorer(USERS, ITEMS, seed=1).score_batch(ALL)
    assert kstest(scores.ravel(), "uniform").pvalue > 0.001


def test_users_are_independent() -> None:
    scores = RandomScorer(USERS, ITEMS, seed=1).score_batch(ALL)
    correlations = np.asarray(np.corrcoef(scores))[np.triu_indices(50, k=1)]
    assert abs(correlations.mean()) < 4 / np.sqrt(len(correlations) * len(ITEMS))


def test_a_number_stays_when_other_ids_leave() -> None:
    fewer = RandomScorer(Numbering.of(["u7"]), Numbering.of(["i3", "i42"]), seed=1).score_batch(
        np.array([0], dtype=np.int32)
    )
    scores = RandomScorer(USERS, ITEMS, seed=1).score_batch(USERS.numbers(["u7"]))
    np.testing.assert_array_equal(fewer, scores[:, ITEMS.numbers(["i3", "i42"])])


def test_a_user_and_an_item_of_one_name_do_not_cancel() -> None:
    same = Numbering.of(["1", "2"])
    scores = RandomScorer(same, same, seed=1).score_batch(np.array([0, 1], dtype=np.int32))
    assert len(np.unique(scores)) == 4


def hashed(text: str, salt: str) -> int:
    """Hash an id to 64 bits under the 128 bits of a salt."""
    key = blake2b(salt.encode(), digest_size=16).digest()
    return int.from_bytes(blake2b(text.encode(), digest_size=8, key=key).digest(), "little")


def split_mixed(word: int) -> int:
    """Mix a word as SplitMix64 does."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def test_a_number_is_24_bits_of_what_user_item_and_seed_are_mixed_to() -> None:
    """So that runs of the past are drawn again by every version."""
    scores = RandomScorer(USERS, ITEMS, seed=3).score_batch(ALL)
    for user, item in ((0, 0), (7, 42)):
        key = hashed(str(USERS.ids[user]), "user 3") ^ hashed(str(ITEMS.ids[item]), "item 3")
        assert scores[user, item] == (split_mixed(key) >> 40) / 2**24


def test_a_history_is_the_sum_of_what_it_holds_whatever_the_ratings() -> None:
    histories = csr_array(np.array([[1.0, 0, 5.0], [0, 2.0, 0], [4.0, 0, 2.0]]))
    items = Numbering.of(["a", "b", "c"])
    scores = RandomScorer(USERS, items, seed=3).score_histories(histories)
    sums = (hashed("a", "history 3") + hashed("c", "history 3")) % 2**64
    expected = (split_mixed(split_mixed(sums) ^ hashed("b", "item 3")) >> 40) / 2**24
    assert scores[0, 1] == expected
    assert scores[0].tolist() == scores[2].tolist() != scores[1].tolist()


def test_seeds_give_other_numbers() -> None:
    one, other = (RandomScorer(USERS, ITEMS, seed=seed).score_batch(ALL) for seed in (1, 2))
    assert (one == other).mean() < 0.001
