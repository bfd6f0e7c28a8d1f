"""Corrections: adjustments of p-values, max-T and Tukey's HSD."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from analyses.shared.exact_sums import to_grid
from analyses.significance.corrections import (
    benjamini_hochberg,
    bonferroni,
    holm,
    random_swaps,
    sign_flip_max_t_test,
    tukey_test,
)
from analyses.significance.permutation import pair_indices, random_signs
from tests.analyses.significance.references import TIE, Floats, families
from tests.conftest import examples

Adjust = Callable[[Floats], Floats]
every_adjustment = pytest.mark.parametrize("adjust", [benjamini_hochberg, bonferroni, holm])


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    """A continuous measure and one of tenths: 4 systems, the last clearly better, 30 users."""
    continuous = rng.beta(0.5, 2.0, size=(4, 30)) + np.array([[0.0], [0.0], [0.1], [0.4]])
    return np.stack([continuous, np.round(continuous, 1)])


@every_adjustment
@examples(30)
@given(p=families)
def test_adjusted_values_are_p_values_no_smaller_than_before(adjust: Adjust, p: Floats) -> None:
    adjusted = adjust(p)
    assert ((adjusted >= p) & (adjusted <= 1)).all()


@every_adjustment
@examples(30)
@given(p=families)
def test_the_order_of_the_pairs_does_not_matter(adjust: Adjust, p: Floats) -> None:
    np.testing.assert_array_equal(adjust(p[..., ::-1]), adjust(p)[..., ::-1])


@every_adjustment
@examples(30)
@given(p=families)
def test_every_measure_is_a_family_of_its_own(adjust: Adjust, p: Floats) -> None:
    together = adjust(np.stack([p, p / 2]))
    np.testing.assert_array_equal(together, np.stack([adjust(p), adjust(p / 2)]))


def rejected_by_holms_steps(p: Floats, level: float) -> list[bool]:
    """Holm's own words: go up from the smallest, and stop at the first that is not rejected."""
    rejected = [False] * len(p)
    for step, pair in enumerate(np.argsort(p)):
        if p[pair] * (len(p) - step) > level:
            break
        rejected[pair] = True
    return rejected


@pytest.mark.parametrize("level", [0.01, 0.1])
@given(p=families)
def test_holm_rejects_what_his_steps_reject(level: float, p: Floats) -> None:
    for row in np.atleast_2d(p):
        assert (holm(row) <= level).tolist() == rejected_by_holms_steps(row, level)


@given(families)
def test_benjamini_hochberg_gives_what_scipy_gives(p: Floats) -> None:
    expected = stats.false_discovery_control(p, axis=-1)
    np.testing.assert_allclose(benjamini_hochberg(p), expected, rtol=1e-12)


def by_the_book(scores: Floats, signs: Floats) -> Floats:
    """Share of the sign rows whose maximum reaches z: one measure, pair by pair."""
    first, second = pair_indices(len(scores))
    differences = scores[first] - scores[second]
    sigma = np.sqrt((differences**2).sum(axis=1))
    flipped = np.abs(signs @ differences.T) / sigma
    observed = np.abs(differences.sum(axis=1)) / sigma
    p = np.empty(len(observed))
    so_far, left = 0.0, list(np.argsort(-observed, kind="stable"))
    while left:
        maxima = flipped[:, left].max(axis=1)
        pair = left.pop(0)
        so_far = max(so_far, float((maxima >= observed[pair] - TIE).mean()))
        p[pair] = so_far
    return p


def test_max_t_gives_what_a_plain_loop_gives(scores: Floats) -> None:
    signs = np.vstack([np.ones(30), random_signs(0, 499, n_users=30, seed=4)])
    p = sign_flip_max_t_test(scores, permutations=499, seed=4)
    expected = [by_the_book(one, signs) for one in scores]
    np.testing.assert_allclose(p, expected, rtol=1e-12)


