"""Candidate ranks: where a system puts every candidate of some users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrels.qrels import Qrels
from qrels.ranks.full_ranks import FullRanks
from runs.shared.fields import place_in_group


@dataclass(frozen=True, eq=False)
class CandidateRanks:
    """Ranks of all candidates of some users.

    ``topic``: number of each user among those that are judged, int64 of shape (n_users,); ``rank``:
    ranks from 1, 0 for what is no candidate: uint16 or int32 of shape (n_users, n_items).
    """

    topic: NDArray[np.int64]
    rank: NDArray[np.uint16] | NDArray[np.int32]

    def of_relevant(self, qrels: Qrels) -> FullRanks:
        """Give the ranks of the relevant items; users count from 0 here.

        Those that are no candidates, such as cold ones, count as candidates that come last.
        """
        places = np.full(qrels.n_users, -1, dtype=np.int64)
        places[self.topic] = np.arange(len(self.topic))
        user, item = places[qrels.users[qrels.relevant]], qrels.items[qrels.relevant]
        user, item = user[user >= 0], item[user >= 0]
        rank, n_candidates = self.rank[user, item].astype(np.int64), (self.rank > 0).sum(axis=1)
        cold = rank == 0
        rank[cold] = n_candidates[user[cold]] + place_in_group(user[cold])
        n_candidates += np.bincount(user[cold], minlength=len(n_candidates))
        return FullRanks(rank, n_candidates[user], user, item)
