import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analyses.significance.exact import characteristic_function, distinct_sizes
from tests.analyses.permutation.references import Floats


@given(
    arrays(np.float64, st.integers(1, 200), elements=st.integers(-50, 50)).filter(np.any),
    st.sampled_from([1.0, 0.1, np.pi / 7, np.pi / 501]),
    st.integers(1, 700),
)
def test_it_is_the_product_of_cosines(differences: Floats, step: float, n_angles: int) -> None:
    sizes, counts = distinct_sizes(differences)
    numbers, products = characteristic_function(sizes, counts, step=step, n_angles=n_angles)
    found = np.zeros(n_angles)
    found[numbers - 1] = products
    angles = step * np.arange(1, n_angles + 1)
    expected = np.cos(np.multiply.outer(angles, differences)).prod(axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_zeros_have_no_size() -> None:
    sizes, counts = distinct_sizes(np.array([0.0, -0.0, 3.0]))
    assert (sizes.tolist(), counts.tolist()) == ([3.0], [1])


def test_sizes_are_the_same_counted_and_sorted(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    differences = rng.integers(-9, 9, 200).astype(np.float64)
    counted = distinct_sizes(differences)
    monkeypatch.setattr("analyses.significance.exact.FEW_SIZES", 0)
    for some, expected in zip(counted, distinct_sizes(differences), strict=True):
        np.testing.assert_array_equal(some, expected, strict=True)
