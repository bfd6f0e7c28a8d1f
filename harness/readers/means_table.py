"""Tables of mean scores: systems down, measures across."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from analyses.shared.measure import Measure
from harness.readers.score_files import Line, heading_and_rows, read_numbers
from harness.readers.scores import measure_at, measure_named
from harness.readers.table import Table, table_of
from harness.readers.table_files import read_content, read_table
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.fields import distinct_names, is_number, require_width
from runs.tables.hints import Meaning, hint_of
from runs.tables.roles import SCORES, Role
from runs.tables.sniff import trec_kind

if TYPE_CHECKING:
    import pandas as pd

    from runs.tables.options import TextOptions

ALL: Final = "all"
"""What trec_eval calls the mean over the topics."""

MEAN: Final = "mean"
CUTOFF: Final = "cutoff"
"""Columns of our tables of means."""

SYSTEM_HEADERS = ("", "system", "run", "name", "model")


@dataclass(frozen=True, eq=False)
class Means:
    """Mean scores of systems: float64 of shape (n_measures, n_systems), and labels of its axes."""

    values: Floats
    measures: tuple[Measure, ...]
    systems: tuple[str, ...]


def is_means_table(path: Path, options: TextOptions | None = None) -> bool:
    """Tell a table of means from the scores of one measure, topic by topic.

    The latter has a column that is called as topics or users are, or no column of names at all: the
    first field of each line is a number, and none of the usual headings (`SYSTEM_HEADERS`) is above
    it. A folder, or a file of Parquet or Feather, is no table of means. Raises InputError for a
    table that cannot be read.
    """
    if path.is_dir() or path.suffix in (".parquet", ".feather"):
        return False
    if long_means(path, options) is not None:
        return True
    if path.suffix == ".json":
        return False
    (_, heading), rows = _without_index(*heading_and_rows(path, options))
    if _has_topics(heading):
        return False
    has_usual_heading = heading[0].lower() in SYSTEM_HEADERS
    has_numbers_first = all(is_number(row[0]) for _, row in rows)
    return has_usual_heading or not has_numbers_first


def _has_topics(heading: Sequence[str]) -> bool:
    """Tell whether a column is called as topics or users are, without further words.

    A hint is what the name of a column says that it holds; one of weakness 0 is clear.
    """
    hints = [hint_of(name) for name in heading]
    clear_hints = [hint for hint in hints if hint is not None and hint.weakness == 0]
    return any(hint.meaning in (Meaning.USER, Meaning.TOPIC) for hint in clear_hints)


def read_means(path: Path, options: TextOptions | None = None) -> Means:
    """Read a table of means.

    The first column names the systems and the heading the measures, such as ``ap`` or ``nDCG@10``.
    WarpRec has the cut-offs in a column Top@k. ``options`` are what a person says of the table:
    columns, separator and encoding.

    Raises
    ------
    InputError
        If a mean is missing or no number, a name is there twice, or there are fewer than two
        systems or measures.
    """
    means = long_means(path, options)
    if means is not None:
        return means
    (line, heading), rows = _without_index(*heading_and_rows(path, options))
    if any(row[:1] == ["Test result:"] for _, row in rows):
        finding = "this is hyper.result of RecBole; a table with a row for each system is needed."
        raise InputError(f"{path}: {finding}")
    has_cutoffs = heading[1:2] == ["Top@k"]
    if has_cutoffs:
        (line, heading), rows = _with_cutoffs_as_columns(path, (line, heading), rows)
    names_in_line = [(line, name) for name in heading[1:]]
    names = distinct_names(path, names_in_line, "measure")
    systems_in_lines = [(number, row[0]) for number, row in rows]
    systems = distinct_names(path, systems_in_lines, "system")
    measures = tuple(measure_at(path, line, name) for name in names)
    # Two names may be of one measure.
    measures_in_line = [(line, str(measure)) for measure in measures]
    distinct_names(path, measures_in_line, "measure")
    means_by_system = np.array(read_numbers(path, rows, names), dtype=np.float64)
    n_systems = len(systems)
    n_measures = len(measures)
    if min(n_systems, n_measures) < 2:
        raise InputError(
            f"{path}: at least two systems and two measures are needed, found {n_systems} and "
            f"{n_measures}."
        )
    return Means(means_by_system.T, measures, systems)


def long_means(path: Path, options: TextOptions | None = None) -> Means | None:
    """Read means that stand one in a row or in JSON, as our commands write them; else None.

    A row names the system and the measure, perhaps its cut-off, and no topic, or ``all`` of them.
    None for lines of TREC and for every other table. Raises InputError if a table of such rows
    cannot be read, or a mean is missing or there twice.
    """
    import pandas as pd

    content = read_content(path, SCORES, options)
    if trec_kind(content) or b"\n" not in content.strip():
        return None
    table = read_table(path, content, SCORES, options) if _may_be_long(content) else None
    if isinstance(table, Mapping):
        records = _records_of_document(table)
        if not records:
            return None
        table = table_of(pd.DataFrame(records), SCORES, label=str(path), unit="row")
    if table is None or not (table.has(Role.SYSTEM) and table.has(Role.MEASURE)):
        return None
    if not table.has(Role.SCORE):
        return None
    names = [str(name) for name in table.frame.columns]
    if MEAN not in names and not _has_means_alone(table):
        return None
    measures = table.column(Role.MEASURE).astype(str)
    if CUTOFF in names:
        cutoffs = table.frame[CUTOFF].fillna("").astype(str)
        has_cutoff = cutoffs != ""
        measures_at_cutoffs = measures + "@" + cutoffs
        measures = measures_at_cutoffs.where(has_cutoff, measures)
    columns = {
        "system": table.column(Role.SYSTEM).astype(str),
        "measure": measures,
        "mean": table.numbers(Role.SCORE),
    }
    frame = pd.DataFrame(columns)
    is_repeated = frame.duplicated(["system", "measure"]).to_numpy()
    if is_repeated.any():
        place = int(is_repeated.argmax())
        raise table.error(place, "the mean of a system by a measure is there twice.")
    return _means_of_frame(frame, path)


def _means_of_frame(frame: pd.DataFrame, path: Path) -> Means:
    """Bring means into an array; its systems and measures are in the order of their first rows.

    Parameters
    ----------
    frame
        The columns system, measure and mean, with a row for each mean, all distinct.
    path
        The file, for errors.

    Raises
    ------
    InputError
        If a system has no mean by a measure that others have.
    """
    wide = frame.pivot(index="measure", columns="system", values="mean")
    names = frame["measure"].unique()
    systems = frame["system"].unique()
    wide = wide.reindex(index=names, columns=systems)
    missing_means = np.argwhere(wide.isna().to_numpy())
    if len(missing_means):
        row, column = missing_means[0]
        system = wide.columns[column]
        raise InputError(f"{path}: system {system!r} has no mean by {wide.index[row]}.")
    return Means(
        values=wide.to_numpy(dtype=np.float64),
        measures=tuple(measure_named(name) for name in wide.index),
        systems=tuple(wide.columns),
    )


def _may_be_long(content: bytes) -> bool:
    """Tell JSON, and text whose heading names a measure, from other files.

    ``content`` is that of the file. A heading does if one of its names is a word for measures.
    """
    is_json = content.lstrip().startswith((b"{", b"["))
    if is_json:
        return True
    first_line, _, _ = content.lstrip().partition(b"\n")
    heading = first_line.decode("utf-8", errors="replace")
    names = re.split(r"[,;|\t]", heading)
    hints = [hint_of(name) for name in names]
    return any(hint is not None and hint.meaning == Meaning.MEASURE for hint in hints)


def _has_means_alone(table: Table) -> bool:
    """Tell whether no row is of a single topic."""
    if not table.has(Role.USER):
        return True
    topics = set(table.ids(Role.USER).tolist())
    return topics == {ALL}


def _records_of_document(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the means in what ``harness evaluate`` or ``harness table`` writes as JSON.

    Returns
    -------
    A record for each mean, with system, measure and mean; none for other documents.
    """
    records = []
    for run in document.get("runs", ()):
        if not isinstance(run, Mapping) or "topics" in run:
            continue
        means = run.get(ALL)
        if isinstance(means, Mapping):
            system = run.get("system")
            for measure, mean in means.items():
                records.append({"system": system, "measure": measure, "mean": mean})
    for row in document.get("means", ()):
        system = row.get("system")
        for measure, mean in row.items():
            if measure != "system":
                records.append({"system": system, "measure": measure, "mean": mean})
    return records


