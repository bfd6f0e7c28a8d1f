import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from threadpoolctl import threadpool_limits

from analyses.intervals import resampling
from analyses.intervals.resampling import (
    draw_weights,
    interval,
    percentiles,
    random_blocks,
    resample_means,
    resampled_users,
)


def all_weights(n_users: int, replicates: int, seed: int = 1) -> np.ndarray:
    draws = draw_weights(n_users, replicates=replicates, seed=seed)
    return np.concatenate([weights for _, weights in draws])


def test_every_replicate_draws_as_many_users_as_there_are() -> None:
    assert (all_weights(37, 20).sum(axis=1) == 37).all()


@given(st.integers(1, 60), st.integers(0, 2**63 - 1), st.integers(0, 10**6))
def test_a_replicate_depends_on_its_own_number_alone(n_users: int, seed: int, start: int) -> None:
    together = resampled_users(start, start + 4, n_users=n_users, seed=seed)
    alone = resampled_users(start + 3, start + 4, n_users=n_users, seed=seed)
    np.testing.assert_array_equal(together[3:], alone)


@pytest.mark.parametrize("block", [1, 7, 100])
def test_blocks_hold_all_replicates_in_order(block: int) -> None:
    counts = np.empty((20, 9))
    for part, some in draw_weights(9, replicates=20, seed=3, block=block):
        counts[part] = some
    np.testing.assert_array_equal(counts, resampled_users(0, 20, n_users=9, seed=3))


def test_every_user_is_drawn_as_often_as_a_binomial_says() -> None:
    counts = resampled_users(0, 4000, n_users=10, seed=5)
    observed = np.bincount(counts.astype(int).ravel(), minlength=11)[:6]
    expected = counts.size * stats.binom.pmf(np.arange(6), 10, 0.1)
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-3


def test_a_replicate_does_not_depend_on_how_many_are_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = all_weights(11, 9)
    monkeypatch.setattr(resampling, "WEIGHTS_AT_ONCE", 11 * 2)
    np.testing.assert_array_equal(together, all_weights(11, 9))
    np.testing.assert_array_equal(together[:4], all_weights(11, 4))


def test_resampled_means_are_the_weighted_ones() -> None:
    values = np.random.default_rng(0).random((3, 2, 50))
    expected = values @ all_weights(50, 8).T / 50
    np.testing.assert_allclose(resample_means(values, replicates=8, seed=1), expected, atol=1e-13)


@pytest.mark.slow
def test_threads_of_blas_change_no_bit() -> None:
    values = np.random.default_rng(0).random((40, 3001))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(resample_means(values, replicates=130, seed=1).tobytes())
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_spread_of_resampled_means_is_the_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=(1, 400))
    spread = resample_means(values, replicates=4000, seed=1).std()
    assert spread == pytest.approx(values.std() / 20, rel=0.05)


def test_all_scores_zero_resample_to_zero() -> None:
    assert (resample_means(np.zeros((2, 5)), replicates=3, seed=1) == 0).all()


def test_blocks_are_of_almost_equal_size() -> None:
    sizes = np.bincount(random_blocks(1003, n_blocks=200, seed=1))
    assert (len(sizes), sizes.min(), sizes.max()) == (200, 5, 6)


def test_other_seeds_draw_other_users_and_other_blocks() -> None:
    assert (all_weights(37, 20, seed=1) != all_weights(37, 20, seed=2)).any()
    one, two = (random_blocks(37, n_blocks=5, seed=seed) for seed in (1, 2))
    assert (one != two).any()


def test_few_users_are_their_own_blocks() -> None:
    assert sorted(random_blocks(5, n_blocks=200, seed=1).tolist()) == [0, 1, 2, 3, 4]


def test_percentiles_leave_undefined_replicates_out() -> None:
    low, high = percentiles(np.array([[np.nan, 1.0, 3.0], [np.nan] * 3]), confidence=1.0)
    np.testing.assert_array_equal([low, high], [[1.0, np.nan], [3.0, np.nan]])


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=9), st.floats(-1, 1))
def test_an_interval_holds_the_percentiles_and_what_was_observed(
    replicates: list[float], observed: float
) -> None:
    low, high = interval(np.array(observed), np.array(replicates), limits=(-1, 1))
    lower, upper = percentiles(np.array(replicates))
    assert low <= lower + 1e-12
    assert high >= upper - 1e-12
    assert low <= observed <= high
    assert -1 <= low <= high <= 1


def test_an_interval_without_replicates_that_are_defined_is_undefined() -> None:
    assert np.isnan(interval(np.array(0.5), np.array([np.nan]))).all()
