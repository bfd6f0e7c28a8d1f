"""Objects of other tools that hold a table, as data frames of pandas.

Data frames of pandas, what exports Arrow (polars, pyarrow), dictionaries of columns, and what has
``to_df()`` (lists of LensKit) or ``list_metrics`` (what LensKit measures).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runs import InputError
from runs.shared.errors import as_input_error

if TYPE_CHECKING:
    import pandas as pd


def is_frame(data: Any) -> bool:
    """Tell whether an object is a data frame, or hands one out."""
    return any(hasattr(data, name) for name in ("collect", "columns", "to_df", "list_metrics"))


def frame_of(data: Any) -> pd.DataFrame:
    """Convert an object to a data frame of pandas.

    Raises
    ------
    InputError
        If it is no table.
    """
    import pyarrow as pa

    if hasattr(data, "list_metrics"):
        # A method, or the frame itself in LensKit 2026's RunMetrics.
        data = data.list_metrics() if callable(data.list_metrics) else data.list_metrics
    if hasattr(data, "to_df"):
        data = data.to_df()
    if hasattr(data, "collect"):
        # A lazy frame of polars.
        data = data.collect()
    if hasattr(data, "iloc"):
        return data
    is_table = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__")
    if not is_table and not _are_columns(data):
        raise InputError(
            f"{type(data).__name__} is no table: give a data frame of pandas or polars, a table of "
            "Arrow, or a dictionary of columns, {name: [value, ...]}."
        )
    with as_input_error(f"{type(data).__name__} is no table that can be read", pa.ArrowException):
        return pa.table(data).to_pandas()


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Make columns of the levels of the index that have names, and number the rows from 0."""
    levels = [name for name in frame.index.names if name is not None]
    columns = frame.reset_index(level=levels) if levels else frame
    return columns.reset_index(drop=True)


def _are_columns(data: Any) -> bool:
    """Tell whether an object is a dictionary of columns."""
    if not isinstance(data, Mapping) or not data:
        return False
    return all(isinstance(column, Sequence | np.ndarray) for column in data.values())
