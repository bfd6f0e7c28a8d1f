"""Recalls of a model: printed in every format, and written into a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analyses.recall.recall import RecallGrid
from analyses.shared import publish as publishing
from analyses.shared.publish import records_of, under_titles, write_figure
from analyses.shared.table import Cell, Table
from harness.recall.measure import Measured

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SHOWN_BETAS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
SHOWN_CUTOFFS: Final = (1, 5, 10, 20, 50)
FEW: Final = 8
"""So many exponents or cut-offs are printed all."""


def recall_table(grid: RecallGrid, *, model: str) -> Table:
    """Tabulate a few exponents and cut-offs of a grid, with ceilings and effective shares."""
    betas, cutoffs = _shown(grid.betas, SHOWN_BETAS), _shown(grid.cutoffs, SHOWN_CUTOFFS)
    places = [grid.cutoffs.index(cutoff) for cutoff in cutoffs]
    rows: list[list[Cell]] = []
    for number, validation in enumerate(grid.validations):
        for beta in betas:
            place = grid.betas.index(beta)
            values = grid.values[number, place, places].tolist()
            ends = (grid.ceilings[number, place], grid.effective_shares[number, place])
            rows.append([f"{validation}, beta {beta:g}", *values, *map(float, ends)])
    if grid.coverage is not None:
        coverage = grid.coverage[places].tolist()
        rows.append(["coverage of items", *coverage, float("nan"), float("nan")])
    metric, weights = grid.stratification.metric, grid.stratification.weights
    return Table(
        name=f"recall_{weights}",
        title=f"{metric}, {weights} weights: {model}",
        note=grid.caption(),
        headings=["", *(f"@{cutoff}" for cutoff in cutoffs), "ceiling", "effective share"],
        rows=rows,
        best={},
    )


def _shown(known: Sequence[float], wanted: Sequence[float]) -> list[float]:
    few = [value for value in known if value in wanted]
    return list(known) if len(known) <= FEW or not few else few


def tables_of(result: Measured) -> list[Table]:
    """Make a table for each way to weigh users."""
    return [recall_table(grid, model=result.model) for grid in result.grids.values()]


def all_values(result: Measured) -> pd.DataFrame:
    """Give every value in a row: column weights before those of `RecallGrid.to_frame`."""
    import pandas as pd

    frames = {weights: grid.to_frame() for weights, grid in result.grids.items()}
    return pd.concat(frames, names=["weights"]).reset_index(level=0).reset_index(drop=True)


def as_table(result: Measured) -> str:
    """Print a few values in aligned columns, rounded."""
    return "\n".join(under_titles(tables_of(result)))


def as_csv(result: Measured) -> str:
    """Print every value with all digits."""
    return publishing.as_csv(all_values(result))


def as_json(result: Measured) -> str:
    """Print every value with all digits, and what was left out; null where nothing is known."""
    captions = {weights: grid.caption() for weights, grid in result.grids.items()}
    document = {
        "model": result.model,
        "facts": list(result.facts),
        "captions": captions,
        "values": records_of(all_values(result)),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_latex(result: Measured) -> str:
    """Print a few values for a paper; see `Table.to_latex`."""
    return publishing.as_latex(tables_of(result))


FORMATS: Mapping[str, Callable[[Measured], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}


def write_files(result: Measured, folder: Path) -> None:
    """Write values, figures with captions, and the hidden items with their ranks."""
    from qrels.ranks.hidden_ranks import hidden_to_parquet, ranks_to_parquet
    from runs.shared.files import write_whole

    write_whole(folder / "values.csv", as_csv(result).encode())
    write_whole(folder / "hidden.parquet", hidden_to_parquet(result.ranks.hidden))
    write_whole(folder / "ranks.parquet", ranks_to_parquet(result.ranks))
    for weights, grid in result.grids.items():
        write_figure(_curves(grid), folder, f"recall_{weights}", grid.caption())


def _curves(grid: RecallGrid) -> Figure:
    from analyses.recall.recall_curves import draw_recall_curves

    return draw_recall_curves(
        grid.values[None],
        models=[f"{grid.stratification.weights} weights"],
        validations=grid.validations,
        betas=grid.betas,
        cutoffs=grid.cutoffs,
        effective_shares=grid.effective_shares,
    )
