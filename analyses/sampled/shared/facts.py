"""What captions say of ranks and samples: of whom, among how many, and how they were drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrels import FullRanks


@dataclass(frozen=True)
class Ranked:
    """Whose relevant items were ranked, among how many.

    Parameters
    ----------
    n_users, n_relevant
        Users, and their relevant items.
    candidates
        Smallest and largest number of candidates of a user.

    Examples
    --------
    >>> ranked = Ranked.of(FullRanks.of([5, 2, 1], n_candidates=[9, 9, 1200], user=[0, 0, 1]))
    >>> print(ranked, "among", ranked.n)
    3 relevant items of 2 users among 9 to 1,200
    """

    n_users: int
    n_relevant: int
    candidates: tuple[int, int]

    @classmethod
    def of(cls, ranks: FullRanks) -> Ranked:
        """Count."""
        candidates = (int(ranks.n_candidates.min()), int(ranks.n_candidates.max()))
        return cls(len(np.unique(ranks.user)), len(ranks), candidates)

    def __str__(self) -> str:
        return f"{self.n_relevant:,} relevant items of {self.n_users:,} users"

    @property
    def n(self) -> str:
        """The numbers of candidates in words."""
        least, most = self.candidates
        return f"{least:,}" if least == most else f"{least:,} to {most:,}"


@dataclass(frozen=True)
class Drawn:
    """How samples were drawn, and what corrections were told.

    Parameters
    ----------
    replace
        Whether an item could be sampled twice.
    corrected_for
        Whether corrections take the ``"mean"`` number of candidates or that of the ``"users"``.
    seed
        Of the samples.
    draws
        Whether repeated samples of systems are "shared" or "independent"; nothing for one sample.
    """

    replace: bool
    corrected_for: str
    seed: int
    draws: str = ""

    @property
    def how(self) -> str:
        """Whether with or without replacement, and what systems share, in words."""
        shared = {
            "shared": ", by a random number of each user that the systems share",
            "independent": ", independently for each system",
        }
        return f"{'with' if self.replace else 'without'} replacement{shared.get(self.draws, '')}"

    @property
    def whose(self) -> str:
        """Whose number of candidates corrections take, in words."""
        if self.corrected_for == "mean":
            return "the mean number of candidates"
        return "each user's own number of candidates, in steps of 2 %"
