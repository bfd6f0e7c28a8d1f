"""What a sampled metric is on average, and how much it varies, without simulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.rank_pmf import chance_within, sampled_rank_pmf
from qrels import FullRanks

Floats = NDArray[np.float64]

PROBABILITIES_AT_ONCE = 1 << 20
"""Probabilities held at a time: 8 MB, and a few times as much while they are computed."""


class Moments(NamedTuple):
    """Mean and variance over samples, of shape (n_ranks,) or numbers."""

    mean: Floats
    variance: Floats


def exact_metric(metric: str | RankMetric, ranks: FullRanks) -> float:
    """Give the mean over the users of the metric among all candidates.

    Examples
    --------
    >>> exact_metric("AP", FullRanks.of([1, 4], n_candidates=9))
    0.625
    """
    terms = rank_metric(metric).summands(
        ranks.rank, n=ranks.n_candidates, order=ranks.order, n_relevant=ranks.n_relevant
    )
    return float(terms.sum() / len(np.unique(ranks.user)))


def sampled_values(metric: str | RankMetric, *, m: int) -> Floats:
    """Give the metric at each rank of a list of one relevant item and m negatives.

    Returns
    -------
    Of shape (m + 1,): place t - 1 is rank t.

    Examples
    --------
    >>> sampled_values("AP", m=3).round(4)
    array([1.    , 0.5   , 0.3333, 0.25  ])
    """
    return rank_metric(metric)(np.arange(1, m + 2), n=m + 1)


def expected_metric(
    metric: str | RankMetric, ranks: ArrayLike, *, n: ArrayLike, m: int, replace: bool
) -> Floats:
    r"""Give the expected sampled metric of users with one relevant item.

    .. math:: \mathrm{E}[M] = \sum_{t=1}^{m+1} \Pr(t \mid r) M(t)

    AUC is the exact one; P and Recall with a cut-off come from the distribution function; AP and
    RR without a cut-off, with replacement, are
    :math:`(1 - (1-\theta)^{m+1}) / (\theta (m+1))`, :math:`\theta = (r-1)/(n-1)`.

    Parameters
    ----------
    metric
        Such as ``"Recall@10"``; without a cut-off it looks at the m + 1 items of the sample.
    ranks, n, m, replace
        As for :func:`analyses.sampled.expectation.rank_pmf.sampled_rank_pmf`.

    Returns
    -------
    Of shape (n_ranks,).

    Notes
    -----
    Krichene & Rendle (2020), equations 16, 18 and 19.

    Examples
    --------
    Of one negative, half a time above, the reciprocal rank is 1 or 1/2:

    >>> expected_metric("AP", [3], n=5, m=1, replace=True)
    array([0.75])
    """
    read = rank_metric(metric)
    places = np.atleast_1d(np.asarray(ranks, dtype=np.float64))
    if read.name == "AUC":
        return read(places, n=n)
    if read.name in ("P", "Recall") and read.cutoff is not None:
        best = read(1, n=m + 1)
        return np.asarray(best * chance_within(read.cutoff, places, n=n, m=m, replace=replace))
    if read.name in ("AP", "RR") and read.cutoff is None and replace:
        return _expected_reciprocal((places - 1) / (np.asarray(n) - 1), m)
    return sampled_moments(sampled_values(read, m=m), places, n=n, replace=replace).mean


def _expected_reciprocal(chance: Floats, m: int) -> Floats:
    """Give the mean of 1 / (1 + Bin(m, chance))."""
    small = np.where(chance > 0, np.minimum(chance, 1 - 2.0**-53), 0.5)
    reciprocal = -np.expm1((m + 1) * np.log1p(-small)) / (small * (m + 1))
    return np.where(chance > 0, reciprocal, 1.0)


def sampled_moments(values: Floats, ranks: ArrayLike, *, n: ArrayLike, replace: bool) -> Moments:
    r"""Give mean and variance of what one user adds to an estimate, given the user's rank.

    With :math:`e = P v`, these are :math:`e(r)` and :math:`(P v^2)(r) - e(r)^2`.

    Parameters
    ----------
    values
        What each rank in the sample adds, v, of shape (m + 1,): a metric, or a corrected one.
    ranks, n, replace
        As for :func:`analyses.sampled.expectation.rank_pmf.sampled_rank_pmf`.

    Returns
    -------
    Mean and variance, each of shape (n_ranks,).

    Examples
    --------
    >>> moments = sampled_moments(np.array([1.0, 0.0]), [3], n=5, replace=True)
    >>> moments.mean.tolist(), moments.variance.tolist()
    ([0.5], [0.25])
    """
    places = np.atleast_1d(np.asarray(ranks, dtype=np.float64))
    candidates = np.broadcast_to(n, places.shape)
    m = len(values) - 1
    mean, variance = np.empty(len(places)), np.empty(len(places))
    for block in blocks_of_rows(len(places), m + 1):
        pmf = sampled_rank_pmf(places[block], n=candidates[block], m=m, replace=replace)
        mean[block] = (pmf * values).sum(axis=1)
        # About the mean, so that nothing cancels.
        variance[block] = (pmf * (values - mean[block, np.newaxis]) ** 2).sum(axis=1)
    return Moments(mean, variance)


def blocks_of_rows(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut rows so that as many probabilities as are held at a time are in a block.

    Examples
    --------
    >>> list(blocks_of_rows(3, 1 << 19))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    size = max(1, PROBABILITIES_AT_ONCE // n_columns)
    return (slice(start, start + size) for start in range(0, n_rows, size))


def estimate_moments(values: Floats, ranks: ArrayLike, *, n: ArrayLike, replace: bool) -> Moments:
    r"""Give mean and variance of a linear estimate over samples, the true ranks fixed.

    The estimate is the mean of v(t) over U users; its moments are
    :math:`\frac{1}{U} \sum_u e(r_u)` and
    :math:`\frac{1}{U^2} \sum_u \left[(P v^2)(r_u) - e(r_u)^2\right]`.

    Parameters
    ----------
    values, ranks, n, replace
        As for :func:`sampled_moments`; each user has one rank.

    Returns
    -------
    Mean and variance, numbers.

    Examples
    --------
    >>> moments = estimate_moments(np.array([1.0, 0.0]), [3, 3], n=5, replace=True)
    >>> float(moments.mean), float(moments.variance)
    (0.5, 0.125)
    """
    places = np.atleast_1d(np.asarray(ranks, dtype=np.float64))
    if np.ndim(n) > 0:
        each = sampled_moments(values, places, n=n, replace=replace)
        return Moments(each.mean.mean(), each.variance.mean() / len(places))
    distinct, counts = np.unique(places, return_counts=True)
    each = sampled_moments(values, distinct, n=n, replace=replace)
    shares = counts / len(places)
    variance = (shares * each.variance).sum() / len(places)
    return Moments((shares * each.mean).sum(), variance)
