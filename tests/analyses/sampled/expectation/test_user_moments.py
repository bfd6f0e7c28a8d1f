"""Means and variances of what users with several relevant items add to sampled metrics."""

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.rank_pmf import sampled_rank_pmf
from analyses.sampled.expectation.user_moments import Addends, Moments, moments_of_mean
from analyses.sampled.samples.from_full_ranks import sample_ranks
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.references import (
    expected_of_users,
    expected_summands,
    moments_of_one_item,
    moments_of_users,
)

Floats = NDArray[np.float64]

METRICS = ["AP", "AP@2", "Recall@2", "RR", "nDCG", "nDCG@3", "P@2", "P", "AUC", "AP@3"]


def scores_of_all_samples(
    metric: str, relevant: tuple[int, ...], *, n: int, m: int, replace: bool
) -> Floats:
    """Score every sample of m of the irrelevant candidates, all of them equally likely."""
    others = np.setdiff1d(np.arange(1, n + 1), relevant)
    q = len(relevant)
    order = np.arange(1, q + 1)
    samples = product(others, repeat=m) if replace else combinations(others, m)
    ranks = np.array([np.searchsorted(np.sort(sample), relevant) for sample in samples]) + order
    return rank_metric(metric).summands(ranks, n=m + q, order=order, n_relevant=q).sum(axis=1)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("relevant", [(2, 5), (1, 2, 3), (1, 4, 7), (6, 7), (4,)])
@pytest.mark.parametrize("metric", METRICS)
def test_moments_are_those_of_all_samples(
    metric: str, relevant: tuple[int, ...], replace: bool
) -> None:
    scores = scores_of_all_samples(metric, relevant, n=7, m=3, replace=replace)
    ranks = FullRanks.of(relevant, n_candidates=7, user=[0] * len(relevant))
    moments = moments_of_users(metric, ranks, m=3, replace=replace)
    found = [moments.mean[0], moments.variance[0]]
    np.testing.assert_allclose(found, [scores.mean(), scores.var()], rtol=1e-12, atol=1e-15)


def several(n_users: int, *, n: int, seed: int = 1) -> FullRanks:
    """Users with one to eight relevant items, more of them near the top."""
    rng = np.random.default_rng(seed)
    chances = 1 / (np.arange(1, n + 1) + 20.0)
    ranks = [
        np.sort(rng.choice(n, size, replace=False, p=chances / chances.sum())) + 1
        for size in rng.integers(1, 9, n_users)
    ]
    users = np.repeat(np.arange(n_users), [len(some) for some in ranks])
    return FullRanks.of(np.concatenate(ranks), n_candidates=n, user=users)


def score(metric: RankMetric, ranks: FullRanks, *, m: int, replace: bool, repeat: int) -> float:
    sampled = sample_ranks(
        ranks.rank,
        n_candidates=ranks.n_candidates,
        m=m,
        seed=3,
        repeat=repeat,
        replace=replace,
        user=ranks.user,
    )
    lengths = sampled.n_negatives + sampled.n_relevants
    terms = metric.summands(
        sampled.rank, n=lengths, order=sampled.orders, n_relevant=sampled.n_relevants
    )
    return float(terms.sum() / len(np.unique(ranks.user)))


@pytest.mark.slow
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("metric", ["AP", "nDCG@10"])
def test_moments_of_means_are_those_of_simulated_samples(metric: str, replace: bool) -> None:
    ranks, repeats = several(60, n=400), 800
    mean, variance = moments_of_mean(moments_of_users(metric, ranks, m=40, replace=replace))
    read = rank_metric(metric)
    drawn = [score(read, ranks, m=40, replace=replace, repeat=one) for one in range(repeats)]
    assert abs(np.mean(drawn) - mean) < 4 * np.sqrt(variance / repeats)
    assert abs(np.var(drawn) / variance - 1) < 4 * np.sqrt(2 / repeats)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("metric", METRICS)
