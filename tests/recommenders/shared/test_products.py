"""Products of sparse matrices, written densely."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import random_array

from recommenders.shared.products import dense_product


@given(seed=st.integers(0, 1000), density=st.floats(0, 1))
def test_the_product_is_scipys_to_the_last_bit(seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    left = random_array((6, 9), density=density, format="csr", rng=rng)
    right = random_array((9, 7), density=density, format="csr", rng=rng)
    np.testing.assert_array_equal(dense_product(left, right), (left @ right).toarray())
