import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.intervals.bands import N_BLOCKS, Resampling, band
from analyses.ordering import tau_b
from analyses.shared.measure import Measure, Measures
from analyses.sparsity import Settings, Sparsity, sparsity
from qrels import qrels_from_columns
from tests.analyses.blocks import sums_of
from tests.analyses.made import JudgedWork

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


def test_a_sample_that_is_the_reference_always_agrees() -> None:
    reference = sums(30, 1)
    taus = Resampling.of(30, replicates=50, seed=1).taus(reference, reference[..., 0])
    assert (taus == 1.0).all()


def test_few_users_are_blocks_of_one() -> None:
    assert np.bincount(Resampling.of(30, replicates=1, seed=1).blocks).tolist() == [1] * 30


def test_many_users_share_blocks() -> None:
    sizes = np.bincount(Resampling.of(2 * N_BLOCKS + 1, replicates=1, seed=1).blocks)
    assert sorted(sizes) == [2] * (N_BLOCKS - 1) + [3]


@pytest.mark.slow
def test_without_replicates_all_users_are_one_block() -> None:
    resampling = Resampling.of(30, replicates=0, seed=1)
    assert (resampling.blocks == 0).all()
    assert resampling.taus(sums(1, 3), sums(1, 1)[..., 0]).shape == (2, 3, 0)


def test_a_band_is_as_wide_as_replicates_spread_about_what_was_observed() -> None:
    replicates = np.array(
        [np.linspace(0.1, 0.5, 41), np.append(np.linspace(-0.5, 0.5, 40), np.nan)]
    )
    low, high = band(np.array([0.4, -0.1]), replicates)
    np.testing.assert_allclose(low, [0.21, -0.575])
    np.testing.assert_allclose(high, [0.59, 0.375])


def test_a_band_ends_where_values_do() -> None:
    low, high = band(np.array([0.9, -0.9]), np.array([[0.0, 0.2, 4.0]] * 2), limits=(-1, 1))
    assert high[0] <= 1.0
    assert low[1] >= -1.0


def test_without_replicates_a_band_is_nowhere() -> None:
    assert np.isnan(band(np.ones(3), np.empty((3, 0)))).all()


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
    bands = [simulated(seed, 60).curves.band() for seed in range(60)]
    covered = np.mean([(low <= truth) & (truth <= high) for low, high in bands], axis=0)
    # Of 60 intervals of 95 %, fewer than 52 cover with a chance of about 1 in 100.
    assert (covered > 51.5 / 60).all(), covered
