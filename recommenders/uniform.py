"""Random: a baseline that every system should beat."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from qrels import Ratings
from recommenders.shared.scorers import with_data
from recommenders.shared.system import Settings, system
from runs import Numbering
from runs.shared.arrays import Ints, Singles, Sparse
from runs.shared.streams import splitmix64


class RandomSettings(Settings):
    """Random has no settings; it uses the seed of the study."""


@system("random", family="baseline", source="-")
def random(ratings: Ratings, settings: RandomSettings, *, seed: int) -> RandomScorer:
    """Recommend items at random, by a uniform number for every user and item.

    The number is a hash of (seed, user id, item id), so it is the same in every order of
    users and items, and stays when other users or items join or leave.
    """
    return RandomScorer(ratings.users, ratings.items, seed)


@dataclass(frozen=True, eq=False)
class RandomScorer:
    """Scores by hashes: uniform numbers in [0, 1), multiples of 2**-24 and so exact in float32."""

    users: Numbering
    items: Numbering
    seed: int

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these users: float32 of shape (n_rows, n_items)."""
        user_ids = self.users.ids[user_numbers]
        return self._scores(_hashes(user_ids, salt=f"user {self.seed}"))

    def score_histories(self, histories: Sparse) -> Singles:
        """Score every item for rows of ratings: float32 of shape (n_rows, n_items).

        The numbers of a row depend on the items that it holds, not on the values of its ratings.
        """
        item_hashes = _hashes(self.items.ids, salt=f"history {self.seed}")
        is_rated = with_data(histories, np.ones(histories.nnz, dtype=np.uint64))
        return self._scores(splitmix64(is_rated @ item_hashes))

    def _scores(self, user_keys: NDArray[np.uint64]) -> Singles:
        """Draw a number in [0, 1) for each user and item: float32 of shape (n_users, n_items).

        It is a hash of the key of the user, ``user_keys`` of shape (n_users,), the item's id and
        ``self.seed``: a multiple of 2^-24.
        """
        item_hashes = _hashes(self.items.ids, salt=f"item {self.seed}")
        words = splitmix64(user_keys[:, np.newaxis] ^ item_hashes)
        highest_24_bits = words >> np.uint64(40)
        return highest_24_bits.astype(np.float32) * np.float32(2.0**-24)


def _hashes(ids: NDArray[np.str_], *, salt: str) -> NDArray[np.uint64]:
    """Hash ids to 64 bits each, of shape (n_ids,); another salt gives other hashes."""
    key = blake2b(salt.encode(), digest_size=16).digest()
    digests = (blake2b(id_.encode(), digest_size=8, key=key).digest() for id_ in ids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
