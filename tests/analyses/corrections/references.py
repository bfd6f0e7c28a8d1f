"""Families of p-values, and small scores, for tests of corrections."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

Floats = NDArray[np.float64]

families = arrays(
    np.float64,
    array_shapes(min_dims=1, max_dims=2, max_side=8),
    elements=st.floats(1e-300, 1.0) | st.sampled_from([0.01, 0.02, 0.05, 1.0]),
)


def some_scores(rng: np.random.Generator) -> Floats:
    """A continuous measure and one of tenths: 4 systems, the last clearly better, 30 users."""
    continuous = rng.beta(0.5, 2.0, size=(4, 30)) + np.array([[0.0], [0.0], [0.1], [0.4]])
    return np.stack([continuous, np.round(continuous, 1)])
