"""Samples as counts: how many relevant items are in each cell, all that estimators need to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analyses.intervals.resampling import draw_weights
from analyses.sampled.estimators.shared.em import FLOOR, em_steps, log_likelihood
from analyses.sampled.estimators.shared.nodes import Nodes, nodes_for
from analyses.sampled.expectation.metrics import RankMetric
from analyses.sampled.expectation.rank_pmf import expected_counts, sampled_rank_pmf
from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels import FullRanks
from runs import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Candidates = int | Literal["mean", "users"]

STEP = 1.02
"""Users whose numbers of candidates differ by less than this factor share a rounded one."""


@dataclass(frozen=True, eq=False)
class Group:
    """Samples of m negatives among N irrelevant candidates: what they make of a rank."""

    nodes: Nodes
    n_irrelevant: int
    n_negatives: int
    replace: bool

    @cached_property
    def table(self) -> Floats:
        """Chances of each number above, P: rows add up to 1, or 0 where candidates are fewer."""
        inside = self.nodes.above <= self.n_irrelevant
        ranks = np.where(inside, self.nodes.above, 0.0) + 1
        table = sampled_rank_pmf(
            ranks, n=self.n_irrelevant + 1, m=self.n_negatives, replace=self.replace
        )
        return np.asarray(table * (inside / table.sum(axis=1))[:, np.newaxis])

    @cached_property
    def weights(self) -> Floats:
        """Ranks that nodes stand for, 0 where there are fewer candidates: (n_nodes,)."""
        return np.where(self.nodes.above <= self.n_irrelevant, self.nodes.weights, 0.0)

    def within(self, masses: Floats | None) -> Floats:
        """Give distributions, (n_nodes, n_sets), among the ranks of the group; None: uniform."""
        if masses is None:
            return (self.weights / self.weights.sum())[:, np.newaxis]
        inside = masses * (self.weights > 0)[:, np.newaxis]
        return np.asarray(inside / inside.sum(axis=0))

    @cached_property
    def square(self) -> Floats:
        """P'P over all ranks."""
        return (self.table * self.weights[:, np.newaxis]).T @ self.table


