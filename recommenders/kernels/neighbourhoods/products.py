"""Products of sparse matrices that are nearly full, written into dense ones at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def dense_product(left: csr_array[Any], right: csr_array[Any]) -> NDArray[np.float64]:
    """Multiply two sparse matrices, some rows by all columns.

    Every sum runs in the order of the entries of the left row, as in scipy's product, and has
    the same last bit. Scipy's keeps lists of what is not zero, which takes several times as
    long where most is not.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> dense_product(csr_array([[0.0, 2.0]]), csr_array([[1.0, 0.0], [3.0, 4.0]]))
    array([[6., 8.]])
    """
    from recommenders.kernels.neighbourhoods.product_loop import add_products

    product = np.zeros((left.shape[0], right.shape[1]))
    add_products(
        left.indptr,
        left.indices,
        left.data.astype(np.float64, copy=False),
        right.indptr,
        right.indices,
        right.data.astype(np.float64, copy=False),
        product,
    )
    return product
