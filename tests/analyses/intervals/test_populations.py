"""Populations of users behind means, and clusters of systems."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.intervals.populations import Populations, groupings, interval
from analyses.intervals.resampling import resample_means
from analyses.ordering import tau_b

Floats = NDArray[np.float64]


def populations_of(
    values: Floats, families: NDArray[np.intp] | None = None, *, seed: int = 1
) -> Populations:
    resampled = resample_means(values, replicates=200, seed=seed)
    own = np.arange(values.shape[1]) if families is None else families
    return Populations(values.mean(axis=2), resampled, values.shape[2], seed, own)


def scores_of(rng: np.random.Generator, truths: Floats, *, n_users: int, noise: float) -> Floats:
    """Two measures of systems with true means (2, n_systems), whose noise they share in part."""
    users = rng.normal(0, 1, (1, 1, n_users))
    own = rng.normal(0, noise, (2, truths.shape[1], n_users))
    shared = rng.normal(0, noise, (1, truths.shape[1], n_users))
    return truths[:, :, None] + users + own + shared


def test_a_measure_agrees_with_itself_in_every_population(rng: np.random.Generator) -> None:
    values = scores_of(rng, rng.normal(size=(2, 6)), n_users=30, noise=2.0)
    assert (tau_b(*populations_of(values).draw(0, 0)) == 1.0).all()


def test_systems_that_are_scored_alike_stay_alike(rng: np.random.Generator) -> None:
    values = scores_of(rng, rng.normal(size=(2, 6)), n_users=30, noise=1.0)
    values[0, 4] = values[0, 1]
    first, second = populations_of(values).draw(0, 1)
    np.testing.assert_array_equal(first[:, 4], first[:, 1])
    assert (second[:, 4] != second[:, 1]).all()


def test_the_units_of_a_measure_do_not_matter(rng: np.random.Generator) -> None:
    values = scores_of(rng, rng.normal(size=(2, 6)), n_users=30, noise=1.0)
    taus = tau_b(*populations_of(values).draw(0, 1))
    np.testing.assert_array_equal(
        tau_b(*populations_of(values * [[[1024.0]], [[1.0]]]).draw(0, 1)), taus
    )


def test_noise_is_not_taken_for_disagreement(rng: np.random.Generator) -> None:
    """Two measures that agree in truth seem not to, with few users; populations know better."""
    truths = np.linspace(0, 2, 20)[None].repeat(2, axis=0)
    values = scores_of(rng, truths, n_users=50, noise=1.0)
    means = values.mean(axis=2)
    seen = float(tau_b(means[0], means[1]))
    resampled = resample_means(values, replicates=200, seed=1)
    again = tau_b(*np.ascontiguousarray(resampled.transpose(0, 2, 1)))
    assert again.mean() < seen < 1
    assert tau_b(*populations_of(values).draw(0, 1)).mean() > seen


def test_the_interval_holds_what_was_observed() -> None:
    low, high = interval(np.array([0.5, 0.95]), np.array([[0.6, 0.7], [0.8, 0.9]]))
    assert low[0] == 0.5
    assert high[1] == 0.95


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_systems", "n_users"),
    [(8, 50), *(pytest.param(20, n, marks=pytest.mark.validity) for n in (50, 200))],
)
def test_intervals_hold_the_agreement_in_the_population(n_systems: int, n_users: int) -> None:
    """Of 80 intervals of 95 %, fewer than 70 hold with a chance below 1 in 1,000."""
    n_held = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        first, other = rng.normal(0, 0.5, (2, n_systems))
        truths = np.stack([first, 0.9 * first + 0.3 * other])
        values = scores_of(rng, truths, n_users=n_users, noise=1.0)
        found = interval(
            tau_b(*values.mean(axis=2)), tau_b(*populations_of(values, seed=seed).draw(0, 1))
        )
        n_held += bool(found[0] <= tau_b(*truths) <= found[1])
    assert n_held >= 70


@pytest.mark.slow
def test_intervals_hold_where_families_share_noise_and_worth() -> None:
    """Of 80 intervals of 95 %, fewer than 70 hold with a chance below 1 in 1,000."""
    families = np.arange(30) % 4
    held = np.zeros(2)
    for seed in range(80):
        rng = np.random.default_rng(seed)
        first, other = rng.normal(0, 0.3, (2, 4))[:, families] + rng.normal(0, 0.1, (2, 30))
        truths = np.stack([first, 0.8 * first + 0.6 * other])
        shared = rng.normal(0, 1, (2, 4, 100))[:, families] + rng.normal(0, 0.3, (2, 30, 100))
        values = truths[:, :, None] + np.stack([shared[0], 0.6 * shared[0] + 0.8 * shared[1]])
        for place, known in enumerate((families, None)):
            drawn = tau_b(*populations_of(values, known, seed=seed).draw(0, 1))
            low, high = interval(tau_b(*values.mean(axis=2)), drawn)
            held[place] += low <= tau_b(*truths) <= high
    assert held[0] >= 70 > held[1]


FIRST = set(range(10))


@pytest.fixture
def clustered(rng: np.random.Generator) -> Floats:
    """Means by two measures: of systems 0 to 9 next to each other, of 10 to 19 far apart."""
    places = np.concatenate([rng.normal(0.3, 0.01, 10), np.linspace(-2, 2, 10)])
    return np.stack([places, places + rng.normal(0, 0.01, 20)])


def parts_of(means: Floats, *, noise: float, n_groupings: int = 8) -> list[list[set[int]]]:
    """Groups of each grouping; noise is as large for every system."""
    replicates = np.full((*means.shape, 1), noise)
    return [
        [set(group.tolist()) for group in groups]
        for groups, numbers in groupings(means, replicates, n_groupings=n_groupings)
        for _ in numbers
    ]


def test_systems_that_lie_close_to_each_other_are_a_cluster(clustered: Floats) -> None:
    for cluster, others in parts_of(clustered, noise=0.01):
        assert len(cluster & FIRST) >= 8
        assert len(others - FIRST) >= 8


def test_what_noise_hides_is_no_cluster(clustered: Floats) -> None:
    assert parts_of(clustered, noise=2.0) == [[set(range(20))]] * 8


def test_clusters_that_may_be_chance_are_in_some_draws_alone(rng: np.random.Generator) -> None:
    """Systems 0 to 5 lie closer than the others, but not for certain."""
    places = np.concatenate([np.linspace(0.2, 0.22, 6), np.linspace(-2, 2, 6)])
    values = scores_of(rng, np.stack([places, places]), n_users=100, noise=2.0)
    values += (places - values.mean(axis=2))[:, :, None]
    first, _ = populations_of(values).draw(0, 1)
    gaps = np.abs(first[:, :6] - first[:, :6].mean(axis=1, keepdims=True)).mean(axis=1)
    of_turns = [gaps[turn::4].mean() for turn in range(4)]
    assert max(of_turns) > 2.5 * min(of_turns)


def test_few_users_do_not_exclude_that_measures_agree_entirely() -> None:
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truths = np.linspace(0, 0.5, 8)[None].repeat(2, axis=0)
        values = scores_of(rng, truths, n_users=30, noise=2.0)
        drawn = tau_b(*populations_of(values, seed=seed).draw(0, 1))
        held += interval(tau_b(*values.mean(axis=2)), drawn)[1] == 1.0
    assert held >= 18
