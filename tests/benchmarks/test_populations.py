import numpy as np
import pytest

from tests.analyses.significance.references import Floats
from tests.benchmarks.populations import exchangeable_set, sampled_set


@pytest.fixture
def population() -> Floats:
    """Five systems; a score says whose it is: system / 10 + user."""
    return np.arange(40.0) + np.arange(5)[:, np.newaxis] / 10


def test_a_set_keeps_users_together(population: Floats) -> None:
    scores = exchangeable_set(population, n_systems=5, n_users=30, seed=2, number=0)
    np.testing.assert_allclose(
        np.sort(scores, axis=0) - scores.min(axis=0), population[:, :1] * np.ones(30)
    )


def test_dealing_out_favours_no_system(population: Floats) -> None:
    scores = exchangeable_set(population, n_systems=5, n_users=5000, seed=2, number=0)
    best = np.bincount(scores.argmax(axis=0), minlength=5)
    assert np.abs(best - 1000).max() < 5 * np.sqrt(800)


def test_sets_differ_by_number_and_not_by_what_was_drawn_before(population: Floats) -> None:
    first, second, again = (
        sampled_set(population, n_systems=5, n_users=30, seed=2, number=number)
        for number in (0, 1, 0)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()
