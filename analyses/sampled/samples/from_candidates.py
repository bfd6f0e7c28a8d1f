"""Sampled ranks where all candidates are ranked: the systems share the sampled items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.samples.designs import require_negatives
from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels import FullRanks
from qrels.ranks.full_ranks import CandidateRanks
from runs.shared.fields import Integers
from runs.shared.streams import random_uniforms

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Weigh = Callable[[int, Places], Floats]
"""Weighs the items that a user, by place, may be given as negatives: in proportion to chances."""


@dataclass(frozen=True, eq=False)
class Negatives:
    """Negatives of every user, none of them relevant: the same items whenever they are asked for.

    Parameters
    ----------
    ranks, relevant
        Ranks of candidates and relevant items by some system; only who they are matters.
    repeats, seed
        How often they are drawn, with random numbers that are keyed by seed and user.
    replace
        Whether an item may be drawn twice.
    weigh
        Weighs items, which takes replacement; by default all have one chance.
    top
        The items that users have instead, if nothing is drawn: (n_users, m).
    """

    ranks: CandidateRanks
    relevant: FullRanks
    repeats: int
    seed: int
    replace: bool = True
    weigh: Weigh | None = None
    top: Places | None = None

    def of(self, user: int, relevant: Integers, n: int, *key: int) -> tuple[Places, Floats | None]:
        """Give n items of a user in each repeat, and 1 / the chance of each if they are weighed.

        Both are of shape (n_repeats, n); the relevant items are rows of the ranks.
        """
        if self.top is not None:
            return np.broadcast_to(self.top[user, :n], (self.repeats, n)), None
        own = self._candidates(user, relevant)
        places = np.arange(self.repeats * n)
        uniforms = random_uniforms(places, self.seed, "shared negatives", user, *key)
        uniforms = uniforms.reshape(self.repeats, n)
        if self.weigh is None:
            return own[_equally(uniforms, len(own), replace=self.replace)], None
        chances = self.weigh(user, own)
        chances = chances / chances.sum()
        sums = np.cumsum(chances)
        drawn = np.searchsorted(sums / sums[-1], uniforms, side="right")
        return own[drawn], 1 / chances[drawn]

    def _candidates(self, user: int, relevant: Integers) -> Places:
        left = self.ranks.rank[user] > 0
        left[_items(self.relevant)[relevant]] = False
        return np.flatnonzero(left)

    def rank(
        self, ranks: CandidateRanks, relevant: FullRanks, sizes: Sequence[int]
    ) -> list[SampledRanks]:
        """Rank the relevant items of a system among the negatives, a sample a repeat.

        Users are numbered as in the ranks of the candidates. Of rising numbers of negatives, all
        after the first are for who has none above; items of one user are held at a time.
        """
        require_negatives(sizes[-1], relevant.n_irrelevant, name="negatives")
        above, negatives = np.zeros((2, len(relevant), self.repeats), dtype=np.int64)
        masses = None if self.weigh is None else np.zeros(above.shape)
        for user, rows in _users(relevant):
            for size, before in zip(sizes, (0, *sizes), strict=False):
                grows = above[rows] == 0
                if not grows.any():
                    break
                items, inverse = self.of(user, rows, size - before, *[size][: before > 0])
                passed = ranks.rank[user, items] < relevant.rank[rows, np.newaxis, np.newaxis]
                above[rows] += np.where(grows, passed.sum(axis=2), 0)
                negatives[rows] = np.where(grows, size, negatives[rows])
                if masses is not None:
                    masses[rows] = (passed * inverse).sum(axis=2)
        return [
            SampledRanks(
                above[:, repeat] + relevant.order,
                relevant.n_candidates,
                relevant.user,
                n_negatives=negatives[:, repeat],
                replace=self.replace,
                inverse_mass_above=None if masses is None else masses[:, repeat],
            )
            for repeat in range(self.repeats)
        ]


def top_items(ranks: CandidateRanks, relevant: FullRanks, *, m: int) -> Places:
    """Give the first m irrelevant candidates of a system for every user: (n_users, m)."""
    require_negatives(m, relevant.n_irrelevant)
    last = np.iinfo(ranks.rank.dtype).max
    places = np.where(ranks.rank > 0, ranks.rank, last)
    places[relevant.user, _items(relevant)] = last
    return np.argsort(places, axis=1, kind="stable")[:, :m]


def _items(relevant: FullRanks) -> NDArray[np.int32]:
    if relevant.item is None:
        raise ValueError("ranks of relevant items whose names are not known")
    return relevant.item


def _users(relevant: FullRanks) -> Iterator[tuple[int, Integers]]:
    """Give every user with the rows of the relevant items."""
    users, starts = np.unique(relevant.user[relevant.by_user], return_index=True)
    return zip(users.tolist(), np.split(relevant.by_user, starts[1:]), strict=True)


def _equally(uniforms: Floats, size: int, *, replace: bool) -> Places:
    """Turn uniform numbers, (n_repeats, n), into places below a size: distinct in a repeat or not.

    Examples
    --------
    >>> _equally(np.array([[0.3, 0.3, 0.3]]), 3, replace=True)
    array([[0, 0, 0]])
    >>> _equally(np.array([[0.3, 0.3, 0.3]]), 3, replace=False)
    array([[0, 1, 2]])
    """
    if replace:
        return (uniforms * size).astype(np.intp)
    from analyses.sampled.samples.inversion import distinct_places

    return distinct_places(uniforms, size)
