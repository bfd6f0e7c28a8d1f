"""What commands print and leave in folders: frames in full, tables to read, and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.shared.figures import as_png, as_svg
from analyses.shared.table import Table
from runs.shared.files import write_whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from harness.catalogue import Result


def as_csv(frame: pd.DataFrame) -> str:
    """Write a frame as CSV: numbers in full, so that equal results are equal bytes."""
    return frame.to_csv(index=False, lineterminator="\n")


def records_of(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Give the rows of a frame for JSON: numbers in full, None where nothing is known."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def under_titles(tables: Iterable[Table]) -> list[str]:
    """Print tables in aligned columns, rounded, each under its title."""
    return [f"{table.title}\n{table.to_columns()}" for table in tables]


def as_latex(tables: Iterable[Table]) -> str:
    """Print tables for a paper; see `Table.to_latex`."""
    return "\n".join(table.to_latex() for table in tables)


def write_frames(frames: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write frames by name, as CSV."""
    for name, frame in frames.items():
        write_whole(folder / f"{name}.csv", as_csv(frame).encode())


def write_figure(figure: Figure, folder: Path, name: str, caption: str) -> None:
    """Write a figure as SVG and PNG, with its caption."""
    write_whole(folder / f"{name}.svg", as_svg(figure))
    write_whole(folder / f"{name}.png", as_png(figure))
    write_whole(folder / f"{name}.txt", f"{caption}\n".encode())


def write_drawings(analysis: str, result: Result, folder: Path) -> None:
    """Write the figures that the catalogue has of a result, under their names without numbers."""
    from harness.catalogue import figures_of

    for name, drawing in figures_of(analysis).items():
        write_figure(drawing.draw(result), folder, name.partition("_")[2], result.caption())
