"""Scores for each topic from files (one measure a table, or Parquet) and from data frames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from analyses.shared.measure import Measure, Measures, Scores
from harness.metrics.shared.names import split_depth
from runs import InputError
from runs.replicates import Replicates
from runs.shared.fields import ID_HEADERS, check_width, distinct, is_number, read_lines, read_number

if TYPE_CHECKING:
    import pandas as pd


SCORES_FILE = "scores.parquet"
SEPARATORS = "_-."

Line = tuple[int, list[str]]
"""Its number, and its fields."""


def read_score_tables(paths: Sequence[Path]) -> Scores:
    """Read scores from tables of one measure each, or folders or ``scores.parquet`` of studies.

    Of several studies, such as those of all folds of a `k-fold` split or of all percentiles of
    `popularity-percentile`, a user's score is the mean over those that the user is tested in.

    A table is UTF-8 text with a heading line. Fields are separated by tabs if that line has one,
    else by commas. The first column holds the ids of the topics if its heading is empty, topic,
    user, query or qid, or if none of its values is a number; without ids rows are numbered
    from 1. A measure is called as its file, without the folder, the extension and, of several
    files, what their names share up to the last ``_``, ``-`` or ``.``: adhoc5_ap.csv and
    adhoc5_p10.csv hold ap and p10. A name such as ``nDCG@10`` gives metric and cut-off.

    Returns
    -------
    Scores with measures in the order of the files, systems and topics in that of the first.
    """
    if not paths:
        raise InputError("no table of scores was given.")
    if all(path.is_dir() or path.suffix == ".parquet" for path in paths):
        return _mean_over(paths, [_read_study(path) for path in paths])
    measures = _measures(paths)
    tables = [read_score_table(path) for path in paths]
    first = tables[0]
    for path, table in zip(paths, tables, strict=True):
        for kind, axis in (("system", "columns"), ("topic", "index")):
            odd = sorted({*getattr(table, axis)} ^ {*getattr(first, axis)})
            if odd:
                raise InputError(
                    f"{path} and {paths[0]} must have the same {kind}s: {kind} {odd[0]!r} is in "
                    f"one of them alone ({len(odd)} such)."
                )
    values = [table.loc[first.index, first.columns].to_numpy().T for table in tables]
    users = np.array(first.index, dtype=np.str_)
    return Scores(np.array(values), all_reported(measures), tuple(first.columns), users)


def read_score_table(path: Path) -> pd.DataFrame:
    """Read one table, with topics down and systems across; see `read_score_tables`."""
    import pandas as pd

    heading, rows = heading_and_rows(path)
    if not rows:
        raise InputError.at(path, heading[0], "the table has a heading but no scores.")
    has_ids = heading[1][0].lower() in ID_HEADERS or not any(is_number(r[0]) for _, r in rows)
    systems = distinct(path, [(heading[0], name) for name in heading[1][has_ids:]], "system")
    if len(systems) < 2:
        raise InputError.at(path, heading[0], f"two or more systems expected, found {systems}.")
    names = [(line, row[0] if has_ids else str(n)) for n, (line, row) in enumerate(rows, start=1)]
    topics = distinct(path, names, "topic")
    values = [
        [
            read_number(path, line, name, text)
            for name, text in zip(systems, row[has_ids:], strict=True)
        ]
        for line, row in rows
    ]
    return pd.DataFrame(values, index=list(topics), columns=list(systems))


def heading_and_rows(path: Path) -> tuple[Line, list[Line]]:
    """Read the lines of a table, all as wide as the first."""
    lines = list(read_lines(path))
    if not lines:
        raise InputError(f"{path}: the file is empty.")
    (first, heading), *rows = lines
    return (first, heading), [(line, check_width(path, line, row, heading)) for line, row in rows]


def _read_study(path: Path) -> Scores:
    file = path / SCORES_FILE if path.is_dir() else path
    try:
        return scores_from_parquet(file.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file; the study is not finished.") from None
    except (KeyError, ValueError) as error:
        raise InputError(f"{file}: not the scores of a study ({error}).") from None


def _mean_over(paths: Sequence[Path], studies: Sequence[Scores]) -> Scores:
    """Average every user's scores over the studies that the user is tested in."""
    first = studies[0]
    if len(studies) == 1:
        return first
    for path, study in zip(paths, studies, strict=True):
        if (study.systems, study.measures) != (first.systems, first.measures):
            raise InputError(
                f"{path} and {paths[0]} differ in their systems or measures; a mean over studies "
                "needs the same."
            )
    users = np.unique(np.concatenate([study.users for study in studies]))
    values = np.zeros((len(studies), *first.values.shape[:2], len(users)))
    tested = np.zeros((len(studies), len(first.systems), len(users)), dtype=np.bool_)
    for number, study in enumerate(studies):
        own = np.searchsorted(users, study.users)
        values[number][..., own], tested[number][:, own] = study.values, True
    systems = np.tile(np.arange(len(first.systems)), len(studies))
    scored = Replicates(first.systems, systems, np.concatenate(tested))
    means = scored.mean(np.concatenate(values, axis=1))
    return Scores(means, first.measures, first.systems, users)


def _measures(paths: Sequence[Path]) -> tuple[Measure, ...]:
    """Name measures after their files, without what all names begin with, up to a separator."""
    names = [path.stem for path in paths]
    alike = [len({*letters}) == 1 for letters in zip(*names, strict=False)]
    shared = names[0][: [*alike, False].index(False)] if len(names) > 1 else ""
    start = 1 + max(map(shared.rfind, SEPARATORS))
    measures: dict[Measure, Path] = {}
    for name, path in zip(names, paths, strict=True):
        try:
            measure = measure_named(name[start:] or name)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        if measure in measures:
            raise InputError(f"{measures[measure]} and {path} both hold {measure}.")
        measures[measure] = path
    return tuple(measures)