def test_means_need_no_joint_distribution(metric: str, replace: bool) -> None:
    ranks = several(50, n=300)
    alone = expected_of_users(metric, ranks, m=30, replace=replace)
    addends = Addends.of_metrics([metric], m=30, n_orders=8, replace=replace)
    np.testing.assert_allclose(addends.means(ranks)[:, 0], alone, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(addends.moments(ranks).mean[:, 0], alone, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("replace", [True, False])
def test_users_with_one_relevant_item_have_the_variances_of_one_item(replace: bool) -> None:
    ranks = FullRanks.of(np.arange(1, 301), n_candidates=300)
    joint = moments_of_users("nDCG", ranks, m=50, replace=replace)
    values = rank_metric("nDCG")(np.arange(1, 52), n=51)
    alone = moments_of_one_item(values, ranks.rank, n=300, replace=replace)
    np.testing.assert_allclose(joint.variance, alone.variance, rtol=1e-9, atol=1e-13)


@pytest.mark.slow
def test_independent_items_would_have_about_seven_tenths_of_the_variance_of_ap() -> None:
    ranks, m = several(1000, n=5000), 100
    joint = moments_of_mean(moments_of_users("AP@10", ranks, m=m, replace=False))
    means = expected_summands("AP@10", ranks, m=m, replace=False)
    pmf = sampled_rank_pmf(ranks.above + 1, n=ranks.n_irrelevant + 1, m=m, replace=False)
    order, q = ranks.order[:, np.newaxis], ranks.n_relevant[:, np.newaxis]
    terms = rank_metric("AP@10").summands(
        np.arange(m + 1) + order, n=m + q, order=order, n_relevant=q
    )
    alone = (pmf * (terms - means[:, np.newaxis]) ** 2).sum() / 1000**2
    np.testing.assert_allclose(alone / joint.variance, 0.7, atol=0.05)


@pytest.mark.parametrize("replace", [True, False])
def test_the_variance_of_auc_has_a_closed_form(replace: bool) -> None:
    # The mean of x_j is a mean over draws of the share of relevant items below each draw.
    ranks = several(20, n=200)
    found = moments_of_users("AUC", ranks, m=150, replace=replace).variance
    known = [_variance_of_auc(ranks, user, m=150, replace=replace) for user in range(20)]
    np.testing.assert_allclose(found, known, rtol=1e-10)


def _variance_of_auc(ranks: FullRanks, user: int, *, m: int, replace: bool) -> float:
    own = np.sort(ranks.rank[ranks.user == user])
    candidates = np.setdiff1d(np.arange(1, 201), own)
    shares = np.searchsorted(own, candidates) / len(own)
    n = len(candidates)
    return float(shares.var() / m * (1 if replace else (n - m) / (n - 1)))


@given(st.sets(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 30), st.booleans())
def test_what_is_added_in_every_sample_does_not_vary(
    relevant: set[int], m: int, replace: bool
) -> None:
    ranks = FullRanks.of(sorted(relevant), n_candidates=40, user=[0] * len(relevant))
    plain = Addends.of_metrics(["Recall@3"], m=m, n_orders=6, replace=replace)
    shifted = Addends(plain.metrics, plain.values + 1000.0, plain.sizes, replace)
    before, after = plain.moments(ranks), shifted.moments(ranks)
    np.testing.assert_allclose(after.variance, before.variance, rtol=1e-6, atol=1e-9)


def test_more_negatives_than_candidates_are_refused() -> None:
    ranks = FullRanks.of([1, 2], n_candidates=9, user=[0, 0])
    with pytest.raises(InputError, match="must not be above the irrelevant candidates, 7"):
        moments_of_users("AP", ranks, m=8, replace=False)


def test_more_relevant_items_than_values_are_refused() -> None:
    addends = Addends.of_metrics(["AP"], m=2, n_orders=1, replace=True)
    with pytest.raises(InputError, match="up to 1 relevant items, and one has 2"):
        addends.means(FullRanks.of([1, 2], n_candidates=9, user=[0, 0]))


@pytest.mark.parametrize("answer", [Addends.means, lambda a, ranks: a.moments(ranks).mean])
def test_users_are_in_order_whatever_that_of_the_rows(
    answer: Callable[[Addends, FullRanks], Floats],
) -> None:
    addends = Addends.of_metrics(["AP"], m=2, n_orders=2, replace=False)
    ranks = FullRanks.of([4, 1, 3, 2], n_candidates=4, user=[7, 2, 2, 7])
    np.testing.assert_allclose(answer(addends, ranks).ravel(), [5 / 6, 1 / 2])


def test_the_mean_of_users_is_of_independent_ones() -> None:
    mean, variance = moments_of_mean(Moments(np.array([1.0, 0.0]), np.array([0.5, 0.5])))
    assert (float(mean), float(variance)) == (0.5, 0.25)
