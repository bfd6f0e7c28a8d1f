"""Scores for each topic from files: tables of other tools, trec_eval's output, studies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from analyses.shared.measure import Measure
from analyses.shared.scores import Scores
from harness.readers.score_parquet import SCORES_FILE, scores_from_parquet
from harness.readers.scores import (
    all_reported,
    are_metrics,
    long_frame_of,
    measure_named,
    scores_of_long,
    unit_of,
    without_mean_rows,
)
from harness.readers.table import Table, table_of
from harness.readers.table_files import read_content, read_table
from runs import InputError
from runs.replicates import Replicates
from runs.shared.errors import prefixed_errors
from runs.shared.fields import distinct_names, is_number, read_lines, read_number, require_width
from runs.shared.files import PARQUET, read_bytes
from runs.tables.assignment import assign_roles
from runs.tables.roles import SCORES, ColumnNames, Role, named_roles
from runs.tables.sniff import trec_kind
from runs.tables.values import Sample

if TYPE_CHECKING:
    import pandas as pd

    from runs.tables.options import TextOptions


SEPARATORS: Final = "_-."

Line: TypeAlias = tuple[int, list[str]]
"""Number and fields of a line."""

PER_USER: Final = re.compile(r"(.+)_k_([0-9]+)_per_user_.+")
"""Name of a file of WarpRec: the system, and the cut-off of all measures in it."""

ALL: Final = "all"
"""What trec_eval calls the mean over the topics."""

COUNTS: Final = "num_"
"""What the names of trec_eval's counts begin with, which are no scores."""

RUN_ID: Final = "runid"
"""The line of trec_eval that names the run."""


def read_score_tables(paths: Sequence[Path], options: TextOptions | None = None) -> Scores:
    """Read scores from tables of one measure each, or folders or ``scores.parquet`` of studies.

    Of several studies, such as those of all folds of a `k-fold` split or of all percentiles of
    `popularity-percentile`, a user's score is the mean over those that the user is tested in.

    A table is text with a heading line, and perhaps packed. The first column holds the ids of the
    topics if its heading is empty, topic, user, query or qid, or if none of its values is a number;
    without ids rows are numbered from 1. A measure is called as its file, without the folder, the
    extension and, of several files, what their names share up to the last ``_``, ``-`` or ``.``:
    adhoc5_ap.csv and adhoc5_p10.csv hold ap and p10. A name such as ``nDCG@10`` gives metric and
    cut-off. What ``trec_eval -q`` and ``ir_measures -q`` print is read, too: a file for each
    system. Rows of means are left out, with a warning. ``options`` are what a person says of all
    tables: columns (user, system, measure, score), separator and encoding.

    Returns
    -------
    Scores with measures in the order of the files, systems and topics in that of the first.

    Raises
    ------
    InputError
        If a file holds no scores, a score is missing, or files do not fit together.
    """
    if not paths:
        raise InputError("no table of scores was given.")
    if all(map(_is_of_study, paths)):
        return _mean_over(paths, [_read_study(path) for path in paths])
    long_frames = [_read_long(path, options) for path in paths]
    frames_there = [frame for frame in long_frames if frame is not None]
    if len(frames_there) == len(paths):
        return scores_of_long(frames_there)
    measures = _measures_of_files(paths)
    tables = [read_score_table(path, options) for path in paths]
    systems = tables[0].columns
    topics = tables[0].index
    for path, table in zip(paths, tables, strict=True):
        odd_names_of_axis = {
            "system": set(table.columns) ^ set(systems),
            "topic": set(table.index) ^ set(topics),
        }
        for axis_name, odd_names in odd_names_of_axis.items():
            if odd_names:
                first_odd_name = min(odd_names)
                raise InputError(
                    f"{path} and {paths[0]} must have the same {axis_name}s: {axis_name} "
                    f"{first_odd_name!r} is in one of them alone ({len(odd_names)} such)."
                )
    aligned_tables = [table.loc[topics, systems] for table in tables]
    values = np.array([table.to_numpy().T for table in aligned_tables])
    return Scores(
        values=values,
        measures=all_reported(measures),
        systems=tuple(systems),
        users=np.array(topics, dtype=np.str_),
        unit=unit_of(topics.name),
    )