@dataclass(frozen=True, eq=False)
class Cells:
    """How many relevant items are in each cell, for one or more samples of the same users.

    Parameters
    ----------
    groups
        The sizes of samples and of candidates that occur.
    cells
        Group, place j and number q of relevant items, and sampled items above, x: int64 of shape
        (n_cells, 4).
    counts
        Relevant items in each cell, one sample a column: (n_cells, n_samples).
    n_users
        Users of each sample.
    incidence
        Relevant items of each user in each cell, for the first sample: (n_cells, n_users).

    Examples
    --------
    >>> sample = SampledRanks.of([1, 3, 3], n_negatives=9, n_candidates=50)
    >>> cells = Cells.of([sample])
    >>> cells.cells[:, 3].tolist(), cells.counts[:, 0].tolist()
    ([0, 2], [1.0, 2.0])
    """

    groups: tuple[Group, ...]
    cells: Integers
    counts: Floats
    n_users: int
    incidence: csr_array
    _learned: dict[tuple[bool, bool], dict[int, Floats]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, samples: Sequence[SampledRanks], *, n: Candidates = "mean", path: str = "grid"
    ) -> Cells:
        """Count repeated samples.

        Candidates ``n`` are a number for all users, ``"mean"`` for their mean, or ``"users"`` for
        each user's own, rounded to steps of 2 %; sums over ranks are taken on the ``"grid"`` or
        the ``"full"`` path.

        Raises
        ------
        InputError
            If samples are of different users, with and without replacement, or `n` or the path is
            unknown or too small.
        """
        first = samples[0]
        _require_alike(samples)
        kinds, kind_of = _distinct(_candidates(first, n), first.orders, first.n_relevants)
        drawn = np.unique([m for one in samples for m in _occurring(one.n_negatives)])
        # A block of cells for each kind of relevant item and number of negatives.
        starts = np.cumsum([0, *np.tile(drawn + 1, len(kinds))])
        blocks = [kind_of * len(drawn) + np.searchsorted(drawn, s.n_negatives) for s in samples]
        codes = [starts[own] + one.above for own, one in zip(blocks, samples, strict=True)]
        filled, codes = _filled_first(codes, n_codes=int(starts[-1]))
        block = np.searchsorted(starts, filled, side="right") - 1
        of_kind, negatives = kinds[block // len(drawn)], drawn[block % len(drawn)]
        # Rounding may not leave fewer candidates than were sampled.
        pairs, group = _distinct(np.maximum(of_kind[:, 0], negatives), negatives)
        nodes = nodes_for(pairs[:, 0].tolist(), drawn[-1], replace=first.replace, path=path)
        users, columns = np.unique(first.users, return_inverse=True)
        counts = np.stack([np.bincount(own, minlength=len(filled)) for own in codes], axis=1)
        shape = (len(filled), len(users))
        return cls(
            groups=tuple(Group(nodes, size, m, first.replace) for size, m in pairs.tolist()),
            cells=np.column_stack([group, of_kind[:, 1:], filled - starts[block]]),
            counts=counts.astype(np.float64),
            n_users=len(users),
            incidence=csr_array((np.ones(len(first)), (codes[0], columns)), shape=shape),
        )

    @property
    def nodes(self) -> Nodes:
        """Where all groups take their sums over ranks."""
        return self.groups[0].nodes

    @property
    def simple(self) -> bool:
        """Whether users have one relevant item and one number of candidates."""
        return len({g.n_irrelevant for g in self.groups}) == 1 and bool(
            (self.cells[:, 2] == 1).all()
        )

    def shares(self, *, first_only: bool = False) -> list[Floats]:
        """Give the shares of the items in the cells of each group: (n_negatives + 1, n_samples).

        Each user's first relevant item may be counted alone.
        """
        counted = self.counts * (self.cells[:, 1] == 1)[:, None] if first_only else self.counts
        counted = counted / counted.sum(axis=0)
        every = [np.zeros((group.n_negatives + 1, counted.shape[1])) for group in self.groups]
        for number, shares in enumerate(every):
            of_group = self.cells[:, 0] == number
            np.add.at(shares, self.cells[of_group, 3], counted[of_group])
        return every

    def _seen(self, *, first_only: bool = False) -> tuple[list[Floats], list[Floats]]:
        """Give the columns of tables that some sample has items in, and the shares in them."""
        shares = self.shares(first_only=first_only)
        seen = [share.any(axis=1) for share in shares]
        tables = [group.table[:, own] for group, own in zip(self.groups, seen, strict=True)]
        return tables, [share[own] for share, own in zip(shares, seen, strict=True)]

    def most_likely(
        self, iterations: int, *, first_only: bool = False, steep: bool = False
    ) -> Floats:
        """Learn the rank distribution of each sample by EM: (n_nodes, n_samples) at the nodes.

        Iterations that were done before are not done again. A steep one begins with rank r as
        likely as 1 / r, not uniform: it fits as well, but has many items at the very first ranks.
        """
        known = self._learned.setdefault((first_only, steep), {})
        if iterations not in known:
            done = max((number for number in known if number < iterations), default=0)
            weights = self.nodes.weights / (self.nodes.above + 1 if steep else 1)
            tables, shares = self._seen(first_only=first_only)
            steps = em_steps(tables, shares, weights=weights, start=known.get(done))
            known[iterations] = next(islice(steps, iterations - done, None))
        return known[iterations]

    def likelihoods(self, masses: Floats) -> Floats:
        """Give the mean log-likelihood of each sample's items: (n_samples,)."""
        return log_likelihood(*self._seen(), masses)

    def true_masses(self, ranks: FullRanks) -> Floats:
        """Give the true distribution of ranks at the nodes, (n_nodes, 1), of the full path.

        Who has more irrelevant candidates above than there are nodes counts as last.
        """
        n_nodes = len(self.nodes)
        counts = np.bincount(np.minimum(ranks.above, n_nodes - 1), minlength=n_nodes)
        return counts[:, np.newaxis] / len(ranks)

    def resampled(self, replicates: int, *, seed: int) -> Cells:
        """Redraw users, as many as there are, again and again: a sample a replicate.

        How often each is drawn is that of every other bootstrap over as many users, so that systems
        and metrics are compared on the same ones (`analyses.intervals.resampling`).
        """
        draws = draw_weights(self.n_users, replicates=replicates, seed=seed)
        counts = np.concatenate([self.incidence @ times.T for _, times in draws], axis=1)
        return replace(self, counts=counts, _learned={})

    def expected(self, ranks: FullRanks) -> Cells:
        """Fill the cells as samples of these ranks, of one size, are expected to.

        What an estimator makes of it is its expectation if it is linear with a prior of its own,
        and for all others what it comes to with more and more users of such ranks.

        Examples
        --------
        Two users whose one negative is above their item with chance 0 and 1/2:

        >>> cells = Cells.of([SampledRanks.of([1, 1], n_negatives=1, n_candidates=3)])
        >>> cells.expected(FullRanks.of([1, 2], n_candidates=3)).counts.ravel()
        array([1.5, 0.5])
        """
        first = self.groups[0]
        sizes = np.array([group.n_irrelevant for group in self.groups])
        middles = np.sqrt(sizes[1:] * sizes[:-1])
        group = np.searchsorted(middles, np.rint(_stepped(ranks.n_irrelevant)))
        kinds, kind_of = _distinct(group, ranks.order, ranks.n_relevant)
        counts = expected_counts(ranks, kind_of, m=first.n_negatives, replace=first.replace)
        return self._filled(kinds, list(counts), len(np.unique(ranks.user)))

    def refilled(self, masses: Floats, metrics: tuple[RankMetric, ...]) -> tuple[Cells, Floats]:
        """Fill the cells as if all ranks were distributed so, (n_nodes, 1), and score these ranks.

        Items of each place and number of relevant items have that distribution given what was
        sampled of them, as after one more iteration of EM.

        Returns
        -------
        The cells, and the exact metrics among such ranks: (n_metrics,).
        """
        kinds, kind_of = _distinct(*self.cells[:, :3].T)
        filled, exact = [], np.zeros(len(metrics))
        for number, (of_group, order, n_relevant) in enumerate(kinds.tolist()):
            group, own = self.groups[of_group], kind_of == number
            seen = np.zeros(group.n_negatives + 1)
            np.add.at(seen, self.cells[own, 3], self.counts[own, 0])
            mass = group.within(masses)[:, 0]
            mass = mass * (group.table @ (seen / np.maximum(group.table.T @ mass, FLOOR)))
            filled.append(group.table.T @ mass)
            ranks, n = group.nodes.above + order, group.n_irrelevant + n_relevant
            exact += [
                mass @ m.summands(ranks, n=n, order=order, n_relevant=n_relevant) for m in metrics
            ]
        return self._filled(kinds, filled, self.n_users), exact / self.n_users

    def _filled(self, kinds: Integers, filled: list[Floats], n_users: int) -> Cells:
        """Put counts, (n_negatives + 1,), of each group, place and number of relevant items in."""
        cells = [
            np.column_stack([np.tile(kind, (len(own), 1)), np.arange(len(own))])
            for kind, own in zip(kinds, filled, strict=True)
        ]
        counts = np.concatenate(filled)[:, np.newaxis]
        empty = csr_array((len(counts), 0))
        return Cells(self.groups, np.concatenate(cells), counts, n_users, empty)


def _require_alike(samples: Sequence[SampledRanks]) -> None:
    first = samples[0]
    for other in samples[1:]:
        if other.replace != first.replace:
            raise InputError(
                "samples drawn with and without replacement cannot be fitted together."
            )
        if not all(
            np.array_equal(getattr(first, name), getattr(other, name))
            for name in ("orders", "n_relevants", "n_candidates")
        ):
            raise InputError("repeated samples must be of the same users and relevant items.")


def _distinct(*columns: Integers) -> tuple[Integers, NDArray[np.intp]]:
    """Give the distinct rows of columns, and which of them each row is."""
    rows, place = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return rows, place.ravel()


def _filled_first(
    codes: list[Integers], *, n_codes: int
) -> tuple[NDArray[np.intp], list[Integers]]:
    """Give the codes that occur, rising, and number them so."""
    seen = np.zeros(n_codes, dtype=bool)
    for some in codes:
        seen[some] = True
    place = np.cumsum(seen) - 1
    return np.flatnonzero(seen), [place[some] for some in codes]


def _occurring(numbers: Integers) -> list[int]:
    found: list[int] = np.flatnonzero(np.bincount(numbers)).tolist()
    return found


def _candidates(sample: SampledRanks, n: Candidates) -> Integers:
    """Give the irrelevant candidates that each row is taken to have."""
    every = sample.n_irrelevant
    if isinstance(n, int):
        every, most = n - sample.n_relevants, sample.n_negatives.max()
        if every.min() < most:
            raise InputError(f"`n` must leave more candidates than the {most} sampled, got {n}.")
    elif n not in ("mean", "users"):
        raise InputError(f'`n` must be a number of candidates, "mean" or "users", got {n!r}.')
    rounded = np.full(len(every), every.mean())
    if n == "users" and every.min() < every.max():
        rounded = _stepped(every)
    return np.rint(rounded).astype(np.int64)


def _stepped(sizes: Integers) -> Floats:
    """Round to powers of the step.

    Examples
    --------
    >>> _stepped(np.array([1000, 1001, 1030])).round(1)
    array([1003.4, 1003.4, 1023.4])
    """
    return np.asarray(STEP ** np.rint(np.log(sizes) / np.log(STEP)))