def _without_index(heading: Line, rows: list[Line]) -> tuple[Line, list[Line]]:
    """Leave out the index that pandas writes before the names of the systems.

    It is a first column without a heading, before one of the usual headings for systems. Other
    tables are returned as they are. Lines are pairs of their number in the file and their fields.
    """
    line, names = heading
    if names[0] or len(names) < 2 or names[1].lower() not in SYSTEM_HEADERS:
        return heading, rows
    heading_without_index = (line, names[1:])
    rows_without_index = [(number, row[1:]) for number, row in rows]
    return heading_without_index, rows_without_index


def _with_cutoffs_as_columns(
    path: Path, heading: Line, rows: list[Line]
) -> tuple[Line, list[Line]]:
    """Bring a table with a row for each system and cut-off into one with a row for each system.

    Its measures have a column for each cut-off, such as nDCG@10. Columns of the table are the
    system, the cut-off, then the measures; lines are pairs of their number in the file and their
    fields. The first line of a system gives its number. Raises InputError for a system that lacks a
    cut-off.
    """
    line, (system_heading, _, *names) = heading
    line_of_system: dict[str, int] = {}
    means_of: dict[tuple[str, str], list[str]] = {}
    for number, (system, cutoff, *means) in rows:
        line_of_system.setdefault(system, number)
        means_of[system, cutoff] = means
    cutoffs = list(dict.fromkeys(cutoff for _, cutoff in means_of))
    wide_heading = [system_heading]
    for cutoff in cutoffs:
        wide_heading += [f"{name}@{cutoff}" for name in names]
    wide_rows = []
    for system, number in line_of_system.items():
        wide_row = [system]
        for cutoff in cutoffs:
            wide_row += means_of.get((system, cutoff), [])
        wide_row = require_width(path, number, wide_row, wide_heading)
        wide_rows.append((number, wide_row))
    return (line, wide_heading), wide_rows
