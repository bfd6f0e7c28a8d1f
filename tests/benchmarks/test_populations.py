import numpy as np
import pytest

from tests.analyses.significance.references import Floats
from tests.benchmarks.populations import (
    exchangeable_set,
    sampled_set,
    simulated_population,
    uniforms,
)


@pytest.fixture
def population() -> Floats:
    """Five systems; a score says whose it is: system / 10 + user."""
    return np.arange(40.0) + np.arange(5)[:, np.newaxis] / 10


def test_uniform_numbers_fill_the_unit_interval_evenly() -> None:
    numbers = uniforms((20_000,), 1, "test")
    counts, _ = np.histogram(numbers, bins=10, range=(0, 1))
    assert counts.sum() == 20_000
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(1800)


@pytest.mark.parametrize("kind", ["continuous", "lattice"])
def test_systems_of_a_simulated_population_differ(kind: str) -> None:
    scores = simulated_population(kind, seed=1)
    assert (np.diff(scores.mean(axis=1)) < -0.01).all()
    assert (scores.min(), scores.max()) == pytest.approx((0, 1), abs=0.01)


def test_a_set_keeps_users_together(population: Floats) -> None:
    scores = exchangeable_set(population, n_systems=5, n_users=30, seed=2, number=0)
    np.testing.assert_allclose(
        np.sort(scores, axis=0) - scores.min(axis=0), population[:, :1] * np.ones(30)
    )


def test_dealing_out_favours_no_system(population: Floats) -> None:
    scores = exchangeable_set(population, n_systems=5, n_users=5000, seed=2, number=0)
    best = np.bincount(scores.argmax(axis=0), minlength=5)
    assert np.abs(best - 1000).max() < 5 * np.sqrt(800)


def test_a_sampled_set_keeps_systems_apart(population: Floats) -> None:
    scores = sampled_set(population, n_systems=2, n_users=30, seed=2, number=0)
    tenths = np.round(10 * (scores - np.floor(scores)))
    assert all(len(set(row)) == 1 for row in tenths.tolist())


def test_users_are_drawn_evenly_with_replacement(population: Floats) -> None:
    scores = sampled_set(population, n_systems=5, n_users=8000, seed=2, number=0)
    drawn = np.bincount(np.floor(scores[0]).astype(int), minlength=40)
    assert np.abs(drawn - 200).max() < 5 * np.sqrt(200)


def test_sets_differ_by_number_and_not_by_what_was_drawn_before(population: Floats) -> None:
    first, second, again = (
        sampled_set(population, n_systems=5, n_users=30, seed=2, number=number)
        for number in (0, 1, 0)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()
