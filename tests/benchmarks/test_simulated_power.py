"""The power that `harness design` computes, against that of the permutation test."""

import numpy as np
import pytest

from analyses.significance.power import t_power
from tests.benchmarks.simulated_power import simulated_power

Rates = dict[str, float]


def power(differences: np.ndarray, *, mean: float, n_users: int, draws: int) -> float:
    asked: Rates = {"mean": mean, "alpha": 0.05}
    return simulated_power(differences, n_users=n_users, draws=draws, seed=2, **asked)


@pytest.mark.validity
def test_no_difference_is_found_as_often_as_the_level_allows() -> None:
    rng = np.random.default_rng(20261121)
    found = power(rng.normal(size=200), mean=0.0, n_users=60, draws=150)
    assert found <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)


@pytest.mark.validity
def test_normal_differences_are_found_as_often_as_by_t() -> None:
    rng = np.random.default_rng(20261121)
    pilot = rng.normal(size=400)
    found = power(pilot, mean=0.3, n_users=90, draws=150)
    expected = float(t_power(np.array(0.3 / pilot.std()), 90, alpha=0.05))
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 150))


def test_a_clear_difference_is_always_found() -> None:
    assert power(np.array([0.9, 1.0, 1.1]), mean=1.0, n_users=20, draws=10) == 1.0
