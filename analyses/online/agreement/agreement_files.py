"""Offline measures and clicks: printed in every format, and written into a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from analyses.online.agreement.agreement_study import ClickStudy, study_clicks
from analyses.online.agreement.agreement_tables import tables_of
from analyses.online.clicks.rates import OverTime
from analyses.online.tables.experiments import read_experiments
from analyses.shared import publish as publishing
from analyses.shared.publish import records_of, under_titles, write_drawings, write_frames
from runs.shared.progress import watched


def as_table(study: ClickStudy) -> str:
    """Print all tables in aligned columns, rounded, and what they amount to."""
    return "\n".join([*under_titles(tables_of(study)), study.in_words() + "\n"])


def as_csv(study: ClickStudy) -> str:
    """Print one line for each measure, the best first, in full precision."""
    return publishing.as_csv(study.ranking())


def as_json(study: ClickStudy) -> str:
    """Print all tables in full precision, with captions; null where nothing is known."""
    document: dict[str, Any] = {name: records_of(frame) for name, frame in study.frames().items()}
    document["conclusion"] = study.in_words()
    document["captions"] = {name: result.caption() for name, result in study.evidence.items()}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_latex(study: ClickStudy) -> str:
    """Print all tables for a paper; see `Table.to_latex`."""
    return publishing.as_latex(tables_of(study))


FORMATS: Mapping[str, Callable[[ClickStudy], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}


def write_files(study: ClickStudy, folder: Path) -> None:
    """Write the tables, and the figures with their captions."""
    write_frames(study.frames(), folder)
    for evidence, result in study.evidence.items():
        write_drawings(evidence, result, folder)


def print_tables(
    values: Path,
    rates: Path,
    *,
    format_: str,
    output: Path | None,
    over_time: OverTime,
    chosen: tuple[str, ...],
    permutations: int,
    seed: int,
    quiet: bool,
) -> tuple[str, list[str]]:
    """Study two tables, write files if there is a folder for them, and give text and captions.

    Raises
    ------
    InputError
        If the tables break a rule, or do not fit each other.
    """
    experiments = read_experiments(values, rates, over_time=over_time)
    with watched(quiet=quiet)("Dealing out rates", 1) as bar:
        study = study_clicks(
            experiments, permutations=permutations, seed=seed, chosen=chosen or None
        )
        bar.advance()
    if output is not None:
        write_files(study, output)
    return FORMATS[format_](study), [result.caption() for result in study.evidence.values()]
