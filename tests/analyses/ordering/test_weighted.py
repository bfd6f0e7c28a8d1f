import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from scipy.stats import weightedtau

from analyses.ordering import weighted_tau
from tests.analyses.ordering.examples import TIED_PAIRS, X_TIED, Y_TIED, X, Y


def test_the_reference_values() -> None:
    assert weighted_tau(X, Y) == pytest.approx(0.8478676, abs=5e-8)
    assert weighted_tau(X_TIED, Y_TIED) == pytest.approx(0.7970161, abs=5e-8)


@given(TIED_PAIRS)
def test_it_is_scipys(scores: NDArray[np.float64]) -> None:
    expected = weightedtau(scores[0], scores[1]).statistic
    assert weighted_tau(scores[0], scores[1]) == pytest.approx(expected, abs=1e-14, nan_ok=True)
