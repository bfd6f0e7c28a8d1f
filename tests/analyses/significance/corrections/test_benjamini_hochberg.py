import numpy as np
from hypothesis import given
from scipy import stats

from analyses.significance.corrections import benjamini_hochberg
from tests.analyses.corrections.references import Floats, families


@given(families)
def test_it_gives_what_scipy_gives(p: Floats) -> None:
    expected = stats.false_discovery_control(p, axis=-1)
    np.testing.assert_allclose(benjamini_hochberg(p), expected, rtol=1e-12)
