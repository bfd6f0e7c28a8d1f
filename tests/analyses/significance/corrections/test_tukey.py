from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from scipy import stats

from analyses.shared.measure import to_grid
from analyses.significance.corrections import count_ranges, random_swaps, tukey_test
from analyses.significance.permutation import monte_carlo_test, pair_indices
from tests.analyses.corrections.references import Floats, some_scores

TIE = 1e-9


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    return some_scores(rng)


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
def test_it_counts_what_a_plain_loop_counts(scores: Floats) -> None:
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


@pytest.mark.slow
def test_two_systems_are_tested_by_random_signs(scores: Floats) -> None:
    two = scores[:, 1:3]
    signed = monte_carlo_test(two, permutations=20_000, seed=4)
    np.testing.assert_allclose(tukey_test(two, permutations=20_000, seed=4), signed, atol=0.015)


def test_users_may_differ_as_much_as_they_like(scores: Floats, rng: np.random.Generator) -> None:
    """The test is paired: what all of a user's scores share changes nothing."""
    shifted = scores + rng.integers(0, 50, size=30)
    np.testing.assert_array_equal(
        tukey_test(shifted, permutations=500, seed=4), tukey_test(scores, permutations=500, seed=4)
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("block", [1, 7, 100])
def test_neither_jobs_nor_blocks_change_a_bit(n_jobs: int, block: int, scores: Floats) -> None:
    by_user = np.ascontiguousarray(to_grid(scores).transpose(2, 1, 0))
    counts = count_ranges(by_user, 0, 600, seed=4, block=block)
    p = tukey_test(scores, permutations=600, seed=4, n_jobs=n_jobs)
    np.testing.assert_array_equal(p, (counts + 1) / 601)


def test_a_measure_alone_is_tested_as_among_others(scores: Floats) -> None:
    together = tukey_test(scores, permutations=300, seed=4)
    np.testing.assert_array_equal(together[1:], tukey_test(scores[1:], permutations=300, seed=4))


def test_every_order_is_equally_likely() -> None:
    swaps = random_swaps(0, 4000, n_users=3, n_systems=3, seed=2).reshape(-1, 2)
    counts = np.bincount(swaps[:, 0] * 3 + swaps[:, 1], minlength=6)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_more_than_256_systems_can_be_permuted() -> None:
    swaps = random_swaps(0, 20, n_users=10, n_systems=300, seed=2)
    assert swaps.max() > 255
    assert (swaps <= np.arange(1, 300)).all()
