"""Sampled ranks: where the relevant items stand among a few sampled ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qrels.ranks.full_ranks import FullRanks
from runs import InputError
from runs.shared.fields import Integers, spread, whole


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledRanks(FullRanks):
    r"""Ranks among sampled items, one row for each pair of a user and a relevant item.

    The relevant items of a user are always in the list, the sampled negatives besides: with m
    negatives, relevant item number j has ranks j to m + j. Candidates are all, as of `FullRanks`.

    Parameters
    ----------
    n_negatives
        Sampled negatives, m, int64 of shape (n_rows,); relevant items are not counted.
    replace
        Whether the negatives were drawn with replacement; one drawn twice counts twice.
    inverse_mass_above
        Sum of :math:`1 / q_i` over the sampled negatives above, for negatives drawn with
        probabilities :math:`q_i`, float64 of shape (n_rows,); None if they were drawn uniformly.

    Raises
    ------
    InputError
        If a rank is impossible, or there are no negatives or more than the user has irrelevant
        candidates.

    Examples
    --------
    >>> SampledRanks.of([1, 3, 3], n_negatives=9, n_candidates=50).above
    array([0, 2, 2])
    """

    n_negatives: Integers
    replace: bool = True
    inverse_mass_above: NDArray[np.float64] | None = None

    @classmethod
    def of(  # type: ignore[override]
        cls,
        rank: ArrayLike,
        *,
        n_negatives: ArrayLike,
        n_candidates: ArrayLike,
        replace: bool = True,
    ) -> SampledRanks:
        """Take ranks of users with one relevant item; what is one number holds for all of them."""
        ranks = np.atleast_1d(whole(rank, what="rank"))
        candidates = spread(n_candidates, len(ranks), what="number of candidates")
        negatives = spread(n_negatives, len(ranks), what="number of negatives")
        users = np.arange(len(ranks))
        return cls(ranks, candidates, users, n_negatives=negatives, replace=replace)

    def __post_init__(self) -> None:
        super().__post_init__()
        m, few = self.n_negatives, "`n_negatives` must not be above the irrelevant candidates"
        for right, rule, values in (
            (m >= 1, "`n_negatives` must be at least 1", m),
            (m <= self.n_irrelevant, few, m),
            (self.above <= m, "ranks must be from 1 to the length of the list", self.rank),
        ):
            if not right.all():
                row = int(right.argmin())
                raise InputError(f"{rule}, got {values[row]} in row {row} of the sampled ranks.")
