"""Frames as tables for reading: their first rows, rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from analyses.shared.result import Result, table
from analyses.shared.sentences import capitalised
from analyses.shared.table import Cell, Table

MOST_ROWS = 40


def frame_table(name: str, title: str) -> Callable[[Result], Table]:
    """Declare ``NAME_table``, the first rows of the frame of that name, without empty columns."""

    def tabulate(self: Result) -> Table:
        frame = self.frames()[name]
        kept = frame.dropna(axis=1, how="all").head(MOST_ROWS)
        note = "" if len(frame) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(frame):,} rows."
        headings = [str(column).replace("_", " ") for column in kept.columns]
        rows = [[_cell(value) for value in row] for row in kept.itertuples(index=False)]
        return Table(name, capitalised(title), note, headings, rows)

    tabulate.__name__ = f"{name}_table"
    return table(name, title)(tabulate)


def _cell(value: Any) -> Cell:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    return float(value) if isinstance(value, float | np.floating) else str(value)
