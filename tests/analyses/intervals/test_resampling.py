"""The bootstrap over users and runs; bands around curves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from threadpoolctl import threadpool_limits

from analyses.intervals.block_resampling import Resampling
from analyses.intervals.percentile_intervals import (
    nan_if_constant,
    percentiles,
    shifted_band,
    symmetric_interval,
)
from analyses.intervals.resampling import (
    draw_ranges,
    draw_weights,
    monte_carlo_p,
    random_blocks,
    resample_means,
    resampled_users,
    run_noise,
    run_weights,
    sum_over_runs,
    whole_numbers_below,
)
from analyses.ordering import tau_b
from analyses.shared.limits import arcsine_limits
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import RunDeviations
from analyses.sparsity import Settings, Sparsity, sparsity
from qrels import qrels_from_columns
from tests.analyses.blocks import sums_of
from tests.analyses.made import JudgedWork


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


@pytest.mark.slow
def test_threads_of_blas_change_no_bit() -> None:
    values = np.random.default_rng(0).random((40, 3001))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(resample_means(values, replicates=130, seed=1).tobytes())
    assert found[0] == found[1]


def test_blocks_are_of_almost_equal_size() -> None:
    sizes = np.bincount(random_blocks(1003, n_blocks=200, seed=1))
    assert (len(sizes), sizes.min(), sizes.max()) == (200, 5, 6)


def test_other_seeds_draw_other_users_and_other_blocks() -> None:
    users = [resampled_users(0, 20, n_users=37, seed=seed) for seed in (1, 2)]
    blocks = [random_blocks(37, n_blocks=5, seed=seed) for seed in (1, 2)]
    assert (users[0] != users[1]).any()
    assert (blocks[0] != blocks[1]).any()


def test_percentiles_leave_undefined_replicates_out() -> None:
    low, high = percentiles(np.array([[np.nan, 1.0, 3.0], [np.nan] * 3]), confidence=1.0)
    np.testing.assert_array_equal([low, high], [[1.0, np.nan], [3.0, np.nan]])


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=9), st.floats(-1, 1))
def test_an_interval_holds_the_percentiles_and_what_was_observed(
    replicates: list[float], observed: float
) -> None:
    low, high = symmetric_interval(np.array(observed), np.array(replicates), bounds=(-1, 1))
    lower, upper = percentiles(np.array(replicates))
    assert low <= lower + 1e-12
    assert high >= upper - 1e-12
    assert low <= observed <= high
    assert -1 <= low <= high <= 1


def test_percentiles_leave_as_much_out_on_either_side() -> None:
    """Of 0 to 100 the middle 95 % is from 2.5 to 97.5; replicates are the last axis."""
    replicates = np.stack([np.arange(101.0), 10 * np.arange(101.0)])
    low, high = percentiles(replicates)
    assert low.tolist() == pytest.approx([2.5, 25])
    assert high.tolist() == pytest.approx([97.5, 975])
    low, high = percentiles(replicates, confidence=0.9)
    assert (low[0], high[0]) == (pytest.approx(5), pytest.approx(95))
    assert np.isnan(percentiles(np.empty((2, 3, 0)))).all()
    assert percentiles(np.empty((2, 3, 0)))[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("observed", "expected"),
    [(60.0, (2.5, 117.5)), (40.0, (-17.5, 97.5)), (50.0, (2.5, 97.5)), (200.0, (2.5, 397.5))],
)
def test_an_interval_reaches_to_the_further_percentile_on_either_side(
    observed: float, expected: tuple[float, float]
) -> None:
    """Percentiles are 2.5 and 97.5."""
    found = symmetric_interval(np.array(observed), np.arange(101.0))
    assert found == pytest.approx(expected)
    low, high = symmetric_interval(np.array(observed), np.arange(101.0), bounds=(0.0, 100.0))
    assert (low, high) == pytest.approx((max(expected[0], 0), min(expected[1], 100)))


def test_an_interval_without_width_is_unknown() -> None:
    low, high = nan_if_constant((np.array([1.0, 2.0, np.nan]), np.array([1.0, 2.1, np.nan])))
    np.testing.assert_array_equal(low, [np.nan, 2.0, np.nan])
    np.testing.assert_array_equal(high, [np.nan, 2.1, np.nan])


def test_draws_are_parted_without_rest() -> None:
    assert [*draw_ranges(10, 4)] == [(0, 4), (4, 8), (8, 10)]
    assert [*draw_ranges(8, 4)] == [(0, 4), (4, 8)]
    assert [*draw_ranges(0, 4)] == []


def test_numbers_below_a_bound_are_as_likely() -> None:
    """The upper half of a product: the largest 32-bit number gives the bound less 1."""
    halves = np.array([0, 2**31 - 1, 2**31, 2**32 - 1], dtype=np.uint32)
    assert whole_numbers_below(halves, 2).tolist() == [0, 0, 1, 1]
    assert whole_numbers_below(halves, np.array([7, 8, 8, 4000])).tolist() == [0, 3, 4, 3999]


def test_resampled_means_are_of_the_users_who_are_drawn() -> None:
    values = np.random.default_rng(3).random((2, 3, 11))
    found = resample_means(values, replicates=40, seed=5)
    weights = resampled_users(0, 40, n_users=11, seed=5)
    np.testing.assert_allclose(found, values @ weights.T / 11, rtol=1e-12)


@pytest.mark.parametrize(
    ("n_users", "replicates", "n_blocks"), [(7, 2, 7), (250, 2, 100), (7, 0, 1)]
)
def test_users_are_blocks_each_until_there_are_a_hundred(
    n_users: int, replicates: int, n_blocks: int
) -> None:
    found = Resampling.of(n_users, replicates=replicates, seed=1)
    assert len({*found.blocks.tolist()}) == found.weights.shape[1] == n_blocks
    assert found.weights.sum(axis=1).tolist() == [n_blocks] * replicates


def test_means_have_all_users_first_and_then_those_of_each_replicate() -> None:
    resampling = Resampling.of(9, replicates=3, seed=1)
    samples = np.random.default_rng(2).random((2, 9, 4, 5))
    found = resampling.means(samples)
    assert found.shape == (4, 2, 4, 5)
    np.testing.assert_allclose(found[0], samples.mean(axis=1))
    for weights, means in zip(resampling.weights, found[1:], strict=True):
        np.testing.assert_allclose(means, np.einsum("b,mbsw->msw", weights, samples) / 9)


def test_taus_within_subsets_are_those_of_the_first_twenty_of_each() -> None:
    """By one measure of two, among the systems of a subset and the users of a replicate."""
    resampling = Resampling.of(12, replicates=25, seed=1)
    draw = np.random.default_rng(2)
    samples, reference = draw.random((2, 12, 6, 3)), draw.random((2, 12, 6))
    subsets = draw.random((30, 6)) < 0.7
    found = resampling.subset_taus(samples, reference, subsets, measures=[1])
    assert found.shape == (2, 3, 20, 20)
    assert np.isnan(found[0]).all()
    for replicate, subset in ((0, 3), (19, 19), (7, 0)):
        chosen = subsets[subset]
        weights = resampling.weights[replicate]
        means = np.einsum("b,bsw->ws", weights, samples[1][:, chosen])
        full = weights @ reference[1][:, chosen]
        np.testing.assert_allclose(found[1, :, replicate, subset], tau_b(means, full))


def test_a_run_counts_once_on_average_and_systems_have_their_own() -> None:
    """Of two runs of a system 0, 1 or 2 draws are the first; a system of one run is left alone."""
    weights = run_weights(np.array([0, 0, 1]), replicates=4000, seed=1)
    assert weights.shape == (4000, 2, 3)
    assert (weights[:, 0, 2] == 0).all()
    assert (weights[:, 1] == [0, 0, 1]).all()
    np.testing.assert_allclose(weights[:, 0].sum(axis=1), 2)
    # 1 + sqrt(2 / 1) times 1 less, as many, or 1 more than once.
    assert {*weights[:, 0, 0].round(6)} == {*np.round(1 + np.sqrt(2) * np.array([-1, 0, 1]), 6)}
    shares = [np.mean(weights[:, 0, 0] > 1), np.mean(weights[:, 0, 0] < 1)]
    np.testing.assert_allclose(shares, 0.25, atol=4 * np.sqrt(0.25 * 0.75 / 4000))


def test_without_several_runs_there_is_no_noise_of_runs() -> None:
    assert run_noise(None, replicates=5, seed=1) == 0


def test_noise_of_runs_is_what_the_mean_of_the_drawn_runs_deviates_by() -> None:
    """Runs of the first system deviate by -1 and 1 by one measure, by twice that by the other."""
    deviations = np.array([[-1.0, 1.0, 0.0], [-2.0, 2.0, 0.0]])
    runs = RunDeviations(deviations, np.array([0, 0, 1]), np.array([True, True]))
    noise = run_noise(runs, replicates=50, seed=3)
    weights = run_weights(runs.systems, replicates=50, seed=3)
    expected = (weights[:, 0, 1] - weights[:, 0, 0]) / 2
    assert isinstance(noise, np.ndarray)
    assert noise.shape == (2, 2, 50)
    np.testing.assert_allclose(noise[:, 0], [expected, 2 * expected])
    assert (noise[:, 1] == 0).all()


Floats = NDArray[np.float64]


def sums(n_blocks: int, n_samples: int, *, seed: int = 0) -> Floats:
    """Sums of two measures for five systems, with ties."""
    return np.random.default_rng(seed).integers(0, 4, (2, n_blocks, 5, n_samples)) / 3


@pytest.mark.slow
def test_replicates_are_taus_of_weighted_means() -> None:
    resampling = Resampling.of(30, replicates=4, seed=1)
    samples, reference = sums(30, 3), sums(30, 1, seed=1)[..., 0]
    found = resampling.taus(samples, reference)
    for replicate, weights in enumerate(resampling.weights):
        means = np.einsum("b,mbsw->mws", weights, samples) / 30
        full = np.einsum("b,mbs->ms", weights, reference) / 30
        np.testing.assert_array_equal(found[:, :, replicate], tau_b(means, full[:, None]))


def runs_of(systems: list[int], *, complete: bool = True) -> RunDeviations:
    numbers = np.array(systems)
    return RunDeviations(np.zeros((1, len(numbers))), numbers, np.full(max(systems) + 1, complete))


def test_runs_are_drawn_with_the_users() -> None:
    runs = runs_of([0, 0, 1, 2, 2, 2])
    resampling = Resampling.of(30, replicates=4, seed=1, runs=runs)
    generator = np.random.default_rng(0)
    samples, reference = generator.random((2, 30, 6, 3)), generator.random((2, 30, 6))
    found = resampling.taus(samples, reference)
    assert resampling.runs is not None
    for replicate, (users, of_runs) in enumerate(
        zip(resampling.weights, resampling.runs, strict=True)
    ):
        means = np.einsum("b,sr,mbrw->mws", users, of_runs, samples)
        full = np.einsum("b,sr,mbr->ms", users, of_runs, reference)
        np.testing.assert_array_equal(found[:, :, replicate], tau_b(means, full[:, None]))


def test_folds_are_not_drawn() -> None:
    samples, reference = np.random.default_rng(0).random((2, 2, 30, 4, 3))
    folds, single = (
        Resampling.of(30, replicates=9, seed=1, runs=runs_of(systems, complete=complete))
        for systems, complete in (([0, 0, 1, 2], False), ([0, 1, 2], True))
    )
    joined, full = (sum_over_runs(sums, runs_of([0, 0, 1, 2])) for sums in (samples, reference))
    found = folds.taus(samples, reference[..., 0])
    assert (found == single.taus(joined, full[..., 0])).all()


@pytest.mark.parametrize("n_runs", [2, 5])
def test_intervals_hold_what_other_users_and_runs_give_on_average(
    rng: np.random.Generator, n_runs: int
) -> None:
    """Runs vary more than users, and otherwise on what is kept of the judgements."""
    n_systems, n_users, worth = 12, 40, np.linspace(0, 1, 12)[:, None, None]
    runs = runs_of(np.repeat(np.arange(n_systems), n_runs).tolist())

    def study() -> tuple[Floats, Floats]:
        """Sums of runs: on all judgements, and on one sample of them."""
        of_runs = rng.normal(0, 0.4, (n_systems, n_runs, 2))
        means = worth + of_runs + rng.normal(0, 0.1, of_runs.shape)
        noise = rng.normal(0, 0.5, (n_users, *means.shape))
        full, kept = np.moveaxis((means + noise) / n_runs, -1, 0).reshape(2, n_users, -1)
        return full[None], kept[None, :, :, None]

    def tau(full: Floats, kept: Floats) -> float:
        means = sum_over_runs(kept.sum(axis=1), runs)[..., 0]
        return float(tau_b(means, sum_over_runs(full.sum(axis=1)[..., None], runs)[..., 0]).item())

    truth = np.mean([tau(*study()) for _ in range(400)])
    both = Resampling.of(n_users, replicates=200, seed=1, runs=runs)
    users = Resampling.of(n_users, replicates=200, seed=1)
    held = np.zeros(2)
    for _ in range(200):
        full, kept = study()
        merged = sum_over_runs(kept, runs), sum_over_runs(full[..., None], runs)[..., 0]
        observed = np.array(tau(full, kept))
        for place, taus in enumerate((both.taus(kept, full), users.taus(*merged))):
            low, high = arcsine_limits(observed, taus[0, 0])
            held[place] += low <= truth <= high
    assert held[0] >= 180
    assert held[1] < 130


def test_a_band_is_as_wide_as_replicates_spread_about_what_was_observed() -> None:
    replicates = np.array(
        [np.linspace(0.1, 0.5, 41), np.append(np.linspace(-0.5, 0.5, 40), np.nan)]
    )
    low, high = shifted_band(np.array([0.4, -0.1]), replicates)
    np.testing.assert_allclose(low, [0.21, -0.575])
    np.testing.assert_allclose(high, [0.59, 0.375])


N_USERS, N_JUDGED = 60, 6


def simulated(seed: int, replicates: int) -> Sparsity:
    """Five systems that find each item with a chance of their own, and of the user's."""
    rng = np.random.default_rng(seed)
    chances = np.linspace(0.3, 0.5, 5)[:, None, None] * rng.uniform(0.3, 1.7, (N_USERS, 1))
    found = rng.random((5, N_USERS, N_JUDGED)) < chances

    @sums_of
    def sum_samples(kept: NDArray[np.bool_]) -> Floats:
        hits = found[..., None] & kept.reshape(N_USERS, N_JUDGED, -1)
        return hits.sum(axis=2, dtype=np.float64)[None]

    users, items = np.divmod(np.arange(N_USERS * N_JUDGED), N_JUDGED)
    qrels = qrels_from_columns(users, items, items * 0 + 1, n_users=N_USERS, relevance_level=1)
    work = JudgedWork(sum_samples, qrels, Measures([Measure("hits", 5)]), n_systems=5, seed=seed)
    return sparsity(work, Settings(levels=(0.6, 0.3), samples=10, replicates=replicates))


