"""max-T by the bootstrap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from analyses.intervals.resampling import random_blocks, resampled_users
from analyses.significance.bootstrap_max_t import MIN_DIFFERING_USERS, max_t_test
from analyses.significance.paired_tests import sakai_test
from analyses.significance.permutation import pair_indices
from runs.shared.arrays import Numbers
from tests.analyses.significance.references import TIE, Floats

B = 299
SEED = 4


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    """A continuous measure and one of rare hits: 4 systems, the last clearly better, 30 users."""
    continuous = rng.beta(0.5, 2.0, size=(4, 30)) + np.array([[0.0], [0.0], [0.1], [0.4]])
    chances = np.array([[0.05], [0.1], [0.1], [0.8]])
    hits = (rng.random((4, 30)) < chances) / np.array([[1.0], [2.0], [3.0], [1.0]])
    return np.stack([continuous, hits])


def by_the_book(scores: Floats, *, n_blocks: int = 30) -> Floats:
    """One measure: pair by pair, replicate by replicate, with the blocks of users that are drawn.

    With 30 blocks, each of the 30 users is one.
    """
    n_users = scores.shape[1]
    first, second = pair_indices(len(scores))
    differences = scores[first] - scores[second]
    means = differences.mean(axis=1)
    n_differing = (np.abs(differences) > TIE).sum(axis=1)
    is_tested = n_differing >= MIN_DIFFERING_USERS
    observed = np.abs(means) / differences.std(axis=1) * np.sqrt(n_users)
    observed = np.where(is_tested, observed, 0.0)
    sums = np.zeros((len(first), n_blocks))
    for user, block in enumerate(blocks_of(n_users, n_blocks)):
        sums[:, block] += differences[:, user] - means
    deviations = sums.std(axis=1)
    statistics = []
    for counts in resampled_users(0, B, n_users=n_blocks, seed=SEED).astype(int):
        sample = np.repeat(sums, counts, axis=1)
        spread = np.where(np.ptp(sample, axis=1) < TIE, deviations, sample.std(axis=1))
        t = np.abs(sample.mean(axis=1)) / spread * np.sqrt(n_blocks)
        statistics.append(np.where(is_tested, t, 0.0))
    p = np.empty(len(observed))
    so_far = 0.0
    pairs_left = list(np.argsort(-observed, kind="stable"))
    while pairs_left:
        maxima = np.array(statistics)[:, pairs_left].max(axis=1)
        pair = pairs_left.pop(0)
        n_extreme = (maxima >= observed[pair] - TIE).sum()
        so_far = max(so_far, (1 + n_extreme) / (B + 1))
        p[pair] = so_far
    return p


def blocks_of(n_users: int, n_blocks: int) -> Numbers:
    """The block of each user: that of the bootstrap, or the user himself."""
    if n_blocks == n_users:
        return np.arange(n_users)
    return random_blocks(n_users, n_blocks=n_blocks, seed=SEED)


def test_the_bootstrap_gives_what_a_plain_loop_gives(scores: Floats) -> None:
    p = max_t_test(scores, permutations=B, seed=SEED)
    expected = [by_the_book(measure_scores) for measure_scores in scores]
    np.testing.assert_allclose(p, expected, rtol=1e-12)


@pytest.mark.parametrize("n_blocks", [10, 20])
def test_blocks_of_users_give_what_a_plain_loop_gives(
    n_blocks: int, scores: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks have 3 users each, or 1 and 2."""
    monkeypatch.setattr("analyses.significance.bootstrap_max_t.N_BLOCKS", n_blocks)
    p = max_t_test(scores, permutations=B, seed=SEED)
    expected = [by_the_book(measure_scores, n_blocks=n_blocks) for measure_scores in scores]
    np.testing.assert_allclose(p, expected, rtol=1e-12)


def test_the_p_value_of_one_pair_is_that_of_sakais_test(scores: Floats) -> None:
    pair = scores[:1, [0, 2]]
    p = max_t_test(pair, permutations=B, seed=SEED)
    np.testing.assert_array_equal(p, sakai_test(pair, replicates=B, seed=SEED))


def test_units_and_what_all_systems_have_in_common_change_nothing(scores: Floats) -> None:
    p = max_t_test(scores, permutations=B, seed=SEED)
    of_users = 3 * np.arange(30.0)
    np.testing.assert_array_equal(max_t_test(7 * scores, permutations=B, seed=SEED), p)
    np.testing.assert_array_equal(max_t_test(scores + of_users, permutations=B, seed=SEED), p)


