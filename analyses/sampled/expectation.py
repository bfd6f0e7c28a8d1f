"""What sampled metrics and estimates are expected to be, without simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators import Estimator
from analyses.sampled.metrics import RankMetric
from analyses.sampled.rank_distribution import Cells, distinct_ranks, expected_counts
from analyses.sampled.samples import SampledRanks
from qrels import FullRanks
from runs import InputError

Floats = NDArray[np.float64]
Ordering = tuple[tuple[str, ...], ...]
"""Systems from best to worst; those of equal values are in one group, by name."""

DECIMALS = 12
"""Expected values are compared after rounding to so many decimals."""


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


def moments(ranks: FullRanks, values: Floats, *, replace: bool) -> tuple[Floats, Floats]:
    r"""Give mean and variance over samples of means over users with one relevant item each.

    Each user adds the value, of (m + 1, n_metrics), at the number of negatives above the item; with
    :math:`e = P v` they are :math:`\frac1U \sum_u e(r_u)` and
    :math:`\frac1{U^2} \sum_u [(P v^2)(r_u) - e(r_u)^2]`, of shape (n_metrics,).

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
    for rows, pmf in distinct_ranks(ranks, alike, m=len(values) - 1, replace=replace):
        means = pmf @ values
        mean += rows[:, 3] @ means
        variance += rows[:, 3] @ np.maximum(pmf @ values**2 - means**2, 0.0)
    return mean / n_users, variance / n_users**2


def empty_cells(ranks: FullRanks, m: int, *, replace: bool, path: str) -> Cells:
    """Count a sample of these users in which nothing is above."""
    negatives = np.full(len(ranks), m)
    sample = SampledRanks(
        ranks.order, ranks.n_candidates, ranks.user, n_negatives=negatives, replace=replace
    )
    return Cells.of([sample], path=path)


def expected_estimates(
    estimator: Estimator,
    ranks: FullRanks,
    metrics: Sequence[RankMetric],
    *,
    empty: Cells,
    filled: Callable[[], Cells],
) -> tuple[Floats, Floats]:
    """Give expected estimates and their variance over samples: (n_metrics,) each.

    Without several relevant items or a learned prior they are exact. Others are what estimates
    converge to with more and more users, of unknown variance (NaN): a pooled prior is learned from
    samples as they are expected.

    Parameters
    ----------
    empty, filled
        Cells of one size, empty and as samples of these ranks are expected to fill them.
    """
    if estimator.is_linear and estimator.prior in ("", "uniform") and empty.has_single_items:
        values = estimator.fit_cells(empty).corrected(metrics)
        return moments(ranks, values, replace=empty.kernels[0].replace)
    own = estimator.with_prior(estimator.prior.removeprefix("pooled:"))
    found = own.fit_cells(filled(), true=ranks).estimates(metrics)[0]
    return found, np.full(len(metrics), np.nan)


def expected_by_size(
    metric: RankMetric, ranks: FullRanks, *, replace: bool, largest: int | None = None
) -> Floats:
    r"""Give the expected sampled metric for 1, 2, ... negatives, by default up to all: (n_sizes,).

    Leaving out one of m negatives at random gives a sample of m - 1, so that

    .. math:: c_{m-1}(x) = \frac{m - x}{m} c_m(x) + \frac{x + 1}{m} c_m(x + 1)

    leads from the shares c of items with x negatives above to those of all smaller samples. No term
    is negative, so nothing cancels.

    Examples
    --------
    >>> ranks = FullRanks.of([1, 5], n_candidates=5)
    >>> expected_by_size(RankMetric("AP"), ranks, replace=False).round(4)
    array([0.75  , 0.6667, 0.625 , 0.6   ])
    """
    largest = int(ranks.n_irrelevant.min()) if largest is None else largest
    if metric.name == "AUC":
        return np.full(largest, metric.exact(ranks))  # unbiased from any sample
    total, places = np.zeros(largest), np.arange(largest + 1)
    columns = np.column_stack([ranks.order, ranks.n_relevant])
    kinds, kind_of = np.unique(columns, axis=0, return_inverse=True)
    counts = expected_counts(ranks, kind_of.ravel(), m=largest, replace=replace)
    above, below = np.arange(largest + 1.0), np.arange(largest, -1.0, -1.0)
    product, other = np.empty(largest + 1), np.empty(largest)
    for (order, q), shares in zip(kinds.tolist(), counts, strict=True):
        asked = {"order": order, "n_relevant": q}
        values = metric.summands(places + order, n=largest + q, **asked)
        for m in range(largest, 0, -1):
            total[m - 1] += np.multiply(shares, values[: m + 1], out=product[: m + 1]).sum()
            kept = np.multiply(shares[:-1], below[largest - m : largest], out=product[:m])
            kept += np.multiply(shares[1:], above[1 : m + 1], out=other[:m])
            shares = kept / m
    return np.asarray(total / len(np.unique(ranks.user)))


def ordering_of(systems: Sequence[str], values: Floats) -> Ordering:
    """Order systems by their values, highest first."""
    return tuple(
        tuple(name for name, own in zip(systems, values, strict=True) if own == value)
        for value in np.unique(values)[::-1]
    )


def orderings(systems: Sequence[str], values: Floats) -> list[tuple[int, Ordering]]:
    """Give the orderings along sizes, each with the place at which it starts.

    Values are of shape (n_systems, n_sizes), and are rounded before they are compared.
    """
    values = np.round(values, DECIMALS)
    signs = np.sign(values[:, np.newaxis] - values)
    changes = (signs[:, :, 1:] != signs[:, :, :-1]).any(axis=(0, 1))
    starts = (0, *(np.flatnonzero(changes) + 1).tolist())
    return [(start, ordering_of(systems, values[:, start])) for start in starts]


def print_ordering(ordering: Ordering) -> str:
    """Write an ordering as ``B > A = C``."""
    return " > ".join(" = ".join(group) for group in ordering)
