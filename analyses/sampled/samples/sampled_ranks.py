"""Sampled ranks: where the relevant items stand among a few sampled ones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runs import InputError
from runs.shared.groups import HALF_RANKS, Integers, spread, whole


@dataclass(frozen=True, eq=False)
class SampledRanks:
    r"""Ranks among sampled items, one row for each pair of a user and a relevant item.

    The relevant items of a user are always in the list, the sampled negatives besides.

    Parameters
    ----------
    rank
        Rank in the sample, from 1, int64 of shape (n_rows,), as the next three: the relevant
        item number j of a user has ranks j to m + j.
    n_negatives
        Sampled negatives, m; relevant items are not counted.
    n_candidates
        Candidates of the user, n, with the relevant items, without training items.
    replace
        Whether the negatives were drawn with replacement; one drawn twice counts twice.
    user
        Number of the user, of shape (n_rows,), or None if every row is a user of its own.
    order
        The place j of the item among the user's relevant items, from 1, or None for 1.
    n_relevant
        The user's relevant items, q, or None for 1.
    inverse_mass_above
        Sum of :math:`1 / q_i` over the sampled negatives above, for negatives drawn with
        probabilities :math:`q_i`, float64 of shape (n_rows,); None if they were drawn uniformly.

    Raises
    ------
    InputError
        If columns differ in length, a rank is not a whole number or impossible, or there are
        no negatives or more than the user has irrelevant candidates.

    Examples
    --------
    >>> SampledRanks.of([1, 3, 3], n_negatives=9, n_candidates=50).above
    array([0, 2, 2])
    """

    rank: Integers
    n_negatives: Integers
    n_candidates: Integers
    replace: bool
    user: Integers | None = None
    order: Integers | None = None
    n_relevant: Integers | None = None
    inverse_mass_above: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        rank: ArrayLike,
        *,
        n_negatives: ArrayLike,
        n_candidates: ArrayLike,
        replace: bool = True,
    ) -> SampledRanks:
        """Take ranks of users with one relevant item; what is one number holds for all of them."""
        ranks = np.atleast_1d(whole(rank, what="rank"))
        return cls(
            ranks,
            spread(n_negatives, len(ranks), what="number of negatives"),
            spread(n_candidates, len(ranks), what="number of candidates"),
            replace,
        )

    def __post_init__(self) -> None:
        self._require_columns()
        m, orders = self.n_negatives, self.orders
        known = (orders >= 1) & (orders <= self.n_relevants)
        possible = (self.above >= 0) & (self.above <= m)
        few = "`n_negatives` must not be above the irrelevant candidates"
        for right, rule, values in (
            (self.n_relevants >= 1, "`n_relevant` must be at least 1", self.n_relevants),
            (m >= 1, "`n_negatives` must be at least 1", m),
            (m <= self.n_irrelevant, few, m),
            (known, "`order` must be from 1 to the number of relevant items", orders),
            (possible, "ranks must be from 1 to the length of the list", self.rank),
        ):
            if not right.all():
                row = int(right.argmin())
                raise InputError(f"{rule}, got {values[row]} in row {row} of the sampled ranks.")

    def _require_columns(self) -> None:
        for field in fields(self):
            column = getattr(self, field.name)
            if not isinstance(column, np.ndarray):
                continue
            if column.shape != (len(self.rank),):
                raise InputError(
                    f"the columns of sampled ranks must have one length, {len(self.rank)}; "
                    f"`{field.name}` is of shape {column.shape}."
                )
            if field.name != "inverse_mass_above" and column.dtype.kind != "i":
                raise InputError(
                    f"`{field.name}` must hold whole numbers, got {column.dtype}: {HALF_RANKS}."
                )

    def __len__(self) -> int:
        return len(self.rank)

    @cached_property
    def users(self) -> Integers:
        """Number of the user of each row, of shape (n_rows,)."""
        return np.arange(len(self)) if self.user is None else self.user

    @cached_property
    def orders(self) -> Integers:
        """Place of each item among the user's relevant items, from 1, of shape (n_rows,)."""
        return np.ones(len(self), dtype=np.int64) if self.order is None else self.order

    @cached_property
    def n_relevants(self) -> Integers:
        """Relevant items of the user of each row, of shape (n_rows,)."""
        return np.ones(len(self), dtype=np.int64) if self.n_relevant is None else self.n_relevant

    @property
    def above(self) -> Integers:
        """Sampled negatives above each item, x, of shape (n_rows,)."""
        return self.rank - self.orders

    @property
    def n_irrelevant(self) -> Integers:
        """Irrelevant candidates of the user of each row, N, of shape (n_rows,)."""
        return self.n_candidates - self.n_relevants
