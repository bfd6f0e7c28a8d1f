"""Ranked lists of simulated populations of users, and studies of some of the users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.families import Families
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import SumSamples, WorkInMemory
from qrels import qrels_from_columns
from tests.benchmarks.populations import uniforms

if TYPE_CHECKING:
    from analyses.shared.work import CountedIn
    from qrels import Qrels

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Masks = NDArray[np.bool_]

N_ITEMS, N_CANDIDATES, N_RELEVANT, EARLY, DEPTH = 200, 30, 8, 5, 10
MEASURES = Measures([Measure("P", EARLY), Measure("RR", 10), Measure("AP", 10)])
MOST_SUITED = 2.5


@dataclass(frozen=True, eq=False)
class Lists(WorkInMemory):
    """Lists of users who have eight relevant items each.

    Parameters
    ----------
    lists
        Of shape (n_users, n_systems, depth): which of a user's relevant items is at every rank, or
        their number for one that is not relevant.
    items
        A user's relevant items, from the most popular: (n_users, 8).
    popularity
        Training ratings of every item.
    named
        The family of each system, if these are named; they are found by likeness if not.
    """

    name = "lists"
    lists: Numbers = field()
    items: Numbers = field()
    popularity: Numbers = field()
    named: Numbers | None = None

    @classmethod
    def simulated(
        cls,
        *,
        qualities: Floats,
        choosy: Floats,
        skills: Floats,
        families: Numbers | None = None,
        seed: int,
    ) -> Lists:
        """Let systems rank 30 items for each user, eight of them relevant.

        How much better relevant items are scored depends on the user's skill and on the system's
        quality. Choosy systems, 0 to 1, suit some users more than others, and prefer popular items,
        so that measures disagree. The rest is noise, in part the same for all systems; systems of a
        family share most of theirs.

        Examples
        --------
        >>> ones = np.ones(8)
        >>> made = Lists.simulated(qualities=ones, choosy=ones, skills=np.ones(5), seed=1)
        >>> made.lists.shape, made.scores.values.shape
        ((5, 8, 10), (3, 8, 5))
        """
        n_users, n_systems = len(skills), len(qualities)
        weights = 1 / (10.0 + np.arange(N_ITEMS))
        lots = np.log(weights) - np.log(-np.log(uniforms((n_users, N_ITEMS), seed, "items")))
        items = np.sort(np.argsort(-lots, axis=1)[:, :N_RELEVANT], axis=1)
        known = np.zeros((n_users, 1, N_CANDIDATES))
        known[:, 0, :N_RELEVANT] = np.log(weights)[items] - np.log(weights).mean()

        suited = uniforms((n_users, n_systems), seed, "tastes") - 0.5
        tastes = skills[:, None] * (qualities + MOST_SUITED * choosy * suited)
        shape = (n_users, n_systems, N_CANDIDATES)
        noise = logistic(shape, seed, "systems")
        if families is not None:
            of_families = logistic((n_users, max(families) + 1, N_CANDIDATES), seed, "families")
            noise = 0.45 * noise + 0.9 * of_families[:, families]
        scores = noise / 2 + logistic((n_users, 1, N_CANDIDATES), seed, "shared") / 2
        scores += choosy[:, None] * known / 2
        scores[:, :, :N_RELEVANT] += tastes[..., None]
        found = np.argsort(-scores, axis=2)[:, :, :DEPTH]
        return cls(np.minimum(found, N_RELEVANT), items, np.rint(1e4 * weights).astype(np.intp))

    def of(self, users: Numbers, *, seed: int = 0) -> Lists:
        """Take some users."""
        return replace(self, lists=self.lists[users], items=self.items[users], seed=seed)

    @cached_property
    def families(self) -> Families:
        """Families of the systems."""
        return super().families if self.named is None else Families(self.named)

    @cached_property
    def scores(self) -> Scores:
        """Scores with all judgements."""
        return self.judged(np.ones((len(self.lists) * N_RELEVANT, 1), dtype=np.bool_))

    def judged(self, kept: Masks) -> Scores:
        """Score with one sample of the judgements, of shape (n_users * 8, 1)."""
        values = self._of_users(kept)[..., 0]
        systems = tuple(f"s{number}" for number in range(values.shape[1]))
        ids = np.char.zfill(np.arange(values.shape[2]).astype(np.str_), 5)
        return Scores(values, MEASURES, systems, ids)

    @cached_property
    def scales(self) -> Mapping[Measure, int]:
        """None is told: they are found."""
        return {}

    @cached_property
    def popularity_counts(self) -> Mapping[CountedIn, Numbers]:
        """Training ratings of every item."""
        return {"train": self.popularity}

    @cached_property
    def qrels(self) -> Qrels:
        """Judgements of the relevant items."""
        users, items = np.arange(len(self.lists)).repeat(N_RELEVANT), self.items.ravel()
        return qrels_from_columns(
            users, items, np.ones_like(items), n_users=len(self.lists), relevance_level=1
        )

    def rescorer(self, n_samples: int) -> SumSamples:
        """Give what scores these lists."""

        def sum_samples(kept: Masks, *, blocks: Numbers) -> Floats:
            in_blocks = np.zeros((int(blocks.max()) + 1, len(blocks)))
            in_blocks[blocks, np.arange(len(blocks))] = 1
            return np.einsum("bu,msuk->mbsk", in_blocks, self._of_users(kept), optimize=True)

        return sum_samples

    def _of_users(self, kept: Masks) -> Floats:
        """Score samples of judgements: (n_measures, n_systems, n_users, n_samples)."""
        n_users, n_systems, _ = self.lists.shape
        judged = np.zeros((n_users, N_RELEVANT + 1, kept.shape[1]))
        judged[:, :-1] = kept.reshape(n_users, N_RELEVANT, -1)
        users = np.arange(n_users)[:, np.newaxis]
        hits, first, precisions, early = np.zeros((4, n_users, n_systems, kept.shape[1]))
        for column in range(DEPTH):
            relevant, rank = judged[users, self.lists[:, :, column]], column + 1
            hits += relevant
            precisions += relevant * hits / rank
            np.maximum(first, relevant / rank, out=first)
            if rank == EARLY:
                early[:] = hits / EARLY
        precisions /= np.maximum(judged.sum(axis=1), 1)[:, np.newaxis]
        return np.stack([early, first, precisions]).swapaxes(1, 2)


def logistic(shape: tuple[int, ...], seed: int, of: str) -> Floats:
    """Draw logistic noise."""
    drawn = uniforms(shape, seed, "noise of", of)
    return np.log(drawn / (1 - drawn) + 1e-9)