def read_score_table(path: Path, options: TextOptions | None = None) -> pd.DataFrame:
    """Read one table, with topics down and systems across; see `read_score_tables`.

    The index is called as the column of the topics; it has no name if rows are numbered, from 1.
    Rows of means are left out, with a warning. Raises InputError if there are no rows or fewer than
    two systems, a name is there twice, columns are measures or hold items, or a score is no number.
    """
    import pandas as pd

    (line, names), rows = heading_and_rows(path, options)
    if not rows:
        raise InputError.at_line(path, line, "the table has a heading but no scores.")
    columns = None if options is None else options.columns
    topic_place = _place_of_topics(path, (line, names), rows, columns)
    if topic_place:
        names = _moved_to_front(names, topic_place)
        rows = [(number, _moved_to_front(row, topic_place)) for number, row in rows]
    has_ids = topic_place is not None
    if not has_ids:
        has_numbers_first = any(is_number(row[0]) for _, row in rows)
        has_ids = not names[0] or not has_numbers_first
    system_names = names[1:] if has_ids else names
    systems = distinct_names(path, [(line, name) for name in system_names], "system")
    if len(systems) < 2:
        shown = repr(systems[0]) if systems else "none"
        raise InputError.at_line(path, line, f"two or more systems expected, found {shown}.")
    if are_metrics(systems):
        listed = ", ".join(systems)
        finding = f"the columns are measures ({listed}), not systems"
        raise InputError.at_line(path, line, f"{finding}; name the column of the topics `user`.")
    topic_ids = []
    for row_number, (number, row) in enumerate(rows, start=1):
        topic_id = row[0] if has_ids else str(row_number)
        topic_ids.append((number, topic_id))
    topics = distinct_names(path, topic_ids, "topic")
    topic_heading = names[0] if has_ids else None
    frame = pd.DataFrame(
        read_numbers(path, rows, systems),
        index=pd.Index(list(topics), name=topic_heading),
        columns=list(systems),
    )
    return without_mean_rows(frame, str(path))


def _place_of_topics(
    path: Path, heading: Line, rows: Sequence[Line], columns: ColumnNames | None
) -> int | None:
    """Find the column that holds topics, by its name or as a person says; None if there is none.

    Returns its place, from 0. ``heading`` and ``rows`` are lines: pairs of their number in the file
    and their fields. ``columns`` are names or places by what they hold. Raises InputError for a
    table that has a column of items.
    """
    line, names = heading
    samples = [Sample([row[place] for _, row in rows]) for place in range(len(names))]
    assigned_columns = assign_roles(
        names=names,
        samples=samples,
        kind=SCORES,
        named=named_roles(columns, SCORES),
        has_heading=True,
        label=str(path),
    )
    item_column = assigned_columns.column(Role.ITEM)
    if item_column is not None:
        finding = f"the column {item_column.name!r} holds items, and scores are of topics or users."
        raise InputError.at_line(path, line, finding)
    return assigned_columns.place(Role.USER)


def read_numbers(path: Path, rows: Sequence[Line], names: Sequence[str]) -> list[list[float]]:
    """Read the last fields of all rows, in columns of these names, as numbers: a list for each row.

    Raises InputError, with line and column, for a text that is no number.
    """
    numbers_of_rows = []
    for line, row in rows:
        first = len(row) - len(names)
        named_fields = zip(names, row[first:], strict=True)
        numbers = [read_number(path, line, name, field) for name, field in named_fields]
        numbers_of_rows.append(numbers)
    return numbers_of_rows


def _moved_to_front(fields: list[str], place: int) -> list[str]:
    """Put the field at a place first."""
    before = fields[:place]
    behind = fields[place + 1 :]
    return [fields[place], *before, *behind]


def heading_and_rows(path: Path, options: TextOptions | None = None) -> tuple[Line, list[Line]]:
    """Read the lines of a table, all as wide as the first.

    ``options`` are what a person says of its separator and encoding. Returns the heading and the
    lines below it. Raises InputError if there is no line, or one has not as many fields as the
    heading.
    """
    if options is None:
        lines = list(read_lines(path))
    else:
        lines = list(read_lines(path, separator=options.separator, encoding=options.encoding))
    if not lines:
        raise InputError(f"{path}: the file is empty.")
    heading_line, *rows = lines
    _, heading = heading_line
    for line, row in rows:
        require_width(path, line, row, heading)
    return heading_line, rows


