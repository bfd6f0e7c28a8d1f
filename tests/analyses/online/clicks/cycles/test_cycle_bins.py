import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.clicks.cycles.cycle_bins import damping
from runs import InputError


@pytest.mark.parametrize(
    ("bin_width", "left"), [(14.7, 0.49), (10.7, 0.70), (33.9, 0.22), (32.4, 0.21), (48, 0)]
)
def test_periods_of_the_thesis_damp_a_day(bin_width: float, left: float) -> None:
    assert damping(24, bin_width=bin_width) == pytest.approx(left, abs=0.005)


@given(st.floats(0.5, 50), st.floats(0.1, 50))
def test_damping_is_that_of_means_over_bins(period: float, bin_width: float) -> None:
    # The middle of the bin is the top of the cosine, of which the bin holds the mean.
    inside = (np.arange(20_000) + 0.5) / 20_000 * bin_width - bin_width / 2
    mean = np.cos(2 * np.pi * inside / period).mean()
    assert damping(period, bin_width=bin_width) == pytest.approx(abs(mean), abs=1e-3)


@pytest.mark.parametrize(("period", "bin_width"), [(0, 1), (24, 0), (-1, 1), (math.nan, 1)])
def test_lengths_must_be_above_0(period: float, bin_width: float) -> None:
    with pytest.raises(InputError, match="must be above 0"):
        damping(period, bin_width=bin_width)
