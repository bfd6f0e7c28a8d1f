"""The hidden items that count under one validation, what they weigh, and which are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from analyses.recall.stratification import MetricName, Stratification, Weights
from qrels.ranks.hidden_ranks import HiddenItems, HiddenRanks
from runs import InputError

Validation: TypeAlias = Literal["LOO", "LLOO"]
VALIDATIONS: tuple[Validation, ...] = get_args(Validation)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part:
    """The hidden items that count under one validation, and their ranks.

    Users are numbers of shape (n_users,), and starts the row at which each of them begins. Items,
    ranks and the mask of those for which there is a profile to recommend from are of shape
    (n_rows,). Rows left out as their items are unknown are counted.
    """

    users: NDArray[np.int32]
    starts: NDArray[np.intp]
    item: NDArray[np.int32]
    rank: NDArray[np.uint16]
    reachable: NDArray[np.bool_]
    n_unpopular: int

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rows of each user."""
        return np.diff(self.starts, append=len(self.item))

    def block(self, first: int, last: int) -> Part:
        """Keep some of the users."""
        starts = self.starts[first:last]
        stop = self.starts[last] if last < len(self.starts) else len(self.item)
        rows = slice(int(starts[0]), int(stop))
        return Part(
            self.users[first:last],
            starts - starts[0],
            self.item[rows],
            self.rank[rows],
            self.reachable[rows],
            0,
        )


def choose_part(
    ranks: HiddenRanks,
    validation: Validation,
    counts: NDArray[np.integer],
    chosen: Stratification,
) -> Part:
    """Choose what counts under a validation; refuse that nothing does."""
    hidden, n_distinct = ranks.hidden, distinct_counts(ranks.hidden)
    hides = _hides(hidden, validation, chosen)
    hides &= n_distinct[hidden.user] >= chosen.min_items
    kept = hides & (counts > 0)[hidden.item] if chosen.smoothing == "drop" else hides
    rank = ranks.rank_loo if validation == "LOO" else ranks.rank_lloo
    reachable = n_distinct[hidden.user] > 1 if validation == "LOO" else hidden.has_past
    user = hidden.user[kept]
    starts = np.flatnonzero(np.diff(user, prepend=-1))
    if len(starts) == 0:
        raise InputError(
            f"{validation} recall has no user with at least {chosen.min_items} items and one to "
            "hide."
        )
    n_unpopular = int(np.count_nonzero(hides) - np.count_nonzero(kept))
    return Part(user[starts], starts, hidden.item[kept], rank[kept], reachable[kept], n_unpopular)


def _hides(
    hidden: HiddenItems, validation: Validation, chosen: Stratification
) -> NDArray[np.bool_]:
    """Mark the rows that a validation hides, of shape (n_rows,), in a new array."""
    if validation == "LOO":
        return hidden.is_first.copy()
    if chosen.first_item == "skip":
        return hidden.has_past.copy()
    return np.ones(len(hidden), dtype=np.bool_)


def distinct_counts(hidden: HiddenItems) -> NDArray[np.intp]:
    """Count the distinct items of every user, of shape (n_users,)."""
    return np.bincount(hidden.user[hidden.is_first], minlength=len(hidden.users))


@dataclass(frozen=True, eq=False)
class Weighed:
    """What the hidden items of a part weigh in the mean: they add up to 1.

    Weights of the rows before they are scaled are of shape (n_rows,), factors of the users of shape
    (n_users,).
    """

    of_rows: Floats
    scales: Floats

    @classmethod
    def of(cls, part: Part, weights: Floats, scheme: Weights) -> Weighed:
        """Weigh the rows of a part by their items and their users."""
        of_rows = weights[part.item]
        totals = np.add.reduceat(of_rows, part.starts)
        if scheme == "uniform":
            return cls(of_rows, 1 / (totals * len(totals)))
        return cls(of_rows, np.full(len(totals), 1 / totals.sum()))

    def ceiling(self, part: Part) -> float:
        """Add up what can be found at all."""
        found = np.add.reduceat(self.of_rows * part.reachable, part.starts)
        return float((found * self.scales).sum())

    def effective_share(self, part: Part) -> float:
        """Give the effective sample size over the number of rows, for weights that sum to 1."""
        squares = np.add.reduceat(self.of_rows**2, part.starts)
        return float(1 / ((squares * self.scales**2).sum() * len(part.item)))


@dataclass(frozen=True, eq=False)
class Hits:
    """The rows of a part that are found at some cut-off.

    Of each, of shape (n_hits,): the row, the place of its user, that of the first cut-off at which
    it is found, and what it adds.
    """

    row: NDArray[np.intp]
    user: NDArray[np.intp]
    cutoff: NDArray[np.intp]
    gain: Floats
    n_cutoffs: int

    @classmethod
    def of(cls, part: Part, cutoffs: Sequence[int], metric: MetricName) -> Hits:
        """Find the rows with a rank within the last cut-off."""
        row = np.flatnonzero(part.rank <= cutoffs[-1])
        user = np.repeat(np.arange(len(part.users)), part.sizes)[row]
        rank = part.rank[row].astype(np.int64)
        return cls(row, user, np.searchsorted(cutoffs, rank), _gains(rank, metric), len(cutoffs))

    def totals(self, weighed: Weighed) -> Floats:
        """Add up what is found at each cut-off, of shape (n_cutoffs,)."""
        found = weighed.of_rows[self.row] * weighed.scales[self.user] * self.gain
        return np.bincount(self.cutoff, found, minlength=self.n_cutoffs).cumsum()

    def totals_of_users(self, of_rows: Floats, n_users: int) -> Floats:
        """Add up for each user, of shape (n_users, n_cutoffs)."""
        cell = self.user * self.n_cutoffs + self.cutoff
        found = np.bincount(cell, of_rows[self.row] * self.gain, n_users * self.n_cutoffs)
        return found.reshape(n_users, self.n_cutoffs).cumsum(axis=1)


def _gains(rank: NDArray[np.int64], metric: MetricName) -> Floats:
    """Give what items at these ranks add."""
    if metric == "RR":
        return 1 / rank
    return 1 / np.log2(1 + rank) if metric == "nDCG" else np.ones(len(rank))
