import numpy as np
import pytest

from analyses.significance.split_halves import agreement_of_halves
from analyses.significance.variance_components import variance_components


@pytest.mark.slow
def test_split_halves_agree_with_the_generalizability_coefficient(
    rng: np.random.Generator,
) -> None:
    values = 0.2 * rng.normal(size=(1, 40, 1)) + rng.normal(size=(1, 40, 60))
    halves = agreement_of_halves(values, repeats=40, seed=1)
    expected = variance_components(values).relative.item()
    assert halves.reliability.item() == pytest.approx(expected, abs=0.03)


def test_users_who_agree_swap_nothing() -> None:
    found = agreement_of_halves(np.tile(np.arange(3.0)[:, None], (1, 1, 8)), repeats=5, seed=0)
    assert (found.reliability.tolist(), found.swap_rate.tolist()) == ([1.0], [0.0])


def test_equal_systems_have_no_reliability() -> None:
    assert np.isnan(agreement_of_halves(np.ones((1, 3, 8)), repeats=2, seed=0).reliability).all()


def test_without_draws_nothing_is_known() -> None:
    assert np.isnan(agreement_of_halves(np.ones((2, 3, 8)), repeats=0, seed=0).tau).all()
