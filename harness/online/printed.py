"""Offline measures and clicks: printed in every format, and written into a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from analyses.online.ctr import OverTime
from harness.online.joining import read_experiments
from harness.online.studying import ClickStudy, study_clicks
from harness.online.tables import tables_of
from harness.progress import watched


def as_table(study: ClickStudy) -> str:
    """Print all tables in aligned columns, rounded, and what they amount to."""
    parts = [f"{table.title}\n{table.to_columns()}" for table in tables_of(study)]
    return "\n".join([*parts, study.in_words() + "\n"])


def as_csv(study: ClickStudy) -> str:
    """Print one line for each measure, the best first, in full precision."""
    return study.ranking().to_csv(index=False, lineterminator="\n")


def as_json(study: ClickStudy) -> str:
    """Print all tables in full precision, with captions; null where nothing is known."""
    document: dict[str, Any] = {}
    for name, frame in study.frames().items():
        known = frame.astype(object).where(frame.notna(), None)
        document[name] = known.to_dict("records")
    document["conclusion"] = study.in_words()
    document["captions"] = {name: result.caption() for name, result in study.evidence.items()}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_latex(study: ClickStudy) -> str:
    """Print all tables for a paper; see `Table.to_latex`."""
    return "\n".join(table.to_latex() for table in tables_of(study))


FORMATS: Mapping[str, Callable[[ClickStudy], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}


def write_files(study: ClickStudy, folder: Path) -> None:
    """Write the tables, and the figures with their captions."""
    from runs.files import write_whole

    for name, frame in study.frames().items():
        text = frame.to_csv(index=False, lineterminator="\n")
        write_whole(folder / f"{name}.csv", text.encode())
    for name, content in _figures(study).items():
        write_whole(folder / name, content)


def _figures(study: ClickStudy) -> dict[str, bytes]:
    from harness.catalogue import figures_of
    from harness.figures import as_png, as_svg

    files: dict[str, bytes] = {}
    for evidence, result in study.evidence.items():
        for title, drawing in figures_of(evidence).items():
            figure, stem = drawing.draw(result), title.partition("_")[2]
            files[f"{stem}.svg"], files[f"{stem}.png"] = as_svg(figure), as_png(figure)
            files[f"{stem}.txt"] = (result.caption() + "\n").encode()
    return files


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
