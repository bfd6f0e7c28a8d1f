"""Means and variances of what users with several relevant items add to sampled metrics."""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.expectation.user_moments import Addends, Moments, moments_of_mean
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.references import (
    expected_of_users,
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
def test_means_are_those_of_all_samples(
    metric: str, relevant: tuple[int, ...], replace: bool
) -> None:
    scores = scores_of_all_samples(metric, relevant, n=7, m=3, replace=replace)
    ranks = FullRanks.of(relevant, n_candidates=7, user=[0] * len(relevant))
    addends = Addends.of_metrics([metric], m=3, n_orders=len(relevant), replace=replace)
    np.testing.assert_allclose(addends.means(ranks)[0, 0], scores.mean(), rtol=1e-12, atol=1e-15)


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


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("metric", METRICS)
def test_means_need_no_joint_distribution(metric: str, replace: bool) -> None:
    ranks = several(50, n=300)
    alone = expected_of_users(metric, ranks, m=30, replace=replace)
    addends = Addends.of_metrics([metric], m=30, n_orders=8, replace=replace)
    np.testing.assert_allclose(addends.means(ranks)[:, 0], alone, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("replace", [True, False])
def test_users_with_one_relevant_item_have_the_variances_of_one_item(replace: bool) -> None:
    ranks = FullRanks.of(np.arange(1, 301), n_candidates=300)
    joint = moments_of_users("nDCG", ranks, m=50, replace=replace)
    values = rank_metric("nDCG")(np.arange(1, 52), n=51)
    alone = moments_of_one_item(values, ranks.rank, n=300, replace=replace)
    np.testing.assert_allclose(joint.variance, alone.variance, rtol=1e-9, atol=1e-13)


def test_more_negatives_than_candidates_are_refused() -> None:
    addends = Addends.of_metrics(["AP"], m=8, n_orders=2, replace=False)
    with pytest.raises(InputError, match="must not be above the irrelevant candidates, 7"):
        addends.means(FullRanks.of([1, 2], n_candidates=9, user=[0, 0]))


def test_variances_of_several_relevant_items_are_refused() -> None:
    with pytest.raises(InputError, match="one relevant item each"):
        moments_of_users("AP", several(5, n=30), m=4, replace=False)


def test_more_relevant_items_than_values_are_refused() -> None:
    addends = Addends.of_metrics(["AP"], m=2, n_orders=1, replace=True)
    with pytest.raises(InputError, match="up to 1 relevant items, and one has 2"):
        addends.means(FullRanks.of([1, 2], n_candidates=9, user=[0, 0]))


def test_users_are_in_order_whatever_that_of_the_rows() -> None:
    addends = Addends.of_metrics(["AP"], m=2, n_orders=2, replace=False)
    ranks = FullRanks.of([4, 1, 3, 2], n_candidates=4, user=[7, 2, 2, 7])
    np.testing.assert_allclose(addends.means(ranks).ravel(), [5 / 6, 1 / 2])


def test_the_mean_of_users_is_of_independent_ones() -> None:
    mean, variance = moments_of_mean(Moments(np.array([1.0, 0.0]), np.array([0.5, 0.5])))
    assert (float(mean), float(variance)) == (0.5, 0.25)