@pytest.mark.validity
def test_bands_cover_the_curve_of_the_population() -> None:
    truth = np.mean([simulated(seed, 0).means() for seed in range(1000, 1300)], axis=0)
    bands = [simulated(seed, 60).curves.band for seed in range(60)]
    covered = np.mean([(low <= truth) & (truth <= high) for low, high in bands], axis=0)
    # Of 60 intervals of 95 %, fewer than 52 cover with a chance of about 1 in 100.
    assert (covered > 51.5 / 60).all(), covered


def drawn(runs: np.ndarray, systems: list[int], *, replicates: int = 2000) -> np.ndarray:
    numbers = np.array(systems)
    found = run_noise(
        RunDeviations(runs, numbers, np.array([True] * (int(numbers.max()) + 1))),
        replicates=replicates,
        seed=1,
    )
    assert isinstance(found, np.ndarray)
    return found


def test_the_variance_is_that_of_a_mean_of_as_many_runs(rng: np.random.Generator) -> None:
    values = rng.normal(size=(500, 3))
    deviations = values - values.mean(axis=1, keepdims=True)
    variances = drawn(deviations, [0, 0, 0])[:, 0].var(axis=1)
    np.testing.assert_allclose(variances, values.var(axis=1, ddof=1) / 3, rtol=0.15)
    assert 0.27 < variances.mean() < 0.40


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("part", [1, 3, 10])
def test_every_draw_is_counted_once(n_jobs: int, part: int) -> None:
    squares = np.arange(10) ** 2
    p = monte_carlo_p(
        lambda start, stop: squares[start:stop].sum(keepdims=True),
        10,
        draws_per_task=part,
        n_jobs=n_jobs,
        advance=None,
    )
    np.testing.assert_array_equal(p, [286 / 11])
