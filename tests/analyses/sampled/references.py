"""What is expected of samples, one user or size after the other."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.sampled.estimators import Fits, uncorrected
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.expectation.rank_pmf import sampled_rank_pmf
from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels import FullRanks

Floats = NDArray[np.float64]


def mean_adaptive_size(ranks: ArrayLike, *, n_candidates: int, n0: int, n_max: int) -> Floats:
    """Sizes of adaptive samples that are expected of users; Li et al. (2023), Algorithm 1."""
    below = 1 - (np.asarray(ranks, dtype=float) - 1) / (n_candidates - 1)
    mean, size = np.full(below.shape, float(n0)), n0
    while size < n_max:
        mean += size * below ** (size - 1)
        size *= 2
    return mean


def cost_per_size(sizes: NDArray[np.int64], *, n0: int, n_max: int) -> dict[int, float]:
    """Scores computed for each user whose sample ends at a size; Li et al. (2023), eq. 13."""
    costs: dict[int, float] = {}
    size, added = n0, n0
    while size < n_max:
        n_ended = int((sizes == size).sum())
        costs[size] = (sizes >= size).sum() * added / n_ended if n_ended else float("inf")
        size, added = 2 * size, size
    return costs


def expected_summands(name: str, ranks: FullRanks, *, m: int, replace: bool) -> Floats:
    """What each relevant item is expected to add to the sampled metric of its user."""
    order, q = ranks.order[:, np.newaxis], ranks.n_relevant[:, np.newaxis]
    pmf = sampled_rank_pmf(ranks.above + 1, n=ranks.n_irrelevant + 1, m=m, replace=replace)
    places = np.arange(m + 1) + order
    terms = rank_metric(name).summands(places, n=m + q, order=order, n_relevant=q)
    return np.asarray((pmf * terms).sum(axis=1))


def expected_of_users(name: str, ranks: FullRanks, *, m: int, replace: bool) -> Floats:
    """Expected sampled metric of each user, by rising number."""
    _, group = np.unique(ranks.user, return_inverse=True)
    terms = expected_summands(name, ranks, m=m, replace=replace)
    return np.asarray(np.bincount(group, terms), dtype=np.float64)


def moments_of_one_item(
    values: Floats, ranks: ArrayLike, *, n: int, replace: bool
) -> tuple[Floats, Floats]:
    """Mean and variance of what users with one relevant item add, of the values at each rank."""
    pmf = sampled_rank_pmf(ranks, n=n, m=len(values) - 1, replace=replace)
    mean = (pmf * values).sum(axis=1)
    return mean, (pmf * (values - mean[:, np.newaxis]) ** 2).sum(axis=1)


def expected_of_ranks(metric: str, ranks: ArrayLike, *, n: int, m: int, replace: bool) -> Floats:
    """Expected sampled metric of users with one relevant item."""
    values = rank_metric(metric)(np.arange(1, m + 2), n=m + 1)
    return sampled_rank_pmf(ranks, n=n, m=m, replace=replace) @ values


def expected_of_study(metric: str, ranks: FullRanks, *, m: int, replace: bool) -> float:
    """Mean sampled metric that the package expects."""
    sample = SampledRanks.of([1], n_negatives=m, n_candidates=5000, replace=replace)
    return expectation(uncorrected().fit(sample), metric, ranks)


def expectation(fits: Fits, metric: str, ranks: FullRanks) -> float:
    """Mean of estimates over samples of these ranks, if what was learned is held fixed."""
    expected = fits.cells.expected(ranks)
    again = fits.estimator.fit_cells(expected, learn=lambda _: fits.masses)
    return again.estimate(metric).item()
