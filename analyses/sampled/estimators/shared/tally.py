"""Samples as counts: how many users are in each cell, all that estimators need to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analyses.intervals.resampling import resampled_users
from analyses.sampled.estimators.shared.nodes import Nodes, nodes_for
from analyses.sampled.estimators.shared.tables import count_table, doubled_sums, gram, hankel_gram
from analyses.sampled.expectation.candidates import in_steps
from analyses.sampled.samples.sampled_ranks import SampledRanks
from runs import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Candidates = int | Literal["mean", "users"]

COLUMNS = ("n_irrelevant", "n_negatives", "orders", "n_relevants", "above")
"""What the rows of a cell share."""

TABLE_SIZE = 1 << 22
"""Possible cells that are counted in a table instead of sorting the rows."""


@dataclass(frozen=True, eq=False)
class Group:
    """Samples of m negatives among N irrelevant candidates, and what sampling does to a rank there.

    Sums over ranks are taken at the nodes.
    """

    nodes: Nodes
    n_irrelevant: int
    n_negatives: int
    replace: bool

    @cached_property
    def table(self) -> Floats:
        """P, of shape (n_nodes, n_negatives + 1)."""
        return count_table(
            self.nodes.above,
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

        Each user's first relevant item may be counted alone.
        """
        counted = self.counts * (self.cells[:, 1] == 1)[:, None] if first_only else self.counts
        counted = counted / counted.sum(axis=0)
        every = [np.zeros((group.n_negatives + 1, counted.shape[1])) for group in self.groups]
        for number, shares in enumerate(every):
            of_group = self.cells[:, 0] == number
            np.add.at(shares, self.cells[of_group, 3], counted[of_group])
        return every

    def resampled(self, *, replicates: int, seed: int) -> Tally:
        """Redraw users, as many as there are, again and again: a sample a replicate.

        The draws are those of every other bootstrap over as many users, so that systems and metrics
        are compared on the same ones (`analyses.intervals.resampling`).
        """
        n_users = self.incidence.shape[1]
        block, counts = max(1, (1 << 22) // n_users), []
        for start in range(0, replicates, block):
            stop = min(start + block, replicates)
            times = resampled_users(start, stop, n_users=n_users, seed=seed)
            counts.append(self.incidence @ times.T)
        return replace(
            self, counts=np.concatenate(counts, axis=1), n_users=np.full(replicates, float(n_users))
        )


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
    known = {name: np.concatenate([getattr(one, name) for one in samples]) for name in COLUMNS}
    columns = [_sizes(known, n=n), *(known[name] for name in COLUMNS[1:])]
    if any(sample.inverse_mass_above is not None for sample in samples):
        # Rows of a proposal share nothing.
        columns.append(np.arange(len(columns[0])))
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
        places=_places(samples, known, first),
        incidence=_incidence(samples[0], cell_of_row, n_cells),
    )


def _sizes(known: Mapping[str, Integers], *, n: Candidates) -> Integers:
    """Give the irrelevant candidates that each row is taken to have."""
    drawn, every = known["n_negatives"], known["n_irrelevant"]
    if isinstance(n, int):
        every, most = n - known["n_relevants"], drawn.max()
        if every.min() < most:
            raise InputError(f"`n` must leave more candidates than the {most} sampled, got {n}.")
    elif n not in ("mean", "users"):
        raise InputError(f'`n` must be a number of candidates, "mean" or "users", got {n!r}.')
    rounded = np.full(len(every), every.mean())
    if n == "users" and every.min() < every.max():
        rounded = in_steps(every)
    # Rounding may not leave fewer candidates than were sampled.
    return np.maximum(np.rint(rounded), drawn).astype(np.int64)


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


def _places(
    samples: Sequence[SampledRanks], known: Mapping[str, Integers], first: NDArray[np.intp]
) -> Floats | None:
    """Estimate ranks from the probabilities of the negatives above: 1 + sum(1 / q) / m."""
    masses = [one.inverse_mass_above for one in samples if one.inverse_mass_above is not None]
    if not masses:
        return None
    if len(masses) < len(samples):
        raise InputError("uniform samples and those of a proposal cannot be fitted together.")
    return (np.concatenate(masses) / known["n_negatives"] + known["orders"])[first]


def _incidence(sample: SampledRanks, cell_of_row: NDArray[np.intp], n_cells: int) -> csr_array:
    users, columns = np.unique(sample.users, return_inverse=True)
    cells = cell_of_row[: len(sample)]
    return csr_array((np.ones(len(sample)), (cells, columns)), shape=(n_cells, len(users)))
