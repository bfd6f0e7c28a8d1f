"""Expected sampled metrics and their variances."""

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, hypergeom

from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.expectation.rank_pmf import moments
from analyses.sampled.samples.designs import SampleDesign
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.references import (
    expected_of_ranks,
    expected_of_study,
    expected_of_users,
)

RANKS = [2, 40, 100, 212, 743, 1548, 4482]
EVERY = np.arange(1, 301)


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        (
            "AP",
            [
                0.995065639,
                0.8293674747,
                0.6365916755,
                0.4177280347,
                0.1346970284,
                0.06463477375,
                0.02231421558,
            ],
        ),
        (
            "nDCG",
            [
                0.996357366,
                0.8735343295,
                0.7289894327,
                0.5610036045,
                0.3227290367,
                0.2465047423,
                0.1810870331,
            ],
        ),
        ("Recall@10", [1, 1, 0.9999999367, 0.9999506843, 0.8009160683, 0.04624321841]),
    ],
)
def test_expectations_with_replacement_are_the_reference_s(
    metric: str, values: Sequence[float]
) -> None:
    expected = expected_of_ranks(metric, RANKS[: len(values)], n=10_000, m=99, replace=True)
    np.testing.assert_allclose(expected, values, rtol=1e-8)


def test_expected_recall_without_replacement_is_the_reference_s() -> None:
    expected = expected_of_ranks("Recall@10", [100, 212, 743], n=10_000, m=99, replace=False)
    np.testing.assert_allclose(expected, [0.9999999571, 0.999957087, 0.8018844022], rtol=1e-8)


@pytest.mark.parametrize("m", [1, 2, 10, 99, 100, 1000])
def test_the_expectation_of_ap_has_a_closed_form(m: int) -> None:
    expected = expected_of_ranks("AP", np.arange(1, 1201), n=1200, m=m, replace=True)
    above = np.arange(1, 1200) / 1199
    closed = (1 - (1 - above) ** (m + 1)) / (above * (m + 1))
    np.testing.assert_allclose(expected, [1, *closed], rtol=0, atol=1e-12)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("metric", ["Recall@3", "P@3", "P@60"])
def test_recall_and_precision_are_chances_to_be_within_the_cutoff(
    metric: str, replace: bool
) -> None:
    cutoff = rank_metric(metric).cutoff or 0
    above = EVERY - 1
    law = binom(50, above / 299) if replace else hypergeom(299, above, 50)
    best = rank_metric(metric)(1, n=51)
    expected = expected_of_ranks(metric, EVERY, n=300, m=50, replace=replace)
    np.testing.assert_allclose(expected, best * law.cdf(cutoff - 1), atol=1e-11)


@pytest.mark.parametrize("replace", [True, False])
def test_auc_is_unbiased(replace: bool) -> None:
    expected = expected_of_ranks("AUC", EVERY, n=300, m=20, replace=replace)
    np.testing.assert_allclose(expected, (300 - EVERY) / 299, atol=1e-9)


@pytest.mark.parametrize("metric", ["AP", "nDCG", "Recall@1", "P@2", "AUC"])
def test_one_negative_makes_every_metric_linear_in_the_rank(metric: str) -> None:
    first, second = rank_metric(metric)([1, 2], n=2)
    line = first + (EVERY - 1) / 299 * (second - first)
    expected = expected_of_ranks(metric, EVERY, n=300, m=1, replace=True)
    np.testing.assert_allclose(expected, line, rtol=0, atol=1e-14)


@pytest.mark.parametrize("metric", ["AP", "nDCG@5", "Recall@10", "P", "AUC"])
def test_all_negatives_without_replacement_give_the_metric_itself(metric: str) -> None:
    expected = expected_of_ranks(metric, EVERY, n=300, m=299, replace=False)
    np.testing.assert_allclose(expected, rank_metric(metric)(EVERY, n=300), atol=1e-11)


@pytest.mark.slow
def test_variances_are_those_of_simulated_estimates() -> None:
    ranks = FullRanks.of([2, 9, 30, 30], n_candidates=50)
    values = np.array([1.0, -0.3, 0.1, 0.0])
    mean, variance = np.array(moments(ranks, values[:, None], replace=False))[:, 0]
    drawn = [SampleDesign((3,), False).draw(ranks, seed=1, repeat=n) for n in range(4000)]
    estimates = np.array([values[one.above].mean() for one in drawn])
    assert abs(estimates.mean() - mean) < 4 * np.sqrt(variance / 4000)
    # The sample variance of so many draws is good to about 2 sqrt(2 / 4000).
    np.testing.assert_allclose(estimates.var(), variance, rtol=0.1)


def test_equal_ranks_with_unequal_candidates_are_kept_apart() -> None:
    ranks = FullRanks.of([3, 3], n_candidates=[5, 9])
    found = moments(ranks, np.array([[1.0], [0.0]]), replace=True)
    np.testing.assert_allclose(found, [[(1 / 2 + 3 / 4) / 2], [(1 / 4 + 3 / 16) / 4]])


def test_variances_of_several_relevant_items_are_refused() -> None:
    with pytest.raises(InputError, match="one relevant item each"):
        moments(SEVERAL, np.ones((4, 1)), replace=False)


def test_more_negatives_than_candidates_are_refused() -> None:
    with pytest.raises(InputError, match="must not be above the irrelevant candidates, 7"):
        expected_of_study(
            "AP", FullRanks.of([1, 2], n_candidates=9, user=[0, 0]), m=8, replace=True
        )


SEVERAL = FullRanks.of([2, 5], n_candidates=7, user=[0, 0])
BY_HAND = [
    ("AP@2", 7 / 20),
    ("AP", 31 / 50),
    ("Recall@2", 1 / 2),
    ("RR", 7 / 10),
]


@pytest.mark.parametrize(("metric", "value"), BY_HAND)
def test_several_relevant_items_have_the_reference_s_expectations(
    metric: str, value: float
) -> None:
    expected = expected_of_users(metric, SEVERAL, m=3, replace=False)
    np.testing.assert_allclose(expected, [value], rtol=1e-10)


METRICS = [*dict(BY_HAND), "nDCG@3", "P@2", "AUC", "nDCG", "AP@3", "AP(divisor=reachable)@1"]


def scores_of_all_samples(
    metric: str, relevant: tuple[int, ...], *, n: int, m: int, replace: bool
) -> NDArray[np.float64]:
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
    for expected in (expected_of_study, expected_of_users):
        found = np.mean(expected(metric, ranks, m=3, replace=replace))
        np.testing.assert_allclose(found, scores.mean(), rtol=1e-10, atol=1e-15)
