"""Scores with ties, noise and few or many users, for tests of tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Differences of tenths carry rounding noise, and many of them tie.
tenths = (
    st.integers(2, 12)
    .flatmap(lambda n_users: arrays(np.int64, (2, 3, n_users), elements=st.integers(0, 10)))
    .map(lambda whole: whole / 10)
)


def some_scores(rng: np.random.Generator, *, n_users: int) -> Floats:
    """A continuous measure and one of tenths: 4 systems, the later ones better."""
    continuous = rng.beta(0.5, 2.0, size=(4, n_users)) + 0.05 * np.arange(4)[:, np.newaxis]
    return np.stack([continuous, np.round(continuous, 1)])


def pair_scores(differences: list[float]) -> Floats:
    """Scores of two systems with these differences, of shape (1, 2, n_users)."""
    return np.stack([np.array(differences), np.zeros(len(differences))])[np.newaxis]
