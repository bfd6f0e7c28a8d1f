import numpy as np
import pytest
from hypothesis import given

from analyses.significance.corrections import holm
from tests.analyses.corrections.references import Floats, families


def rejected_by_steps(p: Floats, level: float) -> list[bool]:
    """Holm's own words: go up from the smallest, and stop at the first that is not rejected."""
    rejected = [False] * len(p)
    for step, pair in enumerate(np.argsort(p)):
        if p[pair] * (len(p) - step) > level:
            break
        rejected[pair] = True
    return rejected


@pytest.mark.parametrize("level", [0.01, 0.1])
@given(p=families)
def test_it_rejects_what_holms_steps_reject(level: float, p: Floats) -> None:
    for row in np.atleast_2d(p):
        assert (holm(row) <= level).tolist() == rejected_by_steps(row, level)


def test_an_example_by_hand() -> None:
    """4 x .005, 3 x .011, 2 x .02, 1 x .04."""
    adjusted = holm(np.array([0.04, 0.005, 0.02, 0.011]))
    np.testing.assert_allclose(adjusted, [0.04, 0.02, 0.04, 0.033])
