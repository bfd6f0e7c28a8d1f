import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyses.ordering import tau_b
from analyses.ordering.tau_b_loop import sample_taus


@given(st.integers(0, 999), st.integers(2, 9), st.integers(1, 11), st.integers(2, 9))
def test_samples_give_what_the_definition_gives(
    seed: int, n_systems: int, n_samples: int, n_values: int
) -> None:
    rng = np.random.default_rng(seed)
    estimates = rng.integers(0, n_values, (3, n_systems, n_samples)).astype(np.float64)
    references = rng.integers(0, n_values, (3, n_systems)).astype(np.float64)
    expected = tau_b(estimates.swapaxes(1, 2), references[:, None, :])
    np.testing.assert_array_equal(sample_taus(estimates, references, 1.0), expected)


def test_scores_closer_than_the_scale_tie() -> None:
    estimates, references = np.array([[[1.0], [1.2]]]), np.array([[1.0, 2.0]])
    assert np.isnan(sample_taus(estimates, references, 1.0)).all()
    assert sample_taus(estimates, references, 10.0) == 1.0
