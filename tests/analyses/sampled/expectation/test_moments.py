"""Expected sampled metrics and their variances."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, hypergeom

from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.expectation.user_moments import Addends, moments_of_mean
from analyses.sampled.samples.from_full_ranks import sample_ranks
from qrels import FullRanks
from tests.analyses.sampled.references import (
    expected_of_ranks,
    expected_of_users,
    expected_summands,
    moments_of_users,
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
    ranks, values = np.array([2, 9, 30, 30]), np.array([1.0, -0.3, 0.1, 0.0])
    addends = Addends((rank_metric("AP"),), values.reshape(1, 1, -1, 1), np.array([49]), False)
    moments = moments_of_mean(addends.moments(FullRanks.of(ranks, n_candidates=50)))
    estimates = np.array(
        [
            values[
                sample_ranks(
                    ranks, n_candidates=50, m=3, seed=1, repeat=repeat, replace=False
                ).above
            ].mean()
            for repeat in range(4000)
        ]
    )
    spread = np.sqrt(moments.variance)
    assert abs(estimates.mean() - moments.mean) < 4 * spread / np.sqrt(4000)
    # The sample variance of so many draws is good to about 2 sqrt(2 / 4000).
    np.testing.assert_allclose(estimates.var(), moments.variance, rtol=0.1)


def test_equal_ranks_with_unequal_candidates_are_kept_apart() -> None:
    ranks = FullRanks.of([3, 3], n_candidates=[5, 9])
    moments = moments_of_mean(moments_of_users("Recall@1", ranks, m=1, replace=True))
    np.testing.assert_allclose(moments.mean, (1 / 2 + 3 / 4) / 2)
    np.testing.assert_allclose(moments.variance, (1 / 4 + 3 / 16) / 4)


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


def _enumerated(metric: str) -> float:
    """Average the metric over all samples of three of the five irrelevant items, by rank."""
    scores = []
    for sampled in combinations([1, 3, 4, 6, 7], 3):
        found = np.searchsorted(sorted([2, 5, *sampled]), [2, 5]) + 1
        terms = rank_metric(metric).summands(found, n=5, order=[1, 2], n_relevant=2)
        scores.append(terms.sum())
    return float(np.mean(scores))


@pytest.mark.parametrize(
    "metric", [*dict(BY_HAND), "nDCG@3", "P@2", "AUC", "nDCG", "AP@3", "AP(divisor=reachable)@1"]
)
def test_several_relevant_items_are_enumerated(metric: str) -> None:
    expected = expected_of_users(metric, SEVERAL, m=3, replace=False)
    np.testing.assert_allclose(expected, [_enumerated(metric)], rtol=1e-10)


@pytest.mark.parametrize("replace", [True, False])
def test_one_relevant_item_is_a_special_case_of_several(replace: bool) -> None:
    ranks = FullRanks.of(EVERY, n_candidates=300)
    several: NDArray[np.float64] = expected_summands("nDCG@7", ranks, m=20, replace=replace)
    alone = expected_of_ranks("nDCG@7", EVERY, n=300, m=20, replace=replace)
    np.testing.assert_allclose(several, alone, rtol=1e-12, atol=1e-15)
