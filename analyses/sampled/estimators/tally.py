"""Samples as counts: how many users are in each cell, all that estimators need to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analyses.resampling import resampled_users
from analyses.sampled.estimators.nodes import Nodes, nodes_for
from analyses.sampled.estimators.tables import count_table, doubled_sums, gram, hankel_gram
from qrels.sampled_ranks import SampledRanks
from runs import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Candidates = int | Literal["mean", "users"]

STEP = 1.02
"""Users whose numbers of candidates differ by less than this factor share a rounded one."""


@dataclass(frozen=True, eq=False)
class Group:
    """Samples of one size among so many candidates, and what sampling does to a rank there.

    Parameters
    ----------
    nodes
        Where sums over ranks are taken.
    n_irrelevant
        Irrelevant candidates, N.
    n_negatives
        Sampled items, m.
    replace
        Whether an item may be drawn twice.
    """

    nodes: Nodes
    n_irrelevant: int
    n_negatives: int
    replace: bool

    @cached_property
    def table(self) -> Floats:
        """P, of shape (n_nodes, n_negatives + 1)."""
        return self.table_at(self.nodes.above)

    def table_at(self, above: Floats) -> Floats:
        """P at other numbers of candidates above the item."""
        return count_table(
            above,
            n_irrelevant=self.n_irrelevant,
            n_negatives=self.n_negatives,
            replace=self.replace,
        )

    @cached_property
    def weights(self) -> Floats:
        """Ranks that nodes stand for, 0 where there are fewer candidates: (n_nodes,)."""
        return np.where(self.nodes.above <= self.n_irrelevant, self.nodes.weights, 0.0)

    @cached_property
    def uniform(self) -> Floats:
        """The mass of ranks that are equally likely, of shape (n_nodes, 1)."""
        return (self.weights / self.weights.sum())[:, np.newaxis]

    @cached_property
    def unweighted_gram(self) -> Floats:
        """P'P over all ranks."""
        return next(self.grams(self.weights[:, np.newaxis]))

    def grams(self, masses: Floats) -> Iterator[Floats]:
        """Give P'DP for the distribution in each column of ``masses``, (n_nodes, n_sets)."""
        if not self.replace or len(self.nodes) <= self.n_irrelevant:
            yield from (gram(self.table, mass) for mass in masses.T)
            return
        sums = doubled_sums(
            np.minimum(self.nodes.above, self.n_irrelevant),
            n_irrelevant=self.n_irrelevant,
            n_negatives=self.n_negatives,
            masses=masses * (self.weights > 0)[:, np.newaxis],
        )
        yield from (hankel_gram(row) for row in sums)

    def within(self, masses: Floats) -> Floats:
        """Give distributions among the ranks that this group has."""
        inside = masses * (self.weights > 0)[:, np.newaxis]
        return inside / inside.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Tally:
    """How many users are in each cell, for one or more samples.

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
        Users of each sample: (n_samples,).
    places
        Rank estimated from the proposal, for samples drawn from one, 1 + sum(1/q) / m: one per
        cell, or None.
    incidence
        Relevant items of each user in each cell, for one sample: (n_cells, n_users).
    """

    groups: tuple[Group, ...]
    cells: Integers
    counts: Floats
    n_users: Floats
    places: Floats | None
    incidence: csr_array

    @property
    def nodes(self) -> Nodes:
        """Where all groups take their sums over ranks."""
        return self.groups[0].nodes

    @property
    def orders(self) -> tuple[int, ...]:
        """Places j that occur, rising."""
        return tuple(np.unique(self.cells[:, 1]).tolist())

    @property
    def simple(self) -> bool:
        """Whether users have one relevant item and one number of candidates."""
        sizes = {group.n_irrelevant for group in self.groups}
        return len(sizes) == 1 and bool((self.cells[:, 2] == 1).all())

    def shares(self, *, first_only: bool = False) -> list[Floats]:
        """Give the shares of the items in the cells of each group: (n_negatives + 1, n_samples).

        Parameters
        ----------
        first_only
            Count each user's first relevant item alone.
        """
        counted = self.counts * (self.cells[:, 1] == 1)[:, None] if first_only else self.counts
        counted = counted / counted.sum(axis=0)
        return [self._spread(number, counted) for number in range(len(self.groups))]

    def _spread(self, number: int, counted: Floats) -> Floats:
        of_group = self.cells[:, 0] == number
        shares = np.zeros((self.groups[number].n_negatives + 1, counted.shape[1]))
        np.add.at(shares, self.cells[of_group, 3], counted[of_group])
        return shares

    def resampled(self, *, replicates: int, seed: int) -> Tally:
        """Redraw users, as many as there are, again and again: a sample a replicate.

        The draws are those of every other bootstrap over as many users (`analyses.resampling`),
        so that systems and metrics are compared on the same users.
        """
        n_users = self.incidence.shape[1]
        block = max(1, (1 << 22) // n_users)
        counts = np.concatenate(
            [
                self.incidence
                @ resampled_users(
                    start, min(start + block, replicates), n_users=n_users, seed=seed
                ).T
                for start in range(0, replicates, block)
            ],
            axis=1,
        )
        return replace(self, counts=counts, n_users=np.full(replicates, float(n_users)))


def tally(samples: Sequence[SampledRanks], *, n: Candidates, path: str) -> Tally:
    """Count the users in each cell.

    Parameters
    ----------
    samples
        One or more samples of the same users, drawn in the same way.
    n
        Candidates: a number for all users, ``"mean"`` for the mean of the samples, or ``"users"``
        for each user's own, rounded to steps of 2 %.
    path
        ``"grid"`` or ``"full"``: where sums over ranks are taken.

    Raises
    ------
    InputError
        If samples with and without replacement are mixed, or an option is unknown.

    Examples
    --------
    >>> sample = SampledRanks.of([1, 3, 3], n_negatives=9, n_candidates=50)
    >>> counted = tally([sample], n="mean", path="full")
    >>> counted.cells[:, 3].tolist(), counted.counts[:, 0].tolist()
    ([0, 2], [1.0, 2.0])
    """
    if len({sample.replace for sample in samples}) != 1:
        raise InputError("samples drawn with and without replacement cannot be fitted together.")
    sizes = _sizes(samples, n=n)
    codes, shape = _codes(samples, sizes)
    distinct, first, cell_of_row = np.unique(codes, return_index=True, return_inverse=True)
    n_irrelevant, n_negatives, *others = np.unravel_index(distinct, shape)
    pairs, group_of_cell = np.unique(
        np.column_stack([n_irrelevant, n_negatives]), axis=0, return_inverse=True
    )
    sample_of_row = np.repeat(np.arange(len(samples)), [len(sample) for sample in samples])
    n_cells, n_samples = len(distinct), len(samples)
    return Tally(
        groups=_groups(pairs, replace=samples[0].replace, path=path),
        cells=np.column_stack([group_of_cell, *others[:3]]),
        counts=np.bincount(cell_of_row * n_samples + sample_of_row, minlength=n_cells * n_samples)
        .reshape(n_cells, n_samples)
        .astype(np.float64),
        n_users=np.array([float(len(np.unique(sample.users))) for sample in samples]),
        places=_places(samples, first),
        incidence=_incidence(samples[0], cell_of_row, n_cells),
    )


def _sizes(samples: Sequence[SampledRanks], *, n: Candidates) -> list[Integers]:
    """Give the irrelevant candidates that each row of each sample is taken to have."""
    if isinstance(n, int):
        own = [n - sample.n_relevants for sample in samples]
    elif n in ("mean", "users"):
        own = [sample.n_irrelevant for sample in samples]
    else:
        raise InputError(f'`n` must be a number of candidates, "mean" or "users", got {n!r}.')
    if n == "users" and len({size for sizes in own for size in np.unique(sizes).tolist()}) > 1:
        rounded = [STEP ** np.rint(np.log(sizes) / np.log(STEP)) for sizes in own]
    else:
        rounded = [np.full(len(sizes), np.concatenate(own).mean()) for sizes in own]
    return [
        np.maximum(np.rint(sizes), sample.n_negatives).astype(np.int64)
        for sizes, sample in zip(rounded, samples, strict=True)
    ]


def _codes(
    samples: Sequence[SampledRanks], sizes: Sequence[Integers]
) -> tuple[Integers, tuple[int, ...]]:
    """Give a number to each row that equal rows share; rows of a proposal share none."""
    columns = [
        np.concatenate(column)
        for column in (
            sizes,
            [sample.n_negatives for sample in samples],
            [sample.orders for sample in samples],
            [sample.n_relevants for sample in samples],
            [sample.above for sample in samples],
        )
    ]
    if any(sample.inverse_mass_above is not None for sample in samples):
        columns.append(np.arange(len(columns[0])))
    shape = tuple(int(column.max()) + 1 for column in columns)
    return np.ravel_multi_index(columns, shape), shape


def _groups(pairs: Integers, *, replace: bool, path: str) -> tuple[Group, ...]:
    sizes = pairs[:, 0].tolist()
    nodes = nodes_for(sizes, n_negatives=int(pairs[:, 1].max()), replace=replace, path=path)
    return tuple(Group(nodes, size, drawn, replace) for size, drawn in pairs.tolist())


def _places(samples: Sequence[SampledRanks], first: NDArray[np.intp]) -> Floats | None:
    """Estimate ranks from the probabilities of the negatives above: 1 + sum(1 / q) / m."""
    masses = [sample.inverse_mass_above for sample in samples]
    known = [mass for mass in masses if mass is not None]
    if not known:
        return None
    if len(known) < len(masses):
        raise InputError("uniform samples and those of a proposal cannot be fitted together.")
    drawn = np.concatenate([sample.n_negatives for sample in samples])
    orders = np.concatenate([sample.orders for sample in samples])
    return (np.concatenate(known) / drawn + orders)[first]


def _incidence(sample: SampledRanks, cell_of_row: NDArray[np.intp], n_cells: int) -> csr_array:
    users, columns = np.unique(sample.users, return_inverse=True)
    cells = cell_of_row[: len(sample)]
    return csr_array((np.ones(len(sample)), (cells, columns)), shape=(n_cells, len(users)))
