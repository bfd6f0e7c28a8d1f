"""What results print and leave in folders: frames in full, tables to read, figures, captions."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from analyses.shared.figure_formats import WRITERS
from analyses.shared.figure_options import FigureOptions
from analyses.shared.figures import NO_OPTIONS, draw_figure, has_faint_bands
from analyses.shared.result import FigureDeclaration, Result, figures_of, tables_of
from analyses.shared.table import FORMATS, Table
from runs import InputError
from runs.shared.files import write_within

if TYPE_CHECKING:
    import pandas as pd


Results: TypeAlias = Mapping[str, Result]
"""Results by what they are called."""


def as_csv(frame: pd.DataFrame) -> str:
    """Write a frame as CSV: numbers in full, so that equal results are equal bytes."""
    return frame.to_csv(index=False, lineterminator="\n")


def map_texts(frame: pd.DataFrame, transform: Callable[[str], str]) -> pd.DataFrame:
    """Transform the texts of a frame, and its headings, in a copy; numbers stay as they are."""

    def transformed(column: pd.Series[Any]) -> pd.Series[Any]:
        """Transform the texts of a column, and keep its class, index and dtype."""
        cells = [transform(cell) if isinstance(cell, str) else cell for cell in column]
        return type(column)(cells, column.index, dtype=column.dtype)

    text_columns = frame.select_dtypes(["object", "string"])
    columns = {}
    for name in text_columns:
        columns[str(name)] = transformed(text_columns[name])
    return frame.assign(**columns).rename(columns=transform)


def tables_of_results(results: Results, only: Collection[str] = ()) -> list[Table]:
    """Make the declared tables of results; those without rows are left out.

    ``only`` has the names of tables to make; by default all are made. A name that no table has is
    ignored.
    """
    tables = []
    for result in results.values():
        for declaration in tables_of(type(result)):
            if not only or declaration.name in only:
                tables.append(declaration.make(result))
    return [table for table in tables if table.rows]


def _as_text(results: Results, only: Collection[str] = ()) -> str:
    """Print the tables in aligned columns, rounded, each under its title, and then conclusions.

    The conclusion of a result is by default its findings, a line each. ``only`` has the names of
    tables to print; by default all are printed.
    """
    parts = [f"{table.title}\n{table.to_columns()}" for table in tables_of_results(results, only)]
    parts += [result.conclusion() for result in results.values()]
    return "\n".join(part for part in parts if part)


def _as_first_frame(results: Results, _: Collection[str] = ()) -> str:
    """Print the first frame of the one result as CSV, in full.

    The first frame of a result is its main one. Raises InputError if there are several results.
    """
    if len(results) > 1:
        raise InputError(
            f"csv is one table, and there are {len(results)}: {', '.join(results)}; choose one, or "
            "--output."
        )
    (result,) = results.values()
    return as_csv(result.frame())


def as_json(results: Results, _: Collection[str] = ()) -> str:
    """Print as JSON all frames in full, with captions, findings and cautions; null for NaN.

    A frame is a list of rows under its name; captions are by the name of the result. Names of
    tables, the second argument, are ignored.
    """
    document: dict[str, Any] = {}
    for result in results.values():
        for name, frame in result.frames().items():
            rows = frame.astype(object).where(frame.notna(), None)
            document[name] = rows.to_dict("records")
    document["captions"] = {name: result.caption() for name, result in results.items()}
    document["findings"] = [text for result in results.values() for text in result.findings()]
    document["cautions"] = [text for result in results.values() for text in result.cautions()]
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"


def _as_tables(results: Results, only: Collection[str] = (), *, format_: str) -> str:
    """Print the tables of results in one of the `FORMATS` of tables.

    ``only`` has the names of tables to print; by default all are printed.
    """
    return FORMATS[format_](tables_of_results(results, only))


PRINTED: Mapping[str, Callable[..., str]] = {
    "text": _as_text,
    "csv": _as_first_frame,
    "json": as_json,
    "latex": partial(_as_tables, format_="latex"),
    "markdown": partial(_as_tables, format_="markdown"),
}
"""How results are printed, by the name of the format; tables may be chosen by name."""


def write_results(results: Results, folder: Path) -> None:
    """Write frames and figures into a folder: CSV, and SVG, PNG and TXT (the caption).

    Files are called as the frames and figures are, without numbers of figures. A figure that does
    not apply to its result, as when this has no such part, is left out.
    """
    for result in results.values():
        for name, frame in result.frames().items():
            write_within(folder, f"{name}.csv", as_csv(frame).encode())
        for declaration in figures_of(type(result)):
            if declaration.applies_to(result):
                for ending, content in figure_files(result, declaration).items():
                    write_within(folder, f"{declaration.name}.{ending}", content)


def figure_files(
    result: Result,
    declaration: FigureDeclaration,
    *,
    kinds: Collection[str] = ("svg", "png"),
    usual: FigureOptions = NO_OPTIONS,
    with_panels: bool = False,
) -> dict[str, bytes]:
    """Draw a figure of a result, and write it as files: their content by their endings.

    The file "txt" has the caption of the figure as it is drawn. ``kinds`` are those of `WRITERS`:
    "svg", "png" and "pdf"; ``usual`` are options of all figures, as far as they fit this one. A
    figure whose bands are faint has a file "panels.svg", too, if ``with_panels``: a panel for each
    curve. Raises InputError if the texts leave no room for the panels.
    """
    with _without_garbage_collection():
        figure = draw_figure(result, declaration, usual=usual)
        files = {kind: WRITERS[kind](figure) for kind in kinds}
        if with_panels and has_faint_bands(figure):
            panels = draw_figure(result, declaration, FigureOptions(bands=True), usual=usual)
            files["panels.svg"] = WRITERS["svg"](panels)
    files["txt"] = f"{figure.get_label()}\n".encode()
    return files


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Let Python look for no garbage within a ``with`` block; then as before.

    Of the many thousand objects of a figure, all are in use.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
