"""What users add to an estimate: exact means and variances, with several relevant items each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.candidates import nearest_size
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.samples.from_full_ranks import require_negatives
from qrels import FullRanks
from runs import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Moments(NamedTuple):
    """Mean and variance over samples, of one shape."""

    mean: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class Addends:
    r"""What relevant items add to metrics when so many sampled negatives are above them.

    A user with relevant items 1 to q adds :math:`\sum_j f_j(x_j)`, where :math:`x_j` of m sampled
    negatives are above item j. With :math:`a_j` of N irrelevant candidates above that item,

    .. math:: x_{j+1} - x_j \sim \mathrm{Bin}\left(m - x_j,
        \frac{a_{j+1} - a_j}{N - a_j}\right) \quad\text{or}\quad
        \mathrm{Hyp}(N - a_j,\; a_{j+1} - a_j,\; m - x_j)

    with and without replacement, whatever :math:`x_1, \ldots, x_{j-1}` were. Means need only the
    distribution of each :math:`x_j`; variances need how they hang together. Both are exact but for
    rounding, relative to the values: chances below 1e-20 are left out.

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
        from analyses.sampled.expectation.user_moments_loop import row_means

        kinds, factors, above, others, ends = self._rows(ranks)
        each = factors * row_means(self._of_kinds, kinds, above, others, self.replace)
        return np.add.reduceat(each, ends[:-1], axis=0)

    def moments(self, ranks: FullRanks) -> Moments:
        """Give mean and variance of what each user adds, as :meth:`means` does.

        Examples
        --------
        One of two irrelevant candidates is sampled, above the second relevant item or below:

        >>> ranks = FullRanks.of([1, 3], n_candidates=4, user=[0, 0])
        >>> addends = Addends.of_metrics(["AP"], m=1, n_orders=2, replace=False)
        >>> mean, variance = addends.moments(ranks)
        >>> mean.round(6), variance.round(6)  # 1 or (1 + 2/3) / 2
        (array([[0.916667]]), array([[0.006944]]))
        """
        from analyses.sampled.expectation.user_moments_loop import user_moments

        kinds, factors, above, others, ends = self._rows(ranks)
        return Moments(
            *user_moments(self._of_kinds, kinds, factors, above, others, ends, self.replace)
        )

    @property
    def _of_kinds(self) -> Floats:
        """Values by size and order as one axis: (n_kinds, m + 1, n_metrics)."""
        return np.ascontiguousarray(self.values.reshape(-1, *self.values.shape[2:]))

    def _rows(self, ranks: FullRanks) -> tuple[Any, ...]:
        """Check and give the rows, user by user, as the compiled walk takes them.

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