def measure_named(name: str) -> Measure:
    """Take a name apart; without a depth it is one of whole lists."""
    metric, cutoff, _ = split_depth(name)
    return Measure(metric, cutoff)


def all_reported(measures: Iterable[Measure]) -> Measures:
    """Compare all measures with one another, as each was named."""
    every = tuple(measures)
    for measure in every:
        if every.count(measure) > 1:
            raise InputError(f"the measure {measure} is duplicated.")
    return Measures(every, reported=every)


MEASURES = "measures"
"""The key of the metadata."""


def scores_to_parquet(scores: Scores) -> bytes:
    """Write scores in long form: columns metric, cutoff, system, user, score.

    Rows run over users fastest, then systems, then measures. What is known of the measures is
    metadata of the file: which are reported, make curves, and fall.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    n_measures, n_systems, n_users = scores.values.shape
    names = list(dict.fromkeys(measure.metric for measure in scores.measures))
    metrics = np.array([names.index(measure.metric) for measure in scores.measures], dtype=np.int32)
    cutoffs = pa.array([measure.cutoff for measure in scores.measures], pa.int32())
    systems = np.tile(np.repeat(np.arange(n_systems, dtype=np.int32), n_users), n_measures)
    users = np.tile(np.arange(n_users, dtype=np.int32), n_measures * n_systems)
    measures = np.repeat(np.arange(n_measures, dtype=np.int32), n_systems * n_users)
    columns = {
        "metric": pa.DictionaryArray.from_arrays(metrics[measures], pa.array(names)),
        "cutoff": cutoffs.take(measures),
        "system": pa.DictionaryArray.from_arrays(systems, pa.array(scores.systems)),
        "user": pa.DictionaryArray.from_arrays(users, pa.array(scores.users.tolist())),
        "score": scores.values.ravel(),
    }
    stream = BytesIO()
    # Nobody skips row groups by their least and greatest score, and to find these takes as long as
    # the rest of the writing.
    measured = scores.measures
    known = {
        "reported": measured.numbers(measured.reported),
        "grid": measured.numbers(measured.grid),
        "falling": sorted(measured.falling),
    }
    table = pa.table(columns).replace_schema_metadata({MEASURES: json.dumps(known)})
    parquet.write_table(table, stream, compression="zstd", write_statistics=False)
    return stream.getvalue()


def _measures_of(every: Sequence[Measure], metadata: Mapping[bytes, bytes]) -> Measures:
    """Say of measures what the metadata know; nothing, if the file is another's."""
    known = json.loads(metadata.get(MEASURES.encode(), b"{}"))
    some = {key: [every[n] for n in known[key]] for key in ("reported", "grid") if known}
    return Measures(every, falling=known.get("falling", ()), **some)


def scores_from_parquet(content: bytes) -> Scores:
    """Read back what `scores_to_parquet` wrote, bit for bit."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = parquet.read_table(pa.BufferReader(content))
    n_users = len(table["user"].unique())
    n_systems = len(table["system"].unique())
    step = n_users * n_systems
    metrics = table["metric"].take(np.arange(0, len(table), step)).to_pylist()
    cutoffs = table["cutoff"].take(np.arange(0, len(table), step)).to_pylist()
    return Scores(
        values=table["score"].to_numpy().reshape(-1, n_systems, n_users),
        measures=_measures_of(list(map(Measure, metrics, cutoffs)), table.schema.metadata or {}),
        systems=tuple(table["system"].take(np.arange(0, step, n_users)).to_pylist()),
        users=np.array(table["user"].slice(0, n_users).to_pylist(), dtype=np.str_),
    )


LONG = ("measure", "system", "user", "score")

Framed: TypeAlias = "Scores | pd.DataFrame | Mapping[str, pd.DataFrame]"
"""Scores; a long frame of them; or a frame for each measure: topics down, systems across."""


def scores_of(data: Framed) -> Scores:
    """Make scores of what a notebook has.

    Parameters
    ----------
    data
        Scores, as they are. Or a frame for each measure by its name, such as "nDCG@10": a row for
        each topic, a column for each system. Or one long frame with the columns measure, system,
        user and score; what else it has does no harm. One frame of topics and systems alone is
        that of a measure called "score".
    """
    if isinstance(data, Scores):
        return data
    frames = data if isinstance(data, Mapping) else _by_measure(data)
    if not frames:
        raise InputError("there is no measure: give a frame for each, by its name.")
    first, *others = frames
    for name in others:
        for what, axis in (("systems", "columns"), ("topics", "index")):
            if not getattr(frames[first], axis).equals(getattr(frames[name], axis)):
                raise InputError(f"{first!r} and {name!r} have different {what}, or another order.")
    try:
        values = np.array([frame.to_numpy(dtype=np.float64).T for frame in frames.values()])
    except (TypeError, ValueError) as error:
        raise InputError(f"scores must be numbers: {error}.") from None
    return Scores(
        values,
        all_reported(map(measure_named, frames)),
        tuple(map(str, frames[first].columns)),
        frames[first].index.astype(str).to_numpy(dtype=np.str_),
    )


def _by_measure(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Part a long frame by measure; one of topics and systems is a measure's."""
    if not set(LONG) <= set(frame.columns):
        return {"score": frame}
    parts = frame.groupby("measure", sort=False)
    return {
        str(name): part.pivot(index="user", columns="system", values="score")
        for name, part in parts
    }
