"""What results print and leave in folders: frames in full, tables to read, figures, captions."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from analyses.shared.figure_options import FigureOptions
from analyses.shared.figures import NO_OPTIONS, WRITERS, draw_figure
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


def map_texts(frame: pd.DataFrame, write: Callable[[str], str]) -> pd.DataFrame:
    """Write the texts of a frame, and its headings, in another way."""

    def written(column: pd.Series[Any]) -> pd.Series[Any]:
        cells = [write(cell) if isinstance(cell, str) else cell for cell in column]
        return type(column)(cells, column.index, dtype=column.dtype)

    texts = frame.select_dtypes(["object", "string"])
    return frame.assign(**{str(name): written(texts[name]) for name in texts}).rename(columns=write)


def tables_of_results(results: Results, only: Collection[str] = ()) -> list[Table]:
    """Make all tables of results that have rows, or those that are named."""
    made = [
        face.make(result)
        for result in results.values()
        for face in tables_of(type(result))
        if not only or face.name in only
    ]
    return [table for table in made if table.rows]


def _in_columns(results: Results, only: Collection[str] = ()) -> str:
    """Print the tables in aligned columns, rounded, each under its title, and conclusions."""
    parts = [f"{table.title}\n{table.to_columns()}" for table in tables_of_results(results, only)]
    parts += [result.conclusion() for result in results.values()]
    return "\n".join(filter(None, parts))


def _first_frame(results: Results, _: Collection[str] = ()) -> str:
    """Print the first frame of the one result as CSV, in full."""
    if len(results) > 1:
        raise InputError(
            f"csv is one table, and there are {len(results)}: {', '.join(results)}; choose one, or "
            "--output."
        )
    (result,) = results.values()
    return as_csv(result.frame())


def as_json(results: Results, _: Collection[str] = ()) -> str:
    """Print all frames in full, with what is said of them; null where nothing is known."""
    frames = {name: f for result in results.values() for name, f in result.frames().items()}
    document: dict[str, Any] = {
        name: frame.astype(object).where(frame.notna(), None).to_dict("records")
        for name, frame in frames.items()
    }
    document["captions"] = {name: result.caption() for name, result in results.items()}
    document["findings"] = [each for result in results.values() for each in result.findings()]
    document["cautions"] = [each for result in results.values() for each in result.cautions()]
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"


PRINTED: Mapping[str, Callable[..., str]] = {
    "text": _in_columns,
    "csv": _first_frame,
    "json": as_json,
    **{
        name: lambda *asked, write=FORMATS[name]: write(tables_of_results(*asked))
        for name in ("latex", "markdown")
    },
}
"""How results are printed, by the name of the format; tables may be chosen by name."""


def write_results(results: Results, folder: Path) -> None:
    """Write frames and figures into a folder; figures under their names, without numbers."""
    for result in results.values():
        for name, frame in result.frames().items():
            write_within(folder, f"{name}.csv", as_csv(frame).encode())
        for face in figures_of(type(result)):
            if face.applies_to(result):
                for ending, content in figure_files(result, face).items():
                    write_within(folder, f"{face.name}.{ending}", content)


def figure_files(
    result: Result,
    face: FigureDeclaration,
    *,
    kinds: Collection[str] = ("svg", "png"),
    usual: FigureOptions = NO_OPTIONS,
) -> dict[str, bytes]:
    """Write a figure of a result as files of some kinds, with its caption, by their endings.

    The caption is that of the figure as it is drawn.
    """
    with _uncollected():
        figure = draw_figure(result, face, usual=usual)
        drawn = {kind: WRITERS[kind](figure) for kind in kinds}
    return drawn | {"txt": f"{figure.get_label()}\n".encode()}


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage: of the many thousand objects of a figure, all are in use."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
