from itertools import combinations

import numpy as np
import pytest

from analyses.verdicts.reliability import reliability, tau_within_noise


def test_reliability_is_the_mean_over_all_halvings_of_the_users(rng: np.random.Generator) -> None:
    """Flanagan and Rulon: 4 cov(a, b) / var(a + b), of the sums a and b of the halves."""
    values = rng.random((5, 1)) + rng.random((5, 6))
    halves = []
    for half in combinations(range(6), 3):
        a = values[:, half].sum(axis=1)
        b = values.sum(axis=1) - a
        halves.append(4 * np.cov(a, b)[0, 1] / np.var(a + b, ddof=1))
    assert reliability(values) == pytest.approx(np.mean(halves))


def test_users_who_agree_make_a_reliable_measure() -> None:
    assert reliability(np.tile([[0.1], [0.4], [0.3]], 5)) == pytest.approx(1.0)


@pytest.mark.parametrize("values", [np.ones((3, 4)), np.array([[0.1], [0.3]])])
def test_of_equal_systems_and_of_one_user_nothing_is_known(values: np.ndarray) -> None:
    assert np.isnan(reliability(values))


def test_noise_without_systems_is_not_reliable(rng: np.random.Generator) -> None:
    # Below 0, where it lies half of the time, it is cut; its deviation is about .5 for 6 systems.
    assert reliability(rng.random((400, 6, 50))).mean() < 0.35


def test_two_noisy_views_of_normal_systems_agree_as_expected(rng: np.random.Generator) -> None:
    from analyses.ordering import tau_b

    worth = rng.normal(size=(300, 25))
    views = worth[:, None] + rng.normal(size=(300, 2, 25))
    # Half of the variance is noise in each: tau of a correlation of 1/2.
    expected = tau_within_noise(np.array(0.5), np.array(0.5))
    assert expected == pytest.approx(1 / 3)
    assert tau_b(views[:, 0], views[:, 1]).mean() == pytest.approx(expected, abs=0.03)
