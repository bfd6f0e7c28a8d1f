"""What users add to an estimate: exact means, and variances of those with one relevant item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.candidates import nearest_size
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.rank_pmf import sampled_rank_pmf
from analyses.sampled.samples.from_full_ranks import require_negatives
from qrels import FullRanks
from runs import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ENTRIES = 1 << 20
"""Probabilities held at a time: 8 MB, and a few times as much while they are computed."""


class Moments(NamedTuple):
    """Mean and variance over samples, of one shape."""

    mean: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class Addends:
    r"""What relevant items add to metrics when so many sampled negatives are above them.

    A user with relevant items 1 to q adds :math:`\sum_j f_j(x_j)`, where :math:`x_j` of m sampled
    negatives are above item j. Means need only the distribution of each :math:`x_j`.

    Values are :math:`f_j(x)` of users with as many relevant items as the place j says, of shape
    (n_sizes, n_orders, m + 1, n_metrics); places are 1, 2, ... Sizes are irrelevant candidates that
    users are scored for, rising, (n_sizes,): each user for the nearest.
    """

    metrics: tuple[RankMetric, ...]
    values: Floats
    sizes: Integers
    replace: bool

    @classmethod
    def of_metrics(
        cls, metrics: Sequence[str | RankMetric], *, m: int, n_orders: int, replace: bool
    ) -> Addends:
        """Take the sampled metrics themselves, of users with up to so many relevant items."""
        read = tuple(rank_metric(metric) for metric in metrics)
        order, x = np.arange(1, n_orders + 1)[:, np.newaxis], np.arange(m + 1)
        values = [
            one.summands(x + order, n=m + order, order=order, n_relevant=order) for one in read
        ]
        return cls(read, np.stack(values, axis=-1)[np.newaxis], np.array([m]), replace)

    @property
    def negatives(self) -> int:
        """Sampled negatives, m."""
        return self.values.shape[2] - 1

    def means(self, ranks: FullRanks) -> Floats:
        """Expect what each user adds, by rising number of the user: (n_users, n_metrics).

        Raises
        ------
        InputError
            If some user has fewer irrelevant candidates than are sampled, or more relevant items
            than there are values for.
        """
        kinds, factors, above, others, ends = self._rows(ranks)
        each = factors * self._expected(self._of_kinds, kinds, above, others)
        return np.add.reduceat(each, ends[:-1], axis=0)

    def moments(self, ranks: FullRanks) -> Moments:
        """Give mean and variance of what each user, with one relevant item, adds.

        Raises
        ------
        InputError
            As for :meth:`means`, and if a user has several relevant items: what they add hangs
            together.

        Examples
        --------
        One of two irrelevant candidates is sampled, above the relevant item or below:

        >>> addends = Addends.of_metrics(["AP"], m=1, n_orders=1, replace=False)
        >>> mean, variance = addends.moments(FullRanks.of([2], n_candidates=3))
        >>> mean, variance
        (array([[0.75]]), array([[0.0625]]))
        """
        kinds, factors, above, others, _ = self._rows(ranks)
        if (ranks.n_relevant > 1).any():
            raise InputError("variances are of users with one relevant item each.")
        mean, square = (
            self._expected(of, kinds, above, others) for of in (self._of_kinds, self._of_kinds**2)
        )
        return Moments(factors * mean, factors**2 * np.maximum(square - mean**2, 0.0))

    def _expected(
        self, values: Floats, kinds: Integers, above: Integers, others: Integers
    ) -> Floats:
        """Expect the values, by kind, of each row: (n_rows, n_metrics)."""
        rows = np.column_stack([kinds, above, others])
        distinct, place = np.unique(rows, axis=0, return_inverse=True)
        expected, step = np.empty((len(distinct), values.shape[2])), ENTRIES // values.shape[1] + 1
        for kind in np.unique(kinds):
            own = np.flatnonzero(distinct[:, 0] == kind)
            for some in np.split(own, range(step, len(own), step)):
                pmf = sampled_rank_pmf(
                    distinct[some, 1] + 1,
                    n=distinct[some, 2] + 1,
                    m=self.negatives,
                    replace=self.replace,
                )
                expected[some] = pmf @ values[kind] / pmf.sum(axis=1)[:, np.newaxis]
        return expected[place.ravel()]

    @property
    def _of_kinds(self) -> Floats:
        """Values by size and order as one axis: (n_kinds, m + 1, n_metrics)."""
        return self.values.reshape(-1, *self.values.shape[2:])

    def _rows(self, ranks: FullRanks) -> tuple[Any, ...]:
        """Check and give the rows, user by user.

        These are which values they have, what their numbers of relevant items change, irrelevant
        candidates above and in all, and the first row of each user with their number.
        """
        require_negatives(self.negatives, ranks.n_irrelevant)
        rows = ranks.by_user
        order, n_relevant = ranks.order[rows], ranks.n_relevant[rows]
        if n_relevant.max(initial=0) > self.values.shape[1]:
            raise InputError(
                f"values are for users with up to {self.values.shape[1]} relevant items, and one "
                f"has {n_relevant.max()}."
            )
        above, others = ranks.above[rows], ranks.n_irrelevant[rows]
        size = nearest_size(self.sizes, others)
        factors = [
            metric.rescaling(order, n_relevant, n_irrelevant=self.sizes[size])
            for metric in self.metrics
        ]
        kinds = size * self.values.shape[1] + order - 1
        ends = np.flatnonzero(np.diff(ranks.user[rows], prepend=-1, append=-1))
        return kinds, np.stack(factors, axis=1), above, others, ends


def moments_of_mean(users: Moments) -> Moments:
    """Give mean and variance of the mean over users, the first axis, sampled independently.

    Examples
    --------
    >>> moments = moments_of_mean(Moments(np.array([0.5, 0.0]), np.array([0.25, 0.25])))
    >>> float(moments.mean), float(moments.variance)
    (0.25, 0.125)
    """
    return Moments(users.mean.mean(axis=0), users.variance.mean(axis=0) / len(users.mean))
