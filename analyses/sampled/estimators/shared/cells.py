"""Samples as counts: how many relevant items are in each cell, all that estimators need to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analyses.intervals.resampling import draw_weights
from analyses.sampled.estimators.shared.em import FLOOR, em_step, log_likelihood
from analyses.sampled.estimators.shared.nodes import Nodes, nodes_for
from analyses.sampled.expectation.metrics import RankMetric
from analyses.sampled.expectation.rank_pmf import expected_counts, sampled_rank_pmf
from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels import FullRanks
from runs import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Group:
    """Samples of m negatives among some irrelevant candidates: what they make of a rank.

    The nodes are those of samples of so many negatives at most; see `nodes_for` for the path.
    """

    n_irrelevant: int
    most: int
    n_negatives: int
    replace: bool
    path: str

    @cached_property
    def nodes(self) -> Nodes:
        """Where sums over ranks are taken."""
        return nodes_for(self.n_irrelevant, self.most, replace=self.replace, path=self.path)

    @cached_property
    def table(self) -> Floats:
        """Chances of each number above, P, of shape (n_nodes, m + 1)."""
        ranks, n = self.nodes.above + 1, self.nodes.n_irrelevant + 1
        table = sampled_rank_pmf(ranks, n=n, m=self.n_negatives, replace=self.replace)
        return np.asarray(table * (1 / table.sum(axis=1))[:, np.newaxis])


@dataclass(frozen=True, eq=False)
class Cells:
    """How many relevant items are in each cell, for one or more samples of the same users.

    Parameters
    ----------
    groups
        The sizes of samples that occur, among the mean number of irrelevant candidates.
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
    _learned: dict[bool, dict[int, Floats]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, samples: Sequence[SampledRanks], *, path: str = "grid") -> Cells:
        """Count repeated samples; see `Estimator.fit` for the path."""
        first = samples[0]
        for name in ("order", "n_relevant", "n_candidates", "replace"):
            if not all(np.array_equal(getattr(first, name), getattr(s, name)) for s in samples):
                raise InputError("repeated samples must be of the same users, and drawn alike.")
        kinds, kind_of = _distinct(first.order, first.n_relevant)
        drawn = np.unique([m for one in samples for m in np.unique(one.n_negatives)])
        # A block of cells for each kind of relevant item and number of negatives.
        starts = np.cumsum([0, *np.tile(drawn + 1, len(kinds))])
        blocks = (kind_of * len(drawn) + np.searchsorted(drawn, s.n_negatives) for s in samples)
        codes = np.array([starts[own] + s.above for own, s in zip(blocks, samples, strict=True)])
        counts = np.array([np.bincount(own, minlength=starts[-1]) for own in codes]).T
        filled = np.flatnonzero(counts.any(axis=1))
        block = np.searchsorted(starts, filled, side="right") - 1
        of_kind, negatives = kinds[block // len(drawn)], drawn[block % len(drawn)]
        # The mean may be below what was sampled of some.
        size = max(int(np.rint(first.n_irrelevant.mean())), int(drawn[-1]))
        sizes, group = np.unique(negatives, return_inverse=True)
        most = int(drawn[-1])
        users, columns = np.unique(first.user, return_inverse=True)
        places = np.searchsorted(filled, codes[0]), columns
        return cls(
            groups=tuple(Group(size, most, m, first.replace, path) for m in sizes.tolist()),
            cells=np.column_stack([group, of_kind, filled - starts[block]]),
            counts=counts[filled].astype(np.float64),
            n_users=len(users),
            incidence=csr_array((np.ones(len(first)), places), shape=(len(filled), len(users))),
        )

    @property
    def nodes(self) -> Nodes:
        """Where all groups take their sums over ranks."""
        return self.groups[0].nodes

    @property
    def simple(self) -> bool:
        """Whether users have one relevant item each."""
        return bool((self.cells[:, 2] == 1).all())

    @cached_property
    def first(self) -> Cells:
        """The first relevant items of all users alone."""
        own = self.cells[:, 1] == 1
        kept = {name: getattr(self, name)[own] for name in ("cells", "counts", "incidence")}
        return replace(self, **kept, _learned={})

    @cached_property
    def shares(self) -> list[Floats]:
        """Shares of the items in the cells of each group: (n_negatives + 1, n_samples)."""
        counted = self.counts / self.counts.sum(axis=0)
        every = [np.zeros((group.n_negatives + 1, counted.shape[1])) for group in self.groups]
        for number, shares in enumerate(every):
            of_group = self.cells[:, 0] == number
            np.add.at(shares, self.cells[of_group, 3], counted[of_group])
        return every

    @cached_property
    def _seen(self) -> tuple[list[Floats], list[Floats]]:
        """Columns of tables that some sample has items in, and the shares in them."""
        seen = [share.any(axis=1) for share in self.shares]
        tables = [group.table[:, own] for group, own in zip(self.groups, seen, strict=True)]
        return tables, [share[own] for share, own in zip(self.shares, seen, strict=True)]

    def most_likely(self, iterations: int, *, steep: bool = False) -> Floats:
        """Learn the rank distribution of each sample by EM: (n_nodes, n_samples) at the nodes.

        Iterations that were done before are not done again. A steep one begins with rank r as
        likely as 1 / r, not uniform: it fits as well, but has many items at the very first ranks.
        """
        weights = self.nodes.weights / (self.nodes.above + 1 if steep else 1)
        start = np.repeat((weights / weights.sum())[:, np.newaxis], self.counts.shape[1], axis=1)
        known = self._learned.setdefault(steep, {0: start})
        done = max(number for number in known if number <= iterations)
        mass = known[done]
        for _ in range(iterations - done):
            mass = em_step(mass, *self._seen)
        known[iterations] = mass
        return mass

    def likelihoods(self, masses: Floats) -> Floats:
        """Give the mean log-likelihood of each sample's items: (n_samples,)."""
        return log_likelihood(masses, *self._seen)

    def true_masses(self, ranks: FullRanks) -> Floats:
        """Give the true distribution of the ranks of such items at the nodes of the full path.

        Who has more irrelevant candidates above than there are nodes counts as last: (n_nodes, 1).
        """
        n_nodes = len(self.nodes)
        above = ranks.above[np.isin(ranks.order, self.cells[:, 1])]
        counts = np.bincount(np.minimum(above, n_nodes - 1), minlength=n_nodes)
        return counts[:, np.newaxis] / len(above)

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
        kinds, kind_of = _distinct(np.zeros_like(ranks.order), ranks.order, ranks.n_relevant)
        counts = expected_counts(ranks, kind_of, m=first.n_negatives, replace=first.replace)
        return self._filled(kinds, list(counts), len(np.unique(ranks.user)))

    def refilled(self, masses: Floats, metrics: tuple[RankMetric, ...]) -> tuple[Cells, Floats]:
        """Fill the cells as if all ranks were distributed so, (n_nodes, 1), and score these ranks.

        Items of each place and number of relevant items have that distribution given what was
        sampled of them, as after one more iteration of EM. Besides the cells, the exact metrics
        among such ranks are given: (n_metrics,).
        """
        kinds, kind_of = _distinct(*self.cells[:, :3].T)
        filled, exact = [], np.zeros(len(metrics))
        for number, (of_group, order, n_relevant) in enumerate(kinds.tolist()):
            group, own = self.groups[of_group], kind_of == number
            seen = np.zeros(group.n_negatives + 1)
            np.add.at(seen, self.cells[own, 3], self.counts[own, 0])
            mass = (masses / masses.sum(axis=0))[:, 0]
            mass = mass * (group.table @ (seen / np.maximum(group.table.T @ mass, FLOOR)))
            filled.append(group.table.T @ mass)
            ranks, n = group.nodes.above + order, group.nodes.n_irrelevant + n_relevant
            asked = {"n": n, "order": order, "n_relevant": n_relevant}
            exact += [mass @ metric.summands(ranks, **asked) for metric in metrics]
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


def _distinct(*columns: Integers) -> tuple[Integers, NDArray[np.intp]]:
    """Give the distinct rows of columns, and which of them each row is."""
    rows, place = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return rows, place.ravel()
