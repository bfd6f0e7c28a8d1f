"""Agreements as text: a table, CSV, JSON, LaTeX."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from analyses.correlation import Correlation
from analyses.measure import Measure

if TYPE_CHECKING:
    import pandas as pd

LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    sign: f"\\{sign}" for sign in "&%$#_{}"
}


def as_table(found: Correlation, *, reference: Measure | None) -> str:
    """Print measures down and across; with a reference, measures down and coefficients across.

    Intervals stand beside the chosen coefficient where there are any.
    """
    rows = _cells(found, reference)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        + "\n"
        for row in rows
    )


def as_csv(found: Correlation, *, reference: Measure | None) -> str:
    """Print one pair per line, in full precision; see `Correlation.to_frame`."""
    return _pairs(found, reference).to_csv(index=False, lineterminator="\n")


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
    """Print the table of `as_table` as a tabular, which needs no package."""
    heading, *rows = (" & ".join(map(_escaped, row)) + r" \\" for row in _cells(found, reference))
    layout = "l" + "r" * heading.count("&")
    lines = [f"% {found.caption()}", rf"\begin{{tabular}}{{{layout}}}", r"\hline", heading]
    return "\n".join([*lines, r"\hline", *rows, r"\hline", r"\end{tabular}", ""])


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


def _cells(found: Correlation, reference: Measure | None) -> list[list[str]]:
    places = range(len(found.measures))
    if reference is None:
        rows = [
            [str(measure), *(_with_interval(found, row, column) for column in places)]
            for row, measure in enumerate(found.measures)
        ]
        return [["", *map(str, found.measures)], *rows]
    column = found.measures.index(reference)
    further = [name for name in found.values if name != found.coefficient]
    rows = [
        [
            str(found.measures[row]),
            _with_interval(found, row, column),
            *(_number(found.values[name][row, column]) for name in further),
        ]
        for row in places
        if row != column
    ]
    return [[f"with {reference}", found.coefficient, *further], *rows]


def _with_interval(found: Correlation, row: int, column: int) -> str:
    value = _number(found.taus[row, column])
    if row == column or np.isnan(found.low[row, column]):
        return value
    return f"{value} [{_number(found.low[row, column])}, {_number(found.high[row, column])}]"


def _number(value: float) -> str:
    """Print three decimals, and a dash for what is undefined.

    Examples
    --------
    >>> [_number(value) for value in (1.0, -0.25, float("nan"))]
    ['1.000', '-0.250', '–']
    """
    return "–" if np.isnan(value) else f"{value:.3f}"


def _escaped(text: str) -> str:
    r"""Print a text as LaTeX would.

    Examples
    --------
    >>> _escaped("ndcg_cut_10"), _escaped("–")
    ('ndcg\\_cut\\_10', '--')
    """
    return re.sub(r"[\\~^&%$#_{}]", lambda sign: LATEX[sign[0]], text).replace("–", "--")