def _is_of_study(path: Path) -> bool:
    """Tell a folder, or the scores of a study, from tables of other tools.

    Scores of a study are Parquet with a column cutoff.
    """
    if path.is_dir():
        return True
    if path.suffix != ".parquet":
        return False
    # A file that is not there, or no Parquet, is refused as one of a study.
    if not path.exists():
        return True
    content = read_bytes(path)
    if not content.startswith(PARQUET):
        return True
    table = read_table(path, content, SCORES)
    return not isinstance(table, Table) or "cutoff" in table.frame


def _read_long(path: Path, options: TextOptions | None) -> pd.DataFrame | None:
    """Read a table of several measures, with a row for each topic or score.

    Returns
    -------
    A frame with the columns of `LONG`: measure, system, user, score. None for a folder, and for a
    table whose columns are systems, or that has no column of topics.

    Raises
    ------
    InputError
        If the file holds lines of TREC or means, or a score is missing or no number.
    """
    import pandas as pd

    if not path.is_file():
        return None
    content = read_content(path, SCORES, options)
    printed = _printed_by_evaluator(content, path)
    if printed is not None:
        return printed
    kind = trec_kind(content)
    if kind:
        raise InputError(f"{path}: this is {kind}, not scores; `harness evaluate` scores runs.")
    table = read_table(path, content, SCORES, options)
    if isinstance(table, Mapping):
        records = _records_of_evaluation(table)
        if not records:
            raise InputError(
                f"{path}: there are no scores of topics in it. `harness evaluate -q --format json` "
                "writes them."
            )
        table = table_of(pd.DataFrame(records), SCORES, label=str(path), unit="row")
    if not isinstance(table, Table):
        return None
    has_labels = table.has(Role.SYSTEM) and table.has(Role.MEASURE)
    if has_labels and "mean" in table.frame:
        raise InputError(
            f"{path}: these are means, and scores of each topic are needed: "
            "`harness evaluate -q`, or scores.parquet of a study."
        )
    warprec_name = PER_USER.fullmatch(path.stem)
    if warprec_name is None:
        return long_frame_of(table, system=path.stem)
    system, cutoff = warprec_name.groups()
    names = []
    for name in table.frame.columns:
        is_metric = are_metrics([name])
        names.append(f"{name}@{cutoff}" if is_metric else name)
    frame = table.frame.set_axis(names, axis=1)
    return long_frame_of(replace(table, frame=frame), system=system)


