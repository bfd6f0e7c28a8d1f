import numpy as np
import pytest

from analyses.significance.exact import decay_angle, p_by_enumeration, p_by_product, revives
from tests.analyses.permutation.references import Floats, p_by_long_series


def heavy_tails(n_users: int, rng: np.random.Generator) -> dict[str, Floats]:
    signs = rng.choice([-1.0, 1.0], n_users, p=[0.4, 0.6])
    few_large = rng.normal(0, 0.01, n_users)
    few_large[:3] = [1.0, 0.9, -0.7]
    return {
        "log-normal": signs * rng.lognormal(0, 1.5, n_users),
        "cauchy": rng.standard_cauchy(n_users) + 0.3,
        "few large": few_large,
    }


TAILS = ["log-normal", "cauchy", "few large"]


@pytest.mark.slow
@pytest.mark.parametrize("tail", TAILS)
def test_heavy_tails_agree_with_enumeration(tail: str, rng: np.random.Generator) -> None:
    differences = heavy_tails(41, rng)[tail]
    expected = p_by_enumeration(differences)
    assert p_by_product(differences) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("n_users", [100, 400])
def test_heavy_tails_agree_with_a_longer_series(
    n_users: int, tail: str, rng: np.random.Generator
) -> None:
    differences = heavy_tails(n_users, rng)[tail]
    expected = p_by_long_series(differences)
    assert p_by_product(differences) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_sizes_that_nearly_agree_only_take_longer(rng: np.random.Generator) -> None:
    differences = rng.choice([-1.0, 1.0], 1000) * rng.normal(1, 0.01, 1000)
    expected = p_by_long_series(differences)
    assert p_by_product(differences) == pytest.approx(expected, abs=1e-9)


def test_equal_sizes_are_refused() -> None:
    assert np.isnan(p_by_product(np.repeat([1.0, -1.0], [310, 290])))


def test_sizes_too_far_apart_are_refused(rng: np.random.Generator) -> None:
    differences = np.append(rng.normal(size=60) * 1e-9, [1.0, 0.9, -0.7])
    assert np.isnan(p_by_product(differences))


def test_a_continuous_metric_does_not_revive(rng: np.random.Generator) -> None:
    assert not revives(rng.beta(0.5, 2, 1000) - rng.beta(0.5, 2, 1000))


def test_a_lattice_revives(rng: np.random.Generator) -> None:
    assert revives(rng.integers(-5, 7, size=1000) / 5)


def test_beyond_the_decay_angle_the_bound_is_met(rng: np.random.Generator) -> None:
    sizes = rng.lognormal(0, 1, 300)
    angle = decay_angle(sizes, np.ones(300, dtype=np.intp))
    assert np.abs(np.cos(angle * sizes)).prod() <= np.exp(-37)


def test_without_decay_the_most_decayed_angle_is_taken() -> None:
    """Ten equal differences: the bound is best at a quarter turn, pi / 2."""
    assert decay_angle(np.array([1.0]), np.array([10])) == pytest.approx(np.pi / 2)
