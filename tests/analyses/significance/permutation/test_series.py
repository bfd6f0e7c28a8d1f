import numpy as np
import pytest
from scipy.special import bernoulli, factorial

from analyses.significance.exact import LOG_COSINE, p_by_series
from analyses.significance.permutation import REACH, PairSums
from tests.analyses.permutation.references import Floats, one_pair, p_by_long_series


def p_of(differences: Floats) -> float:
    sums = PairSums.of(one_pair(differences), n_powers=len(LOG_COSINE))
    return float(p_by_series(sums)[0])


def test_the_coefficients_are_those_of_the_logarithm_of_the_cosine() -> None:
    r = np.arange(1, len(LOG_COSINE) + 1)
    numbers = np.abs(bernoulli(2 * len(r))[2 * r])
    expected = 2.0 ** (2 * r - 1) * (4.0**r - 1) * numbers / (r * factorial(2 * r))
    np.testing.assert_allclose(LOG_COSINE, expected, rtol=1e-11)


@pytest.mark.parametrize("shift", [0.0, 0.01, 0.05, 0.1])
@pytest.mark.parametrize("n_users", [200, 600, 3000])
def test_it_agrees_with_a_longer_series_of_plain_cosines(
    n_users: int, shift: float, rng: np.random.Generator
) -> None:
    differences = rng.uniform(-1, 1, size=n_users) + shift
    spread = REACH * np.abs(differences).max() / np.sqrt((differences**2).sum())
    assert spread <= 2
    expected = p_by_long_series(differences, n_terms=300)
    assert p_of(differences) == pytest.approx(expected, abs=1e-9 if n_users == 200 else 1e-12)
