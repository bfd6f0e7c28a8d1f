import numpy as np
import pytest
from hypothesis import assume, given
from numpy.typing import NDArray
from scipy.stats import spearmanr

from analyses.ordering import spearman
from tests.analyses.ordering.examples import TIED_PAIRS


@given(TIED_PAIRS)
def test_it_is_scipys(scores: NDArray[np.float64]) -> None:
    assume(np.ptp(scores, axis=1).all())
    expected = spearmanr(scores[0], scores[1]).statistic
    assert spearman(scores[0], scores[1]) == pytest.approx(expected, abs=1e-14)


def test_it_is_undefined_where_all_systems_tie() -> None:
    assert np.isnan(spearman(np.ones(3), np.arange(3.0)))
