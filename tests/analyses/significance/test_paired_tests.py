"""The t, sign, Wilcoxon and bootstrap tests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from analyses.intervals.resampling import resampled_users
from analyses.significance.paired_tests import (
    MAX_USERS_RANKED_EXACTLY,
    exponents,
    for_all_pairs,
    means_and_deviations,
    normalised,
    pair_means_and_deviations,
    rounded_steps,
    sakai_test,
    sign_test,
    signed_ranks,
    t_of_moments,
    t_test,
    wilcoxon_test,
)
from analyses.significance.permutation import pair_indices
from tests.analyses.significance.references import Floats, pair_scores, some_scores, tenths


@pytest.mark.parametrize("thirds", [(1, 2, 1), (2, 3, 1), (0, 1, 1)])
def test_equal_differences_of_thirds_are_equal_in_steps(thirds: tuple[int, int, int]) -> None:
    low, high, size = (whole / 3 for whole in thirds)
    assert rounded_steps(np.array(high - low)) == rounded_steps(np.array(size))


SMALLEST = np.finfo(np.float64).tiny


@pytest.mark.parametrize("n_users", [4, 50, 2000])
def test_t_gives_what_scipy_gives(n_users: int, rng: np.random.Generator) -> None:
    scores = some_scores(rng, n_users=n_users)
    first, second = pair_indices(4)
    expected = stats.ttest_rel(scores[:, first], scores[:, second], axis=2).pvalue
    np.testing.assert_allclose(t_test(scores), np.maximum(expected, SMALLEST), rtol=1e-9)


def test_differences_that_only_rounding_makes_are_none() -> None:
    scores = np.array([[[0.1 + 0.2, 0.6], [0.3, 0.2 * 3]]])
    assert scores[0, 0, 0] != scores[0, 1, 0]
    assert t_test(scores) == 1.0


def test_t_that_underflows_is_not_zero() -> None:
    assert t_test(pair_scores([1.0, 1.0 + 1e-9] * 500)) == SMALLEST


def test_a_single_user_decides_nothing() -> None:
    assert t_test(pair_scores([1.0])) == 1.0


@given(tenths)
def test_signs_give_what_scipy_gives(scores: Floats) -> None:
    first, second = pair_indices(3)
    signs = np.sign(np.rint(10 * scores[:, first]) - np.rint(10 * scores[:, second]))
    better, worse = (signs > 0).sum(axis=2), (signs < 0).sum(axis=2)
    expected = [
        [stats.binomtest(b, b + w).pvalue if b + w else 1.0 for b, w in zip(*rows, strict=True)]
        for rows in zip(better.tolist(), worse.tolist(), strict=True)
    ]
    np.testing.assert_allclose(sign_test(scores), expected, rtol=1e-9)


def test_many_users_are_counted_exactly() -> None:
    p = sign_test(pair_scores([1.0] * 3000 + [-1.0] * 3040))
    np.testing.assert_allclose(p, stats.binomtest(3000, 6040).pvalue, rtol=1e-9)


def test_signs_that_underflow_are_not_zero() -> None:
    assert sign_test(pair_scores([1.0] * 2000)) > 0


def p_by_all_signs(differences: Floats) -> float:
    """Rank with scipy, write down all sign assignments."""
    kept = np.rint(10 * differences)
    kept = kept[kept != 0]
    ranks = stats.rankdata(np.abs(kept))
    signs = np.array(list(product([-1.0, 1.0], repeat=len(kept))))
    return float((np.abs(signs @ ranks) >= abs(np.sign(kept) @ ranks)).mean())


@given(tenths)
def test_few_users_with_ties_and_zeros_are_counted_exactly(scores: Floats) -> None:
    first, second = pair_indices(3)
    differences = scores[:, first] - scores[:, second]
    expected = [[p_by_all_signs(row) for row in rows] for rows in differences]
    np.testing.assert_allclose(wilcoxon_test(scores), expected, rtol=1e-12)


@pytest.mark.parametrize("n_users", [5, 25, MAX_USERS_RANKED_EXACTLY])
def test_without_ties_it_gives_what_scipy_computes_exactly(
    n_users: int, rng: np.random.Generator
) -> None:
    differences = rng.normal(0.2, 1.0, size=n_users)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    np.testing.assert_allclose(wilcoxon_test(pair_scores(differences.tolist())), expected)


@pytest.mark.parametrize("measure", [0, 1], ids=["continuous", "tied"])
def test_many_users_get_scipys_normal_approximation(measure: int, rng: np.random.Generator) -> None:
    scores = some_scores(rng, n_users=400)[measure]
    rounded = np.round(scores[0] - scores[1], 12)
    expected = stats.wilcoxon(rounded, method="approx").pvalue
    np.testing.assert_allclose(wilcoxon_test(scores[np.newaxis, :2]), expected, rtol=1e-9)


def test_the_approximation_begins_beyond_fifty_differing_users() -> None:
    same = [0.0] * 100
    fifty, more = ([k - 20.25 for k in range(1, n + 1)] for n in (50, 51))
    found = [wilcoxon_test(pair_scores(same + some)).item() for some in (fifty, more)]
    exact = stats.wilcoxon(fifty, method="exact").pvalue
    normal = stats.wilcoxon(more, method="approx").pvalue
    np.testing.assert_allclose(found, [exact, normal], rtol=1e-12)


B, SEED = 400, 11


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    return some_scores(rng, n_users=25)


def replicates_of(differences: Floats) -> Floats:
    """Absolute t of every centred sample, with plain repetition of users."""
    centred = differences - differences.mean()
    counts = resampled_users(0, B, n_users=len(differences), seed=SEED).astype(int)
    samples = [np.repeat(centred, count) for count in counts]
    means = np.array([sample.mean() for sample in samples])
    deviations = np.array([sample.std(ddof=1) for sample in samples])
    return np.asarray(np.abs(means / deviations) * np.sqrt(len(differences)))


@pytest.mark.slow
def test_the_bootstrap_counts_what_a_plain_loop_counts(scores: Floats) -> None:
    first, second = pair_indices(4)
    differences = (scores[:, first] - scores[:, second]).reshape(-1, scores.shape[2])
    expected = []
    for row in differences:
        observed = abs(row.mean()) / row.std(ddof=1) * np.sqrt(len(row))
        expected.append((1 + (replicates_of(row) >= observed).sum()) / (B + 1))
    p = sakai_test(scores, replicates=B, seed=SEED)
    np.testing.assert_array_equal(p.ravel(), expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("block", [1, 33, 512])
def test_neither_blocks_nor_jobs_change_a_bit(
    n_jobs: int, block: int, scores: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sakai_test(scores, replicates=B, seed=SEED)
    monkeypatch.setattr("analyses.significance.paired_tests.VALUES_AT_ONCE", 1)
    monkeypatch.setattr("analyses.significance.paired_tests.SAMPLES_AT_ONCE", block)
    found = sakai_test(scores, replicates=B, seed=SEED, n_jobs=n_jobs)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("differences", [[0.3] * 5, [0.3, 0.1 + 0.2, 0.6 / 2]])
def test_a_constant_difference_has_the_smallest_p_value(differences: list[float]) -> None:
    assert sakai_test(pair_scores(differences), replicates=99, seed=0) == 0.01


@pytest.mark.slow
def test_the_bootstrap_of_many_systems_keeps_within_its_memory(
    rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    """All samples of 7,140 pairs in one array would take 114 MB, and six such arrays are needed."""
    p = sakai_test(rng.random((1, 120, 20)), replicates=2000, seed=SEED)
    assert p.shape == (1, 7140)
    assert peak_megabytes() < 400


@pytest.mark.slow
def test_the_bootstrap_of_many_users_keeps_within_its_memory(
    rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    sakai_test(rng.random((1, 2, 140_000)), replicates=200, seed=SEED)
    assert peak_megabytes() < 400


def test_means_and_deviations_of_rounding_alone_are_0() -> None:
    """Up to 2^-48 of the largest score, which is below 1."""
    means, deviations = means_and_deviations(np.array([[1.0, 1.0], [1.0, 1.0]]) * 2.0**-48)
    assert means.tolist() == [0, 0]
    assert deviations.tolist() == [0, 0]
    above, _ = means_and_deviations(np.full((1, 3), 1.01 * 2.0**-48))
    assert above[0] > 0
    _, spread = means_and_deviations(np.array([[-1.0, 1.0]]) * 2.0**-48.5)
    assert spread.tolist() == [0]
    means, deviations = means_and_deviations(np.array([[0.5], [-0.25]]))
    assert means.tolist() == [0.5, -0.25]
    assert np.isnan(deviations).all()


def test_scores_are_scaled_by_the_power_of_two_above_the_largest() -> None:
    scores = np.array([[[0.3, -5.0]], [[0.25, 0.1]], [[0.0, 0.0]]])
    assert exponents(scores).ravel().tolist() == [3, -1, 0]
    assert normalised(scores)[:, 0].tolist() == [[0.3 / 8, -5 / 8], [0.5, 0.2], [0, 0]]


def test_means_and_deviations_of_pairs_are_in_the_units_of_the_scores(
    rng: np.random.Generator,
) -> None:
    scores = rng.normal(size=(2, 3, 7)) * [[[1000.0]], [[0.001]]]
    means, deviations = pair_means_and_deviations(scores)
    first, second = pair_indices(3)
    gaps = scores[:, first] - scores[:, second]
    np.testing.assert_allclose(means, gaps.mean(axis=2))
    np.testing.assert_allclose(deviations, gaps.std(axis=2, ddof=1))


@pytest.mark.parametrize("block", [1, 20, 1 << 17])
def test_a_statistic_is_computed_of_every_pair_of_every_measure(
    block: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyses.significance.paired_tests.BLOCK", block)
    scores = rng.random((3, 4, 5))
    found = for_all_pairs(scores, lambda rows: np.stack([rows[:, 0], rows[:, 4]], axis=1))
    first, second = pair_indices(4)
    expected = (scores[:, first] - scores[:, second])[:, :, [0, 4]]
    np.testing.assert_array_equal(found, expected)


def test_p_of_moments_is_that_of_students_t() -> None:
    means, deviations = np.array([0.2, -0.2, 0.0, 0.3]), np.array([0.5, 0.5, 0.5, 0.0])
    p = t_of_moments(means, deviations, n_users=9)
    expected = 2 * stats.t.sf(0.2 / (0.5 / 3), 8)
    np.testing.assert_allclose(p, [expected, expected, 1.0, SMALLEST])
    by_pair = t_of_moments(means[:2], deviations[:2], n_users=np.array([9.0, 1.0]))
    np.testing.assert_allclose(by_pair, [expected, 1.0])
    two = t_of_moments(means[:1], deviations[:1], n_users=2)
    np.testing.assert_allclose(two, 2 * stats.t.sf(0.2 / (0.5 / np.sqrt(2)), 1))


def test_signed_ranks_are_twice_the_mean_ranks_of_those_who_differ() -> None:
    """Sizes 0, .1, .2, .2 and .3 have the ranks -, 1, 2.5, 2.5 and 4."""
    ranks = signed_ranks(np.array([[0.0, -0.1, 0.2, -0.2, 0.3]]))
    assert ranks.tolist() == [[0, -2, 5, -5, 8]]


def test_ranks_that_balance_are_no_difference() -> None:
    assert wilcoxon_test(pair_scores([1.0, -1.0])) == 1.0
    assert wilcoxon_test(pair_scores([0.0, 0.0])) == 1.0
    assert wilcoxon_test(pair_scores([1.0])) == 1.0
    assert wilcoxon_test(pair_scores([1.0, 2.0])) == 0.5


def test_steps_are_a_trillionth_or_so() -> None:
    assert rounded_steps(np.array([2.0**-40, -(2.0**-41) * 1.01, 2.0**-42])).tolist() == [1, -1, 0]


def test_one_user_says_nothing_in_the_bootstrap_test() -> None:
    scores = np.array([[[0.9], [0.1], [0.4]]])
    assert sakai_test(scores, replicates=99, seed=0).tolist() == [[1.0, 1.0, 1.0]]
