"""What a notebook shows of a result: its caption, the first rows of a table, what was found."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from analyses.shared.table import MISSING, shown

if TYPE_CHECKING:
    import pandas as pd

ROWS, COLUMNS = 6, 8
"""So many are shown of a frame."""


def excerpt(caption: str, frame: pd.DataFrame | None, sentences: Sequence[str]) -> str:
    """Write HTML: the caption, the first rows of a frame, rounded, and sentences below it."""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return f"<div><p>{escape(caption)}</p>{'' if frame is None else _first_rows(frame)}{said}</div>"


def _first_rows(frame: pd.DataFrame) -> str:
    rows = frame.head(ROWS).to_html(
        index=False, border=0, max_cols=COLUMNS, float_format=shown, na_rep=MISSING
    )
    n_rows, n_columns = frame.shape
    if n_rows <= ROWS and n_columns <= COLUMNS:
        return rows
    return f"{rows}<p>{min(n_rows, ROWS):,} of {n_rows:,} rows, {n_columns:,} columns.</p>"
