"""Products of sparse matrices, written densely."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from recommenders.kernels.neighbours import dense_product


@given(seed=st.integers(0, 1000), density=st.floats(0, 1))
def test_the_product_is_scipys_to_the_last_bit(seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    left = csr_array(rng.random((6, 9)) * (rng.random((6, 9)) < density))
    right = csr_array(rng.random((9, 7)) * (rng.random((9, 7)) < density))
    np.testing.assert_array_equal(dense_product(left, right), (left @ right).toarray())
