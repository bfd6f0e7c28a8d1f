"""Columns as a stream that libraries of data frames read: polars, DuckDB, pyarrow, pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray


def arrow_stream(
    columns: Mapping[str, NDArray[Any] | Sequence[str]], *, requested_schema: object | None
) -> object:
    """Hand out columns of equal length as a capsule of the Arrow C stream interface.

    ``requested_schema`` is a capsule of the types that the reader prefers, or None.

    Examples
    --------
    >>> import numpy as np
    >>> capsule = arrow_stream({"rank": np.array([1, 2])}, requested_schema=None)
    >>> type(capsule).__name__
    'PyCapsule'
    """
    import pyarrow as pa

    return pa.table(dict(columns)).__arrow_c_stream__(requested_schema)
