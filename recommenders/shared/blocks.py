"""Blocks of rows, so that no matrix of all rows is ever held."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_BYTES = 64 * 2**20
BLOCK_ROWS = 512


def row_blocks(n_rows: int, *, row_bytes: int, block_bytes: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut rows of so many bytes into blocks that keep within the budget, of at most 512 rows.

    Examples
    --------
    >>> list(row_blocks(1000, row_bytes=4 * 40_000))
    [slice(0, 419, None), slice(419, 838, None), slice(838, 1000, None)]
    """
    size = min(BLOCK_ROWS, max(1, block_bytes // max(row_bytes, 1)))
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))
