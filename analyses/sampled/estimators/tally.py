"""Samples as counts: how many users are in each cell, all that estimators need to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analyses.intervals.resampling import resampled_users
from analyses.sampled.estimators.nodes import Nodes, nodes_for
from analyses.sampled.estimators.tables import count_table, doubled_sums, gram, hankel_gram
from analyses.sampled.expectation.candidates import in_steps
from analyses.sampled.samples.sampled_ranks import SampledRanks
from runs import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Candidates = int | Literal["mean", "users"]

TABLE_SIZE = 1 << 22
"""Possible cells that are counted in a table instead of sorting the rows."""


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

        The draws are those of every other bootstrap over as many users
        (`analyses.intervals.resampling`),
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
        If samples with and without replacement, or of a proposal and not, are mixed, or `n` is
        unknown or too small.

    Examples
    --------
    >>> sample = SampledRanks.of([1, 3, 3], n_negatives=9, n_candidates=50)
    >>> counted = tally([sample], n="mean", path="full")
    >>> counted.cells[:, 3].tolist(), counted.counts[:, 0].tolist()
    ([0, 2], [1.0, 2.0])
    """
    if len({sample.replace for sample in samples}) != 1:
        raise InputError("samples drawn with and without replacement cannot be fitted together.")
    columns = _columns(samples, _sizes(samples, n=n))
    lowest = [int(column.min()) for column in columns]
    shape = tuple(int(column.max()) - low + 1 for column, low in zip(columns, lowest, strict=True))
    codes = np.ravel_multi_index(
        [column - low for column, low in zip(columns, lowest, strict=True)], shape
    )
    distinct, first, cell_of_row = _distinct(codes, n_codes=prod(shape))
    cells = np.column_stack([column[first] for column in columns])
    pairs, group_of_cell = np.unique(cells[:, :2], axis=0, return_inverse=True)
    sample_of_row = np.repeat(np.arange(len(samples)), [len(sample) for sample in samples])
    n_cells, n_samples = len(distinct), len(samples)
    return Tally(
        groups=_groups(pairs, replace=samples[0].replace, path=path),
        cells=np.column_stack([group_of_cell, cells[:, 2:5]]),
        counts=np.bincount(cell_of_row * n_samples + sample_of_row, minlength=n_cells * n_samples)
        .reshape(n_cells, n_samples)
        .astype(np.float64),
        n_users=np.array([_n_users(sample) for sample in samples]),
        places=_places(samples, first),
        incidence=_incidence(samples[0], cell_of_row, n_cells),
    )


def _sizes(samples: Sequence[SampledRanks], *, n: Candidates) -> Integers:
    """Give the irrelevant candidates that each row is taken to have."""
    if isinstance(n, int):
        own = [n - sample.n_relevants for sample in samples]
        most = max(int(sample.n_negatives.max()) for sample in samples)
        if min(int(sizes.min()) for sizes in own) < most:
            raise InputError(f"`n` must leave more candidates than the {most} sampled, got {n}.")
    elif n in ("mean", "users"):
        own = [sample.n_irrelevant for sample in samples]
    else:
        raise InputError(f'`n` must be a number of candidates, "mean" or "users", got {n!r}.')
    every = np.concatenate(own)
    rounded = np.full(len(every), every.mean())
    if n == "users" and every.min() < every.max():
        rounded = in_steps(every)
    # Rounding may not leave fewer candidates than were sampled.
    drawn = np.concatenate([sample.n_negatives for sample in samples])
    return np.maximum(np.rint(rounded), drawn).astype(np.int64)


def _columns(samples: Sequence[SampledRanks], sizes: Integers) -> list[Integers]:
    """Give what the rows of a cell share; rows of a proposal share nothing."""
    columns = [
        sizes,
        np.concatenate([sample.n_negatives for sample in samples]),
        np.concatenate([sample.orders for sample in samples]),
        np.concatenate([sample.n_relevants for sample in samples]),
        np.concatenate([sample.above for sample in samples]),
    ]
    if any(sample.inverse_mass_above is not None for sample in samples):
        columns.append(np.arange(len(sizes)))
    return columns


def _distinct(
    codes: NDArray[np.intp], *, n_codes: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Give the distinct codes, rising, a row of each, and the place of each row's code.

    Examples
    --------
    >>> [found.tolist() for found in _distinct(np.array([7, 2, 7]), n_codes=9)]
    [[2, 7], [1, 0], [1, 0, 1]]
    """
    if n_codes > TABLE_SIZE:
        return np.unique(codes, return_index=True, return_inverse=True)
    present = np.bincount(codes, minlength=n_codes) > 0
    distinct, places = np.flatnonzero(present), (present.cumsum() - 1)[codes]
    first = np.empty(len(distinct), dtype=np.intp)
    first[places[::-1]] = np.arange(len(codes))[::-1]
    return distinct, first, places


def _n_users(sample: SampledRanks) -> float:
    return float(len(sample) if sample.user is None else len(np.unique(sample.user)))


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