def _records_of_evaluation(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the scores in what ``harness evaluate -q`` writes as JSON; none in other documents.

    Each record has system, measure, topic and score.
    """
    records = []
    for run in document.get("runs", ()):
        if not isinstance(run, Mapping):
            continue
        system = run.get("system")
        for topic, scores in run.get("topics", {}).items():
            for measure, score in scores.items():
                record = {"system": system, "measure": measure, "topic": topic, "score": score}
                records.append(record)
    return records


def _printed_by_evaluator(content: bytes, path: Path) -> pd.DataFrame | None:
    """Read what ``trec_eval -q`` or ``ir_measures -q`` printed; None for other files.

    Lines hold measure, topic and value, or topic, measure and value. Counts of trec_eval and the
    means over the topics are left out. The system is called by the line ``runid``, or as the file.
    """
    import pandas as pd

    if content.startswith(PARQUET):
        return None
    text = content.decode("utf-8", errors="replace")
    lines = [line.split() for line in text.splitlines()]
    lines = [fields for fields in lines if fields]
    if any(len(fields) != 3 for fields in lines):
        return None
    run_names = [run_name for name, _, run_name in lines if name == RUN_ID]
    system = run_names[0] if run_names else path.stem
    scored_lines = [line for line in lines if line[0] != RUN_ID and is_number(line[2])]
    n_without_score = len(lines) - len(scored_lines)
    measure_place = _place_of_measures(scored_lines)
    if measure_place is None or n_without_score > 1:
        return None
    topic_place = 1 - measure_place
    rows = []
    for fields in scored_lines:
        measure = fields[measure_place]
        topic = fields[topic_place]
        if topic != ALL and not _is_count(measure):
            rows.append((measure, topic, fields[2]))
    if not rows:
        return None
    frame = pd.DataFrame(rows, columns=["measure", "topic", "score"])
    table = table_of(frame, SCORES, label=str(path), unit="row")
    return long_frame_of(table, system=system)


def _place_of_measures(lines: Sequence[Sequence[str]]) -> int | None:
    """Find the field of the measures, 0 or 1, by names of metrics; None if neither holds them.

    Counts of trec_eval are not looked at; what has nothing else holds no measures.
    """
    for place in (0, 1):
        names = {fields[place] for fields in lines}
        measures = [name for name in names if not _is_count(name)]
        if measures and are_metrics(measures):
            return place
    return None


def _is_count(measure: str) -> bool:
    """Tell counts that trec_eval prints from scores."""
    return measure.startswith(COUNTS)


def _read_study(path: Path) -> Scores:
    """Read the scores of a study from its folder, or from their file.

    Raises InputError if there is no such file, or it does not hold scores.
    """
    file = path / SCORES_FILE if path.is_dir() else path
    try:
        return scores_from_parquet(file.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file; the study is not finished.") from None
    except (KeyError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: not the scores of a study ({error}).") from None


def _mean_over(paths: Sequence[Path], studies: Sequence[Scores]) -> Scores:
    """Average every user's scores over the studies that the user is tested in.

    Scores of a study have the shape (n_measures, n_systems, n_users); the users of the result are
    those of any study. Raises InputError if studies differ in their systems or measures.
    """
    first = studies[0]
    if len(studies) == 1:
        return first
    for path, study in zip(paths, studies, strict=True):
        if study.systems != first.systems or study.measures != first.measures:
            raise InputError(
                f"{path} and {paths[0]} differ in their systems or measures; a mean over studies "
                "needs the same."
            )
    users = np.unique(np.concatenate([study.users for study in studies]))
    n_studies = len(studies)
    n_measures, n_systems, _ = first.values.shape
    values = np.zeros((n_studies, n_measures, n_systems, len(users)))
    is_tested = np.zeros((n_studies, n_systems, len(users)), dtype=np.bool_)
    for number, study in enumerate(studies):
        places = np.searchsorted(users, study.users)
        values[number][..., places] = study.values
        is_tested[number][:, places] = True
    # A replicate is a system of one study: (n_studies * n_systems,).
    system_of_replicate = np.tile(np.arange(n_systems), n_studies)
    tested_of_replicate = np.concatenate(is_tested)
    values_of_replicate = np.concatenate(values, axis=1)
    replicates = Replicates(first.systems, system_of_replicate, tested_of_replicate)
    means = replicates.mean(values_of_replicate)
    return Scores(means, first.measures, first.systems, users, unit=first.unit)


def _measures_of_files(paths: Sequence[Path]) -> tuple[Measure, ...]:
    """Name measures after their files, without what all names begin with, up to a separator.

    Separators are ``_``, ``-`` and ``.``. Raises InputError if two files hold the same measure.
    """
    names = [path.stem for path in paths]
    shared_beginning = _shared_beginning(names) if len(names) > 1 else ""
    last_separator = max(shared_beginning.rfind(separator) for separator in SEPARATORS)
    start = last_separator + 1
    path_of_measure: dict[Measure, Path] = {}
    for name, path in zip(names, paths, strict=True):
        with prefixed_errors(path):
            measure = measure_named(name[start:] or name)
        if measure in path_of_measure:
            first_path = path_of_measure[measure]
            raise InputError(f"{first_path} and {path} both hold {measure}.")
        path_of_measure[measure] = path
    return tuple(path_of_measure)


def _shared_beginning(names: Sequence[str]) -> str:
    """Find the letters that all names begin with."""
    n_shared = 0
    for letters in zip(*names, strict=False):
        distinct_letters = set(letters)
        if len(distinct_letters) > 1:
            break
        n_shared += 1
    first_name = names[0]
    return first_name[:n_shared]
