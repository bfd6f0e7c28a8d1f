"""Results of studies of sampled metrics: printed in every format, and written into a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.sampled import Sampled
from harness.sampled.estimates import conclusion
from harness.sampled.studies import STUDIES, evidence_of
from runs import InputError

if TYPE_CHECKING:
    from harness.catalogue import Result

Results = Mapping[str, Any]
"""Results by the name of their study."""


def as_table(results: Results) -> str:
    """Print the tables of all studies in aligned columns, rounded, and what estimates say."""
    tables = [make(result) for name, result in results.items() for make in STUDIES[name].tables]
    parts = [f"{table.title}\n{table.to_columns()}" for table in tables]
    parts += [conclusion(r) + "\n" for r in results.values() if isinstance(r, Sampled)]
    return "\n".join(parts)


def as_csv(results: Results) -> str:
    """Print the table of one study with every column, in full precision.

    Raises
    ------
    InputError
        If there are several.
    """
    if len(results) > 1:
        raise InputError(
            f"csv is one table, and there are {len(results)} studies: choose one, or --output."
        )
    ((name, result),) = results.items()
    frame = next(iter(STUDIES[name].frames(result).values()))
    return frame.to_csv(index=False, lineterminator="\n")


def as_json(results: Results) -> str:
    """Print all tables in full precision, with captions; null where nothing is known."""
    document: dict[str, Any] = {}
    for name, result in results.items():
        for table, frame in STUDIES[name].frames(result).items():
            known = frame.astype(object).where(frame.notna(), None)
            document[table] = known.to_dict("records")
    document["captions"] = {evidence_of(name): r.caption() for name, r in results.items()}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_latex(results: Results) -> str:
    """Print all tables for a paper; see `Table.to_latex`."""
    return "\n".join(
        make(result).to_latex() for name, result in results.items() for make in STUDIES[name].tables
    )


FORMATS: Mapping[str, Callable[[Results], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}


def write_files(results: Results, folder: Path) -> None:
    """Write the tables, and the figures with their captions."""
    from runs.files import write_whole

    for name, result in results.items():
        for table, frame in STUDIES[name].frames(result).items():
            text = frame.to_csv(index=False, lineterminator="\n")
            write_whole(folder / f"{table}.csv", text.encode())
        for figure, content in _figures(name, result).items():
            write_whole(folder / figure, content)


def _figures(name: str, result: Result) -> dict[str, bytes]:
    from harness.catalogue import figures_of
    from harness.figures import as_png, as_svg

    files: dict[str, bytes] = {}
    for title, drawing in figures_of(evidence_of(name)).items():
        figure, stem = drawing.draw(result), title.partition("_")[2]
        files[f"{stem}.svg"], files[f"{stem}.png"] = as_svg(figure), as_png(figure)
        files[f"{stem}.txt"] = (result.caption() + "\n").encode()
    return files
