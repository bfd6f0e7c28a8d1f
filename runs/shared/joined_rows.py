"""Rows of text, joined from columns of few distinct texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS_AT_ONCE = 1 << 20


def joined_rows(*columns: tuple[Sequence[str], NDArray[np.integer]]) -> bytes:
    r"""Join the texts of each row, and all rows.

    Parameters
    ----------
    columns
        The distinct texts of each column, and numbers of them, of shape (n_rows,).

    Examples
    --------
    >>> joined_rows((["a ", "b "], np.array([1, 0])), (["1\n", "2\n"], np.array([0, 0])))
    b'b 1\na 1\n'
    """
    import pyarrow as pa

    texts = [pa.array(distinct, pa.large_string()) for distinct, _ in columns]
    n_rows = len(columns[0][1])
    blocks = (slice(first, first + ROWS_AT_ONCE) for first in range(0, n_rows, ROWS_AT_ONCE))
    return b"".join(
        _joined(
            [
                distinct.take(pa.array(numbers[rows]))
                for distinct, (_, numbers) in zip(texts, columns, strict=True)
            ]
        )
        for rows in blocks
    )


def _joined(columns: Sequence[Any]) -> bytes:
    """Join the texts of each row, and all rows: they lie one after the other in Arrow's memory."""
    import pyarrow as pa
    import pyarrow.compute as compute

    rows = compute.binary_join_element_wise(*columns, pa.scalar("", pa.large_string()))
    return rows.buffers()[2].to_pybytes()
