"""Results of studies of sampled metrics: printed in every format, and written into a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analyses.sampled import Sampled
from analyses.sampled.sampled_studies import STUDIES, evidence_of
from analyses.shared import publish as publishing
from analyses.shared.publish import records_of, under_titles, write_drawings, write_frames
from analyses.shared.table import Table
from harness.sampled.estimates import conclusion
from runs import InputError

Results = Mapping[str, Any]
"""Results by the name of their study."""


def as_table(results: Results) -> str:
    """Print the tables of all studies in aligned columns, rounded, and what estimates say."""
    parts = under_titles(_tables(results))
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
    return publishing.as_csv(next(iter(STUDIES[name].frames(result).values())))


def as_json(results: Results) -> str:
    """Print all tables in full precision, with captions; null where nothing is known."""
    document: dict[str, Any] = {}
    for name, result in results.items():
        for table, frame in STUDIES[name].frames(result).items():
            document[table] = records_of(frame)
    document["captions"] = {evidence_of(name): r.caption() for name, r in results.items()}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_latex(results: Results) -> str:
    """Print all tables for a paper; see `Table.to_latex`."""
    return publishing.as_latex(_tables(results))


def _tables(results: Results) -> Iterator[Table]:
    for name, result in results.items():
        for make in STUDIES[name].tables:
            yield make(result)


FORMATS: Mapping[str, Callable[[Results], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}


def write_files(results: Results, folder: Path) -> None:
    """Write the tables, and the figures with their captions."""
    for name, result in results.items():
        write_frames(STUDIES[name].frames(result), folder)
        write_drawings(evidence_of(name), result, folder)
