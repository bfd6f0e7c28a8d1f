"""How likely each rank in the sample is, given the rank among all candidates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlog1py, xlogy

from analyses.sampled.samples.designs import require_negatives
from qrels import FullRanks
from runs import InputError

Floats = NDArray[np.float64]

AT_ONCE = 1 << 20
"""Probabilities held at a time: 8 MB, and a few times as much while they are computed."""


def sampled_rank_pmf(ranks: ArrayLike, *, n: ArrayLike, m: int, replace: bool) -> Floats:
    r"""Give the distribution of the rank among m sampled negatives.

    .. math:: t - 1 \sim \mathrm{Bin}\left(m, \frac{r-1}{n-1}\right) \quad \text{or} \quad
              t - 1 \sim \mathrm{Hyp}(n - 1, r - 1, m)

    with and without replacement, for ranks r from 1 to n, (n_ranks,), which may lie between whole
    numbers, among one number of candidates n, or one for each rank, the relevant item among them.

    Probabilities are of shape (n_ranks, m + 1): column t - 1 is rank t in the sample.

    Notes
    -----
    Krichene & Rendle (2020), sections 4.3 and 4.4. Through logarithms of the gamma function;
    absolute errors are about 1e-11.

    Examples
    --------
    Rank 3 of 5, two negatives of which each is above with chance 1/2:

    >>> sampled_rank_pmf([3], n=5, m=2, replace=True).round(4)
    array([[0.25, 0.5 , 0.25]])
    >>> sampled_rank_pmf([3], n=5, m=2, replace=False).round(4)
    array([[0.1667, 0.6667, 0.1667]])
    """
    above = np.atleast_1d(np.asarray(ranks, dtype=np.float64))[:, np.newaxis] - 1
    others = np.broadcast_to(np.asarray(n, dtype=np.float64), above.shape[:1])[:, np.newaxis] - 1
    sampled = np.arange(m + 1.0)
    if replace:
        return _binomial(sampled, m, above / others)
    return _hypergeometric(sampled, m, above, others)


def _binomial(x: Floats, m: int, chance: Floats) -> Floats:
    ways = _log_choices(m, x)
    probabilities: Floats = np.exp(ways + xlogy(x, chance) + xlog1py(m - x, -chance))
    return probabilities


def _hypergeometric(x: Floats, m: int, above: Floats, others: Floats) -> Floats:
    below = others - above
    possible = (x <= above) & (m - x <= below)
    # Outside the support the gamma function may be huge, so put a harmless place there.
    inside, outside = np.where(possible, x, 0.0), np.where(possible, m - x, 0.0)
    logarithm = _log_choices(above, inside) + _log_choices(below, outside)
    logarithm = logarithm - _log_choices(others, m)
    return np.exp(logarithm, out=np.zeros(possible.shape), where=possible)


def _log_choices(n: Floats | int, k: Floats | int) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def expected_counts(
    ranks: FullRanks, kinds: NDArray[np.integer], *, m: int, replace: bool
) -> Floats:
    """Expect how many items have 0, 1, .. m sampled negatives above them: (n_kinds, m + 1).

    Kinds number from 0 what the items, rows of the ranks, are counted with.
    """
    filled = np.zeros((int(kinds.max()) + 1, m + 1))
    for rows, pmf in _tables(ranks, kinds, m=m, replace=replace):
        np.add.at(filled, rows[:, 0], pmf * rows[:, 3:])
    return filled


def _tables(
    ranks: FullRanks, kinds: NDArray[np.integer], *, m: int, replace: bool
) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Give distinct kinds, above, others and how many, and their chances; some at a time."""
    require_negatives(m, ranks.n_irrelevant)
    columns = np.column_stack([kinds, ranks.above, ranks.n_irrelevant])
    distinct, counts = np.unique(columns, axis=0, return_counts=True)
    rows, step = np.column_stack([distinct, counts]), max(1, AT_ONCE // (m + 1))
    for some in np.split(rows, range(step, len(rows), step)):
        pmf = sampled_rank_pmf(some[:, 1] + 1, n=some[:, 2] + 1, m=m, replace=replace)
        yield some, pmf / pmf.sum(axis=1)[:, np.newaxis]


def moments(ranks: FullRanks, values: Floats, *, replace: bool) -> tuple[Floats, Floats]:
    r"""Give mean and variance over samples of means over users with one relevant item each.

    Each adds the values, (m + 1, n_metrics), at the number of negatives above the item; so with
    :math:`e = P v` they are :math:`\frac1U \sum_u e(r_u)` and
    :math:`\frac1{U^2} \sum_u [(P v^2)(r_u) - e(r_u)^2]`, of shape (n_metrics,).

    What several relevant items of a user add hangs together, and is refused.

    Examples
    --------
    One of two irrelevant candidates is sampled, above the relevant item or below:

    >>> ranks = FullRanks.of([2], n_candidates=3)
    >>> moments(ranks, np.array([[1.0], [0.5]]), replace=False)
    (array([0.75]), array([0.0625]))
    """
    if (ranks.n_relevant > 1).any():
        raise InputError("variances are of users with one relevant item each.")
    n_users, mean, variance = len(ranks), np.zeros(values.shape[1]), np.zeros(values.shape[1])
    alike = np.zeros(n_users, dtype=np.int64)
    for rows, pmf in _tables(ranks, alike, m=len(values) - 1, replace=replace):
        means = pmf @ values
        mean += rows[:, 3] @ means
        variance += rows[:, 3] @ np.maximum(pmf @ values**2 - means**2, 0.0)
    return mean / n_users, variance / n_users**2