def test_a_copy_of_a_system_changes_nothing(scores: Floats) -> None:
    """Ties between the copies' statistics count, whatever rounding does."""
    copied = np.concatenate([scores, scores[:, 3:]], axis=1)
    p = sign_flip_max_t_test(copied, permutations=999, seed=4)
    first, second = pair_indices(5)
    np.testing.assert_array_equal(
        p[:, (first < 4) & (second < 4)], sign_flip_max_t_test(scores, permutations=999, seed=4)
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_and_blocks_change_no_bit_of_max_t(
    n_jobs: int, scores: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sign_flip_max_t_test(scores, permutations=5000, seed=9)
    monkeypatch.setattr("analyses.significance.corrections.SIGNS_AT_ONCE", 700)
    p = sign_flip_max_t_test(scores, permutations=5000, seed=9, n_jobs=n_jobs)
    np.testing.assert_array_equal(p, expected)


@pytest.mark.parametrize("seed", range(3))
def test_stepping_down_follows_the_book_where_p_values_would_fall(seed: int) -> None:
    """Few users, so that a smaller z among fewer pairs is often the rarer event."""
    scores = np.random.default_rng(seed).integers(0, 5, size=(1, 5, 8)).astype(float)
    signs = np.vstack([np.ones(8), random_signs(0, 199, n_users=8, seed=seed)])
    p = sign_flip_max_t_test(scores, permutations=199, seed=seed)
    np.testing.assert_allclose(p[0], by_the_book(scores[0], signs), rtol=1e-12)


def test_systems_that_differ_by_rounding_alone_are_equal() -> None:
    """They may lie on either side of where the grid rounds; the other pairs must not suffer."""
    border = 0.5 + 2.0**-47
    scores = np.array([[[border] * 20, [border + 2.0**-53] * 20, [1.0] * 20]])
    gridded = to_grid(scores)
    assert (gridded[0, 1] - gridded[0, 0] == 1.0).all()
    p = sign_flip_max_t_test(scores, permutations=99, seed=0)
    np.testing.assert_array_equal(p, [[1.0, 0.01, 0.01]])


def distances(scores: Floats) -> Floats:
    first, second = pair_indices(len(scores))
    totals = scores.sum(axis=1)
    return np.abs(totals[first] - totals[second])


def dealt_out(scores: Floats, swaps: Floats) -> Floats:
    """Swap one user's scores after the other."""
    dealt = scores.copy()
    for user, row in enumerate(swaps.astype(int)):
        targets = list(range(len(scores)))
        for number, other in enumerate(row, start=1):
            targets[number], targets[other] = targets[other], targets[number]
        dealt[targets, user] = scores[:, user]
    return dealt


@pytest.mark.slow
def test_tukey_counts_what_a_plain_loop_counts(scores: Floats) -> None:
    swaps = random_swaps(0, 200, n_users=30, n_systems=4, seed=4).astype(float)
    expected = []
    for one in scores:
        widths = np.array([np.ptp(dealt_out(one, row).sum(axis=1)) for row in swaps])
        reached = widths[:, np.newaxis] >= distances(one) - TIE
        expected.append((reached.sum(axis=0) + 1) / 201)
    np.testing.assert_array_equal(tukey_test(scores, permutations=200, seed=4), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("n_systems", "n_users"), [(3, 4), (2, 8), (4, 2)])
def test_random_permutations_come_near_all_of_them(
    n_systems: int, n_users: int, scores: Floats
) -> None:
    few = scores[:, -n_systems:, :n_users]
    orders = product(permutations(range(n_systems)), repeat=n_users)
    columns = np.arange(n_users)
    reached = sum(
        np.ptp(few[:, np.array(order).T, columns].sum(axis=2), axis=1)[:, np.newaxis]
        >= np.array([distances(one) for one in few]) - TIE
        for order in orders
    )
    p = tukey_test(few, permutations=20_000, seed=1)
    np.testing.assert_allclose(p, reached / factorial(n_systems) ** n_users, atol=0.015)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("block", [1, 7, 100])
def test_jobs_and_blocks_change_no_bit_of_tukey(
    n_jobs: int, block: int, scores: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = tukey_test(scores, permutations=600, seed=4)
    monkeypatch.setattr("analyses.significance.corrections.SHUFFLES_AT_ONCE", block)
    p = tukey_test(scores, permutations=600, seed=4, n_jobs=n_jobs)
    np.testing.assert_array_equal(p, expected)


def test_every_order_is_equally_likely() -> None:
    swaps = random_swaps(0, 4000, n_users=3, n_systems=3, seed=2).reshape(-1, 2)
    counts = np.bincount(swaps[:, 0] * 3 + swaps[:, 1], minlength=6)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_more_than_256_systems_can_be_permuted() -> None:
    swaps = random_swaps(0, 20, n_users=10, n_systems=300, seed=2)
    assert swaps.max() > 255
    assert (swaps <= np.arange(1, 300)).all()


@pytest.mark.slow
def test_max_t_of_many_systems_keeps_within_its_memory(
    rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    """Distances of 19,900 pairs under 512 signs take 81 MB, and four such arrays were held."""
    p = sign_flip_max_t_test(rng.random((1, 200, 10)), permutations=512, seed=1)
    assert p.shape == (1, 19_900)
    assert peak_megabytes() < 100


@pytest.mark.slow
def test_tukey_of_many_users_keeps_within_its_memory(
    rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    scores = rng.random((1, 20, 20_000))
    tukey_test(scores, permutations=16, seed=1)
    assert peak_megabytes() < 100 + 3 * scores.nbytes / 2**20


def test_short_blocks_change_no_bit_of_both_tests(
    scores: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [sign_flip_max_t_test(scores, permutations=99, seed=9)]
    expected.append(tukey_test(scores, permutations=99, seed=9))
    monkeypatch.setattr("analyses.significance.corrections.DISTANCES_AT_ONCE", 1)
    monkeypatch.setattr("analyses.significance.corrections.SWAPS_AT_ONCE", 1)
    monkeypatch.setattr("analyses.significance.permutation.NUMBERS_AT_ONCE", 1)
    np.testing.assert_array_equal(
        sign_flip_max_t_test(scores, permutations=99, seed=9), expected[0]
    )
    np.testing.assert_array_equal(tukey_test(scores, permutations=99, seed=9), expected[1])
