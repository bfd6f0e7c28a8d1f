"""Frames as tables for reading: their first rows, rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.shared.result import Result, table
from analyses.shared.sentences import capitalised
from analyses.shared.table import Cell, Table

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 40


def frame_table(name: str, title: str) -> Callable[[Result], Table]:
    """Declare ``NAME_table``, the first rows of the frame of that name."""

    def tabulate(self: Result) -> Table:
        return _table_of(name, capitalised(title), self.frames().get(name))

    tabulate.__name__ = f"{name}_table"
    return table(name, title)(tabulate)


def _table_of(name: str, title: str, frame: pd.DataFrame | None) -> Table:
    """Make a table of the first rows of a frame, without empty columns; none of no frame."""
    if frame is None:
        return Table(name, title, "", [], [])
    kept = frame.dropna(axis=1, how="all").head(MOST_ROWS)
    note = "" if len(frame) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(frame):,} rows."
    return Table(
        name=name,
        title=title,
        note=note,
        headings=[str(column).replace("_", " ") for column in kept.columns],
        rows=[[_cell(value) for value in row] for row in kept.itertuples(index=False)],
    )


def _cell(value: Any) -> Cell:
    if isinstance(value, float | np.floating):
        return f"{int(value):,}" if float(value).is_integer() and value > 1 else float(value)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    return str(value)
