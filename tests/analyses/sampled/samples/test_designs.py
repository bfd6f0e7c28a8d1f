"""Sampled ranks from full ranks: the laws they follow, and what they are keyed by."""

from math import comb

import numpy as np
import pytest
from scipy.stats import binom, multinomial, multivariate_hypergeom

from analyses.sampled.samples.sampled_ranks import SampledRanks
from runs import InputError
from tests.analyses.sampled.sampling import sample_ranks, sample_ranks_adaptive

N_USERS = 40_000


def _several(replace: bool) -> SampledRanks:
    """Sample users with relevant items at ranks 3, 4 and 8 of 13: gaps 2, 0, 3 and 5."""
    user = np.repeat(np.arange(N_USERS), 3)
    ranks = np.tile([3, 4, 8], N_USERS)
    return sample_ranks(ranks, n_candidates=13, m=4, seed=7, replace=replace, user=user)


def _gaps(sampled: SampledRanks) -> np.ndarray:
    above = sampled.above.reshape(-1, 3)
    return np.diff(above, prepend=0, append=4, axis=1)


@pytest.mark.parametrize("replace", [True, False])
def test_gaps_between_relevant_items_have_the_joint_distribution(replace: bool) -> None:
    observed, counts = np.unique(_gaps(_several(replace)), axis=0, return_counts=True)
    gaps = np.array([2, 0, 3, 5])
    law = multinomial(4, gaps / 10) if replace else multivariate_hypergeom(gaps, 4)
    expected = np.array([law.pmf(gap) for gap in observed])
    np.testing.assert_allclose(expected.sum(), 1.0, rtol=1e-12)
    spread = np.sqrt(N_USERS * expected * (1 - expected))
    assert (np.abs(counts - N_USERS * expected) < 4 * spread).all()


@pytest.mark.parametrize("replace", [True, False])
def test_relevant_items_keep_their_order(replace: bool) -> None:
    assert (np.diff(_several(replace).rank.reshape(-1, 3), axis=1) > 0).all()


def test_the_mean_number_of_candidates_above_is_found_from_the_sample() -> None:
    # Uniform ranks without replacement: E[a | x] = (x + 1)(N + 2)/(m + 2) - 1.
    others, m = 40, 5
    a = np.arange(others + 1)
    for x in range(m + 1):
        weights = np.array([comb(k, x) * comb(others - k, m - x) for k in a], dtype=float)
        mean = (weights * a).sum() / weights.sum()
        np.testing.assert_allclose(mean, (x + 1) * (others + 2) / (m + 2) - 1, rtol=1e-12)


def test_a_user_is_sampled_alike_among_any_others() -> None:
    ranks = np.array([5, 700, 31, 250])
    alone = sample_ranks(ranks[[2, 1]], n_candidates=999, m=50, seed=3, user=[2, 1])
    among = sample_ranks(ranks, n_candidates=999, m=50, seed=3)
    np.testing.assert_array_equal(alone.rank, among.rank[[2, 1]])


@pytest.mark.parametrize(("seed", "repeat"), [(4, 0), (3, 1)])
def test_another_seed_or_repeat_is_another_sample(seed: int, repeat: int) -> None:
    ranks = np.full(100, 500)
    first = sample_ranks(ranks, n_candidates=999, m=50, seed=3)
    other = sample_ranks(ranks, n_candidates=999, m=50, seed=seed, repeat=repeat)
    assert (first.rank != other.rank).any()


def test_rows_stay_where_they_were() -> None:
    ranks = sample_ranks([5, 1, 3], n_candidates=5, m=2, seed=1, replace=False, user=[0, 1, 0])
    assert ranks.order.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("m", "finding"),
    [
        (0, "`negatives` must be at least 1 negative, got 0"),
        (9, "irrelevant candidates, 8 for some user"),
    ],
)
def test_impossible_numbers_of_negatives_are_refused(m: int, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        sample_ranks([1, 1], n_candidates=[20, 9], m=m, seed=1)


def test_adaptive_samples_have_doubled_sizes() -> None:
    ranks = np.repeat([1, 2, 5, 30, 400], 500)
    sampled = sample_ranks_adaptive(ranks, n_candidates=9916, seed=1)
    assert set(sampled.n_negatives + 1) == {100, 200, 400, 800, 1600, 3200}


def test_adaptive_samples_stop_when_something_is_above() -> None:
    sampled = sample_ranks_adaptive(np.arange(1, 3000), n_candidates=9916, seed=1)
    assert ((sampled.rank > 1) | (sampled.n_negatives == 3199)).all()


@pytest.mark.parametrize(
    ("negatives", "above", "ratio"), [(3, 1, 1.0), (7, 2, 2 / 7), (15, 0, 1.0), (15, 1, 8 / 15)]
)
def test_adaptive_cells_have_multiples_of_binomial_chances(
    negatives: int, above: int, ratio: float
) -> None:
    ranks = np.full(N_USERS, 4)
    sampled = sample_ranks_adaptive(ranks, n_candidates=25, n0=4, n_max=16, seed=5)
    share = ((sampled.n_negatives == negatives) & (sampled.above == above)).mean()
    chance = ratio * binom.pmf(above, negatives, 3 / 24)
    assert abs(share - chance) < 4 * np.sqrt(chance * (1 - chance) / N_USERS)


@pytest.mark.parametrize(("rank", "size"), [(1, 3200), (10, 1398.5095), (100, 171.73883)])
def test_adaptive_samples_have_the_expected_size(rank: int, size: float) -> None:
    sampled = sample_ranks_adaptive(np.full(10_000, rank), n_candidates=9916, seed=5)
    sizes = sampled.n_negatives + 1
    assert abs(sizes.mean() - size) <= 4 * sizes.std() / np.sqrt(len(sizes))


@pytest.mark.parametrize("n_max", [3000, 50, 300])
def test_the_largest_size_is_the_first_times_a_power_of_two(n_max: int) -> None:
    with pytest.raises(InputError, match="`n_max` must be `n0`, 100, times a power of 2"):
        sample_ranks_adaptive([1], n_candidates=9916, n_max=n_max, seed=1)


def test_adaptive_samples_start_with_a_negative() -> None:
    with pytest.raises(InputError, match="`n0` must be at least 2"):
        sample_ranks_adaptive([1], n_candidates=99, n0=1, n_max=2, seed=1)


def test_adaptive_samples_are_of_one_item_per_user() -> None:
    with pytest.raises(InputError, match="one relevant item each"):
        sample_ranks_adaptive([1, 2], n_candidates=99, n0=4, n_max=8, seed=1, user=[0, 0])