def test_systems_that_differ_for_fewer_than_ten_users_hide_no_other_difference(
    scores: Floats,
) -> None:
    """Few such users are often missed: the largest statistic would be that of the twins."""
    twin = scores[:, :1].copy()
    twin[:, :, :9] += 0.1
    with_twin = np.concatenate([scores, twin], axis=1)
    first, second = pair_indices(5)
    p = max_t_test(with_twin, permutations=999, seed=SEED)
    is_of_the_best = (first == 3) | (second == 3)
    assert (p[0, is_of_the_best] < 0.05).all()
    is_of_the_twins = (first == 0) & (second == 4)
    assert (p[:, is_of_the_twins] == 1.0).all()


@pytest.mark.parametrize(("n_differing", "is_tested"), [(9, False), (10, True)])
def test_ten_users_who_differ_are_enough(n_differing: int, is_tested: bool) -> None:
    hits = np.zeros((1, 2, 20))
    hits[0, 0, :n_differing] = 1.0
    p = max_t_test(hits, permutations=999, seed=SEED).item()
    assert (p < 1.0) == is_tested


def test_samples_without_variance_are_studentised_by_the_variance_of_all_users() -> None:
    """Of 10 differences 9 are equal: 35 % of the samples have these alone, which is T = 1 / 3.

    If the tenth is not drawn k = 1 times but more often, T = |k - 1| / sqrt(k (10 - k)).
    """
    scores = np.zeros((2, 2, 10))
    # t = 2 / 9: all samples reach it but those with the tenth difference once.
    scores[0, 0] = [0.1] * 9 + [-0.5]
    # t = 11 / 3: none does.
    scores[1, 0] = [1.0] * 9 + [2.0]
    p = max_t_test(scores, permutations=9999, seed=SEED)
    assert p[0].item() == pytest.approx(1 - binom.pmf(1, 10, 0.1), abs=0.015)
    assert p[1].item() == 0.0001


def test_the_same_difference_for_all_users_has_the_smallest_p_value() -> None:
    """Systems that differ by rounding alone are equal."""
    base = np.linspace(0.1, 0.9, 20)
    scores = np.array([[base, base + 0.3 - 0.1, base + 0.2, base]])
    p = max_t_test(scores, permutations=99, seed=SEED)
    # Pairs 01 02 03 12 13 23.
    np.testing.assert_array_equal(p, [[0.01, 0.01, 1.0, 1.0, 0.01, 0.01]])


def test_fewer_than_ten_users_tell_nothing_apart() -> None:
    scores = np.array([[np.arange(1.0, 11.0), np.zeros(10)]])
    assert max_t_test(scores, permutations=99, seed=SEED).item() == 0.01
    assert max_t_test(scores[:, :, :9], permutations=99, seed=SEED).item() == 1.0


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("at_once", [1, 100])
def test_jobs_and_blocks_change_no_bit(
    n_jobs: int, at_once: int, scores: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = max_t_test(scores, permutations=2500, seed=9)
    module = "analyses.significance.bootstrap_max_t"
    monkeypatch.setattr(f"{module}.REPLICATES_AT_ONCE", 700)
    monkeypatch.setattr(f"{module}.NUMBERS_AT_ONCE", at_once)
    monkeypatch.setattr(f"{module}.LEAST_PAIRS_AT_ONCE", 1)
    p = max_t_test(scores, permutations=2500, seed=9, n_jobs=n_jobs)
    np.testing.assert_array_equal(p, expected)


def test_progress_counts_all_replicates(scores: Floats) -> None:
    steps: list[int] = []
    max_t_test(scores, permutations=2500, seed=9, advance=steps.append)
    assert sum(steps) == 2500


@pytest.mark.slow
@pytest.mark.parametrize(("n_systems", "n_users"), [(200, 20), (10, 100_000)])
def test_many_systems_or_users_keep_within_the_memory(
    n_systems: int, n_users: int, rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    scores = rng.random((1, n_systems, n_users))
    max_t_test(scores, permutations=128, seed=SEED)
    assert peak_megabytes() < 150 + 2 * scores.nbytes / 2**20
