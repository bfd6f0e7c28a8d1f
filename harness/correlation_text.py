"""Agreements as text: a table, CSV, JSON, LaTeX."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from analyses.correlation import Correlation
from analyses.shared import publish as publishing
from analyses.shared.measure import Measure
from analyses.shared.table import Table, shown

if TYPE_CHECKING:
    import pandas as pd


def as_table(found: Correlation, *, reference: Measure | None) -> str:
    """Print measures down and across; with a reference, measures down and coefficients across.

    Intervals stand beside the chosen coefficient where there are any.
    """
    return _tabulated(found, reference).to_columns()


def as_csv(found: Correlation, *, reference: Measure | None) -> str:
    """Print one pair per line, in full precision; see `Correlation.to_frame`."""
    return publishing.as_csv(_pairs(found, reference))


def as_json(found: Correlation, *, reference: Measure | None) -> str:
    """Print one document, in full precision; what is undefined is null."""
    pairs = json.loads(_pairs(found, reference).to_json(orient="records", double_precision=15))
    facts = {
        "coefficient": found.coefficient,
        "systems": len(found.systems),
        "users": found.n_users,
        "replicates": found.replicates,
        "caption": found.caption(),
    }
    return json.dumps(facts | {"pairs": pairs}, indent=1, ensure_ascii=False) + "\n"


def as_latex(found: Correlation, *, reference: Measure | None) -> str:
    """Print the table of `as_table` for a paper; see `Table.to_latex`."""
    return _tabulated(found, reference).to_latex()


FORMATS: Mapping[str, Callable[..., str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}


def _pairs(found: Correlation, reference: Measure | None) -> pd.DataFrame:
    """All pairs; with a reference those of the other measures with it."""
    frame = found.to_frame()
    if reference is None:
        return frame
    number = found.measures.index(reference)
    place = np.arange(len(found.measures))
    chosen = (place[None, :] == number) & (place[:, None] != number)
    return frame[chosen.ravel()].reset_index(drop=True)


def _tabulated(found: Correlation, reference: Measure | None) -> Table:
    headings, rows = _crossed(found) if reference is None else _beside(found, reference)
    return Table(
        name="agreement",
        title="Agreement of measures" if reference is None else f"Agreement with {reference}",
        note=found.caption(),
        headings=headings,
        rows=rows,
        best={},
    )


def _crossed(found: Correlation) -> tuple[list[str], list[list[str]]]:
    """Lay out the chosen coefficient of all pairs: headings and rows."""
    places = range(len(found.measures))
    names = [str(measure) for measure in found.measures]
    rows = [
        [names[row], *(_with_interval(found, row, column) for column in places)] for row in places
    ]
    return ["", *names], rows


def _beside(found: Correlation, reference: Measure) -> tuple[list[str], list[list[str]]]:
    """Lay out all coefficients with one measure, the chosen one first: headings and rows."""
    column = found.measures.index(reference)
    further = [name for name in found.values if name != found.coefficient]
    rows = [
        [
            str(measure),
            _with_interval(found, row, column),
            *(_rounded(found.values[name][row, column]) for name in further),
        ]
        for row, measure in enumerate(found.measures)
        if row != column
    ]
    return [f"with {reference}", found.coefficient, *further], rows


def _with_interval(found: Correlation, row: int, column: int) -> str:
    value = _rounded(found.taus[row, column])
    if row == column or np.isnan(found.low[row, column]):
        return value
    return f"{value} [{_rounded(found.low[row, column])}, {_rounded(found.high[row, column])}]"


def _rounded(value: float) -> str:
    return shown(value, decimals=3)
