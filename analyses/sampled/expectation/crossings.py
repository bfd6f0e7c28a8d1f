"""Where the order of systems changes with the size of the sample, found exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.rank_pmf import expected_counts
from qrels import FullRanks
from runs import InputError

Floats = NDArray[np.float64]
Ordering = tuple[tuple[str, ...], ...]
"""Systems from best to worst; those of equal values are in one group, by name."""

DECIMALS = 12
"""Expected values are compared after rounding to so many decimals."""


@dataclass(frozen=True, eq=False)
class Consistency:
    """Expected sampled metrics of systems for every number of negatives, and their orderings.

    Values are rounded to 1e-12: expected ones for 1, 2, .. negatives, (n_systems, n_sizes), and
    exact ones among all candidates, (n_systems,).
    """

    metric: RankMetric
    systems: tuple[str, ...]
    values: Floats
    exact: Floats
    replace: bool

    @cached_property
    def orderings(self) -> tuple[tuple[int, Ordering], ...]:
        """The orderings met from one negative on, each with the number at which it starts."""
        return tuple((place + 1, ordering) for place, ordering in met(self.systems, self.values))

    @property
    def exact_ordering(self) -> Ordering:
        """The ordering among all candidates."""
        return ordering_of(self.systems, self.exact)

    @property
    def settled(self) -> int | None:
        """Number of negatives from which the ordering stays the exact one; None if it never is."""
        start, ordering = self.orderings[-1]
        return start if ordering == self.exact_ordering else None

    def caption(self) -> str:
        """Say what is shown."""
        how = "with" if self.replace else "without"
        met = "; ".join(
            f"{print_ordering(ordering)} from m = {start:,}" for start, ordering in self.orderings
        )
        return (
            f"Expected {self.metric} among m sampled negatives, drawn {how} replacement. "
            f"Orderings: {met}. Among all candidates: {print_ordering(self.exact_ordering)}."
        )


def ordering_of(systems: tuple[str, ...], values: Floats) -> Ordering:
    """Order systems by their values, highest first.

    Examples
    --------
    >>> ordering_of(("A", "B", "C"), np.array([0.2, 0.5, 0.2]))
    (('B',), ('A', 'C'))
    """
    distinct = np.unique(values)[::-1]
    return tuple(
        tuple(name for name, own in zip(systems, values, strict=True) if own == value)
        for value in distinct
    )


def met(systems: tuple[str, ...], values: Floats) -> Iterator[tuple[int, Ordering]]:
    """Give the orderings along the last axis of values, each with the place at which it starts."""
    signs = np.sign(values[:, np.newaxis] - values)
    changes = (signs[:, :, 1:] != signs[:, :, :-1]).any(axis=(0, 1))
    for start in (0, *(np.flatnonzero(changes) + 1).tolist()):
        yield start, ordering_of(systems, values[:, start])


def print_ordering(ordering: Ordering) -> str:
    """Write an ordering.

    Examples
    --------
    >>> print_ordering((("B",), ("A", "C")))
    'B > A = C'
    """
    return " > ".join(" = ".join(group) for group in ordering)


def consistency_crossings(
    systems: Mapping[str, FullRanks],
    metric: str | RankMetric,
    *,
    negatives: int | None = None,
    replace: bool = True,
) -> Consistency:
    """Find the orderings of systems by expected sampled metric, for every number of negatives.

    Every number is looked at up to the largest, by default all that every user has: the orderings
    need not come and go in turn. Systems are full ranks of the same users and relevant items.

    Notes
    -----
    Consistency is that of Krichene & Rendle (2020). The distribution of the rank in the sample,
    over all users, is carried from m to m - 1 negatives, in a time that grows with the square of
    the largest m and hardly with the users.

    Examples
    --------
    Rank 3 of 5 twice, or ranks 1 and 5: one negative cannot tell them apart.

    >>> systems = {
    ...     "steady": FullRanks.of([3, 3], n_candidates=5),
    ...     "lucky": FullRanks.of([1, 5], n_candidates=5),
    ... }
    >>> found = consistency_crossings(systems, "AP", replace=False)
    >>> [(m, print_ordering(ordering)) for m, ordering in found.orderings]
    [(1, 'lucky = steady'), (2, 'lucky > steady')]
    """
    read = rank_metric(metric)
    refuse_whole_precision(read)
    ranks = dict(sorted(systems.items()))
    available = int(first_of(ranks).n_irrelevant.min())
    largest = available if negatives is None else negatives
    if not 1 <= largest <= available:
        raise InputError(
            f"`negatives` must be from 1 to the irrelevant candidates, {available}, "
            f"got {negatives}."
        )
    values = np.array([_expected(read, some, largest, replace=replace) for some in ranks.values()])
    exact = np.array([read.exact(some) for some in ranks.values()])
    return Consistency(
        read, tuple(ranks), np.round(values, DECIMALS), np.round(exact, DECIMALS), replace
    )


def refuse_whole_precision(metric: RankMetric) -> None:
    """Refuse a metric that tells no systems apart: P without a cut-off."""
    if metric.name == "P" and metric.cutoff is None:
        raise InputError("P of a whole list is the same for all systems: give a cut-off, as P@10.")


def first_of(systems: Mapping[str, FullRanks]) -> FullRanks:
    """Give the ranks of the first system, whose users and candidates are those of all others."""
    if not systems:
        raise InputError("there must be at least one system.")
    (known, first), *others = systems.items()
    for name, ranks in others:
        for what, of in (("users", "user"), ("numbers of candidates", "n_candidates")):
            own, other = (getattr(each, of)[each.by_user] for each in (first, ranks))
            if not np.array_equal(own, other):
                raise InputError(f"systems {known!r} and {name!r} have different {what}.")
    if not len(first):
        raise InputError("the systems have no ranks.")
    return first


def _expected(metric: RankMetric, ranks: FullRanks, largest: int, *, replace: bool) -> Floats:
    """Give the expected metric of one system for 1 to ``largest`` negatives."""
    if metric.name == "AUC":
        return np.full(largest, metric.exact(ranks))
    total, places = np.zeros(largest), np.arange(largest + 1)
    columns = np.column_stack([ranks.order, ranks.n_relevant])
    kinds, kind_of = np.unique(columns, axis=0, return_inverse=True)
    shares = expected_counts(ranks, kind_of.ravel(), m=largest, replace=replace)
    for (order, q), own in zip(kinds.tolist(), shares, strict=True):
        values = metric.summands(places + order, n=largest + q, order=order, n_relevant=q)
        total += _thinned(own, values)
    return np.asarray(total / len(np.unique(ranks.user)))


def _thinned(shares: Floats, values: Floats) -> Floats:
    r"""Give the mean of the values for 1, 2, .. m negatives.

    Taking one of m negatives away at random leaves a sample of m - 1, whichever way they were
    drawn and whatever the true ranks, so that

    .. math:: c_{m-1}(x) = \frac{m - x}{m} c_m(x) + \frac{x + 1}{m} c_m(x + 1)

    carries all users down at once, and as no term is negative, nothing cancels. Shares c are users
    below x of m negatives, and values what each of them adds, both of shape (m + 1,).

    Examples
    --------
    One above of two negatives is one above of one in half of the cases:

    >>> _thinned(np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    array([0.5, 0. ])
    """
    largest = len(values) - 1
    above, below = np.arange(largest + 1.0), np.arange(largest, -1.0, -1.0)
    means, product, other = np.empty(largest), np.empty(largest + 1), np.empty(largest)
    for m in range(largest, 0, -1):
        means[m - 1] = np.multiply(shares, values[: m + 1], out=product[: m + 1]).sum()
        kept = np.multiply(shares[:-1], below[largest - m : largest], out=product[:m])
        kept += np.multiply(shares[1:], above[1 : m + 1], out=other[:m])
        shares = kept / m
    return means
