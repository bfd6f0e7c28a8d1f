"""Sampled ranks where all candidates are ranked: the systems share the sampled items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.samples.designs import require_negatives
from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels import FullRanks
from qrels.ranks.candidate_ranks import CandidateRanks
from runs.shared.streams import random_uniforms

Floats = NDArray[np.float64]
Weigh = Callable[[int, NDArray[np.intp]], Floats]
"""Weighs the items that a user, by place, may be given as negatives: in proportion to chances."""


@dataclass(frozen=True, eq=False)
class Negatives:
    """Items drawn for every user, again and again, which all systems rank.

    Parameters
    ----------
    items
        Of shape (n_users, n_repeats, m).
    inverse_chances
        Of the same shape: 1 / the chance that a draw has to be this item; None for equal chances
        or none at all.
    replace
        Whether an item may be drawn twice.
    """

    items: NDArray[np.intp]
    inverse_chances: Floats | None
    replace: bool = True

    def rank(self, ranks: CandidateRanks, relevant: FullRanks) -> list[SampledRanks]:
        """Rank the relevant items of a system among the negatives, a sample a repeat.

        Users are numbered as in the ranks of the candidates, and relevant items named.
        """
        n_users, n_repeats, m = self.items.shape
        places = ranks.rank[np.arange(n_users)[:, np.newaxis, np.newaxis], self.items]
        above = places[relevant.user] < relevant.rank[:, np.newaxis, np.newaxis]
        n_above, masses = above.sum(axis=2), None
        if self.inverse_chances is not None:
            masses = (above * self.inverse_chances[relevant.user]).sum(axis=2)
        return [
            SampledRanks(
                n_above[:, repeat] + relevant.order,
                relevant.n_candidates,
                relevant.user,
                n_negatives=np.full(len(relevant), m, dtype=np.int64),
                replace=self.replace,
                inverse_mass_above=None if masses is None else masses[:, repeat],
            )
            for repeat in range(n_repeats)
        ]


def draw_negatives(
    ranks: CandidateRanks,
    relevant: FullRanks,
    *,
    m: int,
    repeats: int,
    seed: int,
    weigh: Weigh | None = None,
) -> Negatives:
    """Draw m negatives of every user, with replacement, in each repeat: none of the relevant items.

    Of the ranks that some system gives to candidates and relevant items, only who they are matters.
    Items are weighed, or all have one chance; random numbers are keyed with that of the user.

    Examples
    --------
    >>> ranks = CandidateRanks(np.array([0]), np.array([[2, 1, 3, 0]], dtype=np.uint16))
    >>> relevant = FullRanks(*np.array([[3], [3], [0]]), item=np.array([2], dtype=np.int32))
    >>> drawn = draw_negatives(ranks, relevant, m=2, repeats=1, seed=1)
    >>> drawn.rank(ranks, relevant)[0].rank
    array([3])
    """
    require_negatives(m, relevant.n_irrelevant)
    left = ranks.rank > 0
    left[relevant.user, relevant.item] = False
    items = np.zeros((len(left), repeats, m), dtype=np.intp)
    inverse = None if weigh is None else np.zeros(items.shape)
    for user in np.unique(relevant.user).tolist():
        own = np.flatnonzero(left[user])
        uniforms = random_uniforms(np.arange(repeats * m), seed, "shared negatives", user)
        if weigh is None or inverse is None:
            items[user] = own[(uniforms * len(own)).astype(np.intp)].reshape(repeats, m)
            continue
        chances = weigh(user, own)
        chances = chances / chances.sum()
        sums = np.cumsum(chances)
        drawn = np.searchsorted(sums / sums[-1], uniforms, side="right").reshape(repeats, m)
        items[user], inverse[user] = own[drawn], 1 / chances[drawn]
    return Negatives(items, inverse)


def top_negatives(ranks: CandidateRanks, relevant: FullRanks, *, m: int, repeats: int) -> Negatives:
    """Take the first m irrelevant candidates of a system for every user; nothing is drawn."""
    require_negatives(m, relevant.n_irrelevant)
    places = np.where(ranks.rank > 0, ranks.rank, np.iinfo(ranks.rank.dtype).max)
    places[relevant.user, relevant.item] = np.iinfo(ranks.rank.dtype).max
    first = np.argsort(places, axis=1, kind="stable")[:, :m]
    return Negatives(np.repeat(first[:, np.newaxis], repeats, axis=1), None, replace=False)
