"""Scores for each topic from files (one measure a table, or Parquet) and from data frames."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import TOPIC, USER, Scores
from harness.metrics.shared.names import split_depth
from harness.metrics.shared.register import built_in_metrics, harness_name
from harness.readers.columns import (
    ColumnNames,
    Table,
    column_of,
    folded,
    frame_of,
    read_table,
    trec_kind,
    with_index,
    with_roles,
)
from runs import InputError
from runs.replicates import Replicates
from runs.shared.errors import as_input_error, prefixed_errors
from runs.shared.fields import distinct_names, is_number, read_lines, read_number, require_width
from runs.shared.files import PARQUET, read_bytes

if TYPE_CHECKING:
    import pandas as pd


SCORES_FILE = "scores.parquet"
SEPARATORS = "_-."

WORDS_FOR_TOPICS = ("topic", "qid", "query")
"""How columns are called that hold topics, and not users."""

Line = tuple[int, list[str]]
"""Its number, and its fields."""


def read_score_tables(paths: Sequence[Path], columns: ColumnNames | None = None) -> Scores:
    """Read scores from tables of one measure each, or folders or ``scores.parquet`` of studies.

    Of several studies, such as those of all folds of a `k-fold` split or of all percentiles of
    `popularity-percentile`, a user's score is the mean over those that the user is tested in.

    A table is UTF-8 text with a heading line. Fields are separated by tabs if that line has one,
    else by commas. The first column holds the ids of the topics if its heading is empty, topic,
    user, query or qid, or if none of its values is a number; without ids rows are numbered
    from 1. A measure is called as its file, without the folder, the extension and, of several
    files, what their names share up to the last ``_``, ``-`` or ``.``: adhoc5_ap.csv and
    adhoc5_p10.csv hold ap and p10. A name such as ``nDCG@10`` gives metric and cut-off. The user
    may name the columns user, system, measure and score.

    Returns
    -------
    Scores with measures in the order of the files, systems and topics in that of the first.
    """
    if not paths:
        raise InputError("no table of scores was given.")
    if all(map(_is_study, paths)):
        return _mean_over(paths, [_read_study(path) for path in paths])
    long = [part for path in paths if (part := _read_long(path, columns)) is not None]
    if len(long) == len(paths):
        return _of_long(long)
    measures = _measures(paths)
    tables = [read_score_table(path, columns) for path in paths]
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
    return Scores(
        np.array(values),
        all_reported(measures),
        tuple(first.columns),
        np.array(first.index, dtype=np.str_),
        unit=unit_of(first.index.name),
    )


def unit_of(heading: object) -> str:
    """Say what scores are of by the heading of their ids: topics where that is a word for them.

    Examples
    --------
    >>> unit_of("topic"), unit_of("qid"), unit_of("user_id"), unit_of(None)
    ('topic', 'topic', 'user', 'user')
    """
    return TOPIC if folded(heading).startswith(WORDS_FOR_TOPICS) else USER


def read_score_table(path: Path, columns: ColumnNames | None = None) -> pd.DataFrame:
    """Read one table, with topics down and systems across; see `read_score_tables`."""
    import pandas as pd

    heading, rows = heading_and_rows(path)
    if not rows:
        raise InputError.at_line(path, heading[0], "the table has a heading but no scores.")
    line, names = heading[0], with_roles(heading[1], columns or {}, "scores", str(path))
    topic, item = column_of(names, "topic"), column_of(names, "item")
    if item is not None:
        finding = f"the column {item!r} holds items, and scores are of topics or users."
        raise InputError.at_line(path, line, finding)
    place = 0 if topic is None else names.index(topic)
    if place:
        names, rows = _first(names, place), [(at, _first(row, place)) for at, row in rows]
    has_ids = topic is not None or not names[0] or not any(is_number(r[0]) for _, r in rows)
    systems = distinct_names(path, [(line, name) for name in names[has_ids:]], "system")
    if len(systems) < 2:
        found = repr(systems[0]) if systems else "none"
        raise InputError.at_line(path, line, f"two or more systems expected, found {found}.")
    if are_metrics(systems):
        finding = f"the columns are measures ({', '.join(systems)}), not systems"
        raise InputError.at_line(path, line, f"{finding}; name the column of the topics `user`.")
    ids = [(line, row[0] if has_ids else str(n)) for n, (line, row) in enumerate(rows, start=1)]
    topics = distinct_names(path, ids, "topic")
    values = read_numbers(path, rows, systems)
    heading_of_ids = names[0] if has_ids else None
    index = pd.Index(list(topics), name=heading_of_ids)
    return pd.DataFrame(values, index=index, columns=list(systems))


def read_numbers(path: Path, rows: Sequence[Line], names: Sequence[str]) -> list[list[float]]:
    """Read the last fields of all rows, in columns of these names, as numbers."""
    return [
        [
            read_number(path, line, name, text)
            for name, text in zip(names, row[len(row) - len(names) :], strict=True)
        ]
        for line, row in rows
    ]


def _first(fields: list[str], place: int) -> list[str]:
    """Put the field at a place first."""
    return [fields[place], *fields[:place], *fields[place + 1 :]]


def heading_and_rows(path: Path) -> tuple[Line, list[Line]]:
    """Read the lines of a table, all as wide as the first."""
    lines = list(read_lines(path))
    if not lines:
        raise InputError(f"{path}: the file is empty.")
    (first, heading), *rows = lines
    return (first, heading), [(line, require_width(path, line, row, heading)) for line, row in rows]


def _is_study(path: Path) -> bool:
    """Tell a folder, or the scores of a study, from tables of other tools."""
    if path.is_dir() or path.suffix != ".parquet" or not path.exists():
        return path.is_dir() or path.suffix == ".parquet"
    content = read_bytes(path)
    table = read_table(path, content) if content.startswith(PARQUET) else None
    return not isinstance(table, Table) or "cutoff" in table.frame


PER_USER = re.compile(r"(.+)_k_([0-9]+)_per_user_.+")
"""Name of a file of WarpRec: the system, and the cut-off of all measures in it."""


def _read_long(path: Path, columns: ColumnNames | None) -> pd.DataFrame | None:
    """Read a table of several measures, with a row for each topic or score; None for others."""
    if not path.is_file():
        return None
    content = read_bytes(path)
    if kind := trec_kind(content):
        raise InputError(f"{path}: this is {kind}, not scores; `harness evaluate` scores runs.")
    table = read_table(path, content, columns, kind="scores")
    if not isinstance(table, Table):
        return None
    if (of_system := PER_USER.fullmatch(path.stem)) is None:
        return _long(table, path.stem)
    names = [f"{n}@{of_system[2]}" if are_metrics([n]) else n for n in table.frame.columns]
    return _long(replace(table, frame=table.frame.set_axis(names, axis=1)), of_system[1])


def _read_study(path: Path) -> Scores:
    file = path / SCORES_FILE if path.is_dir() else path
    try:
        return scores_from_parquet(file.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file; the study is not finished.") from None
    except (KeyError, ValueError, RecursionError) as error:
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
    return Scores(means, first.measures, first.systems, users, unit=first.unit)


def _measures(paths: Sequence[Path]) -> tuple[Measure, ...]:
    """Name measures after their files, without what all names begin with, up to a separator."""
    names = [path.stem for path in paths]
    alike = [len({*letters}) == 1 for letters in zip(*names, strict=False)]
    shared = names[0][: [*alike, False].index(False)] if len(names) > 1 else ""
    start = 1 + max(map(shared.rfind, SEPARATORS))
    measures: dict[Measure, Path] = {}
    for name, path in zip(names, paths, strict=True):
        with prefixed_errors(path):
            measure = measure_named(name[start:] or name)
        if measure in measures:
            raise InputError(f"{measures[measure]} and {path} both hold {measure}.")
        measures[measure] = path
    return tuple(measures)


def measure_named(name: str) -> Measure:
    """Take a name apart; without a depth it is one of whole lists."""
    metric, cutoff, _ = split_depth(name)
    return Measure(metric, cutoff)


def measure_at(path: Path, line: int, name: str) -> Measure:
    """Take a name in a table apart."""
    with prefixed_errors(f"{path}, line {line}"):
        return measure_named(name)


def all_reported(measures: Iterable[Measure]) -> Measures:
    """Compare all measures with one another, as each was named."""
    every = tuple(measures)
    for measure in every:
        if every.count(measure) > 1:
            raise InputError(f"the measure {measure} is duplicated.")
    return Measures(every, reported=every)


MEASURES = "measures"
"""The key of the metadata."""

ROWS_AT_ONCE = 1 << 20
"""Rows that are written together: as many as a row group has."""


def scores_to_parquet(scores: Scores) -> bytes:
    """Write scores in long form: columns metric, cutoff, system, user, score.

    Rows run over users fastest, then systems, then measures. What is known of the measures is
    metadata of the file: which are reported, make curves, and fall.
    """
    import pyarrow as pa
    from pyarrow import parquet

    _, n_systems, n_users = scores.values.shape
    measured, values = scores.measures, scores.values.ravel()
    names = list(dict.fromkeys(measure.metric for measure in measured))
    metrics = np.array([names.index(measure.metric) for measure in measured], dtype=np.int32)
    cutoffs = pa.array([measure.cutoff for measure in measured], pa.int32())
    texts = {"metric": names, "system": scores.systems, "user": scores.users.tolist()}
    ids = {name: pa.array(each, pa.string()) for name, each in texts.items()}
    known = {
        "reported": measured.indices(measured.reported),
        "grid": measured.indices(measured.grid),
        "falling": sorted(measured.lower_is_better_for),
        "unit": scores.unit,
    }

    text = pa.dictionary(pa.int32(), pa.string())
    kinds = {"metric": text, "cutoff": pa.int32(), "system": text, "user": text}
    schema = pa.schema(kinds | {"score": pa.float64()}, {MEASURES: json.dumps(known)})
    stream = BytesIO()
    # Nobody skips row groups by their least and greatest score, and to find these takes as long as
    # the rest of the writing.
    options = {"compression": "zstd", "write_statistics": False}
    with parquet.ParquetWriter(stream, schema, **options) as file:
        for first in range(0, max(len(values), 1), ROWS_AT_ONCE):
            score = values[first : first + ROWS_AT_ONCE]
            lists, users = np.divmod(np.arange(first, first + len(score)), n_users)
            measures, systems = np.divmod(lists, n_systems)
            numbers = {"metric": metrics[measures], "system": systems, "user": users}
            columns = {
                name: pa.DictionaryArray.from_arrays(each.astype(np.int32), ids[name])
                for name, each in numbers.items()
            }
            columns |= {"cutoff": cutoffs.take(measures), "score": score}
            file.write_table(pa.table(columns, schema))
    return stream.getvalue()


def scores_from_parquet(content: bytes) -> Scores:
    """Read back what `scores_to_parquet` wrote, bit for bit."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(pa.BufferReader(content))

    def column(name: str) -> Any:
        return file.read(columns=[name])[name]

    users, systems = (column(name).unique().to_pylist() for name in ("user", "system"))
    firsts = np.arange(0, file.metadata.num_rows, len(users) * len(systems))
    labels = (column(name).take(firsts).to_pylist() for name in ("metric", "cutoff"))
    every = [*map(Measure, *labels)]
    # The file of another says nothing more of its measures.
    known = json.loads((file.schema_arrow.metadata or {}).get(MEASURES.encode(), b"{}"))
    some = {key: [every[n] for n in known[key]] for key in ("reported", "grid") if known}
    scores = Scores(
        values=column("score").to_numpy().reshape(-1, len(systems), len(users)),
        measures=Measures(every, lower_is_better_for=known.get("falling", ()), **some),
        systems=tuple(systems),
        users=np.array(users, dtype=np.str_),
        unit=known.get("unit", USER),
    )
    # Arrow would keep what columns took: gigabytes, where users are many.
    pa.default_memory_pool().release_unused()
    return scores


LONG = ("measure", "system", "user", "score")

HEADING = "heading of the topics"
"""The attribute of a long table that says what the column of its topics was called."""

Framed: TypeAlias = "Scores | pd.DataFrame | Mapping[str, pd.DataFrame]"
"""Scores; a long frame of them; or a frame for each measure: topics down, systems across."""


def scores_of(data: Framed) -> Scores:
    """Make scores of what a notebook has.

    Parameters
    ----------
    data
        Scores, as they are. Or a frame for each measure by its name, such as "nDCG@10": a row for
        each topic, a column for each system. Or one long frame with the columns measure, system,
        user and score, or their names in other tools; what else it has does no harm. Or a frame
        with a column for each metric, as LensKit's ``list_metrics()``. One frame of topics and
        systems alone is that of a measure called "score".
    """
    if isinstance(data, Scores):
        return data
    if not isinstance(data, Mapping):
        frame = frame_of(data)
        long = _long(Table(with_index(frame), "the scores"), "model")
        if long is not None:
            return _of_long([long])
        data = {"score": frame}
    for name, value in data.items():
        if isinstance(value, Sequence | np.ndarray):
            raise InputError(
                f"scores are a data frame for each measure, {{'AP': frame}}, and {name!r} has "
                f"{type(value).__name__}. If these are scores by system, give a frame of them: "
                "pandas.DataFrame(scores)."
            )
    frames = {name: _by_topic(frame_of(frame)) for name, frame in data.items()}
    if not frames:
        raise InputError("there is no measure: give a frame for each, by its name.")
    first, *others = frames
    for name in others:
        for what, axis in (("systems", "columns"), ("topics", "index")):
            if not getattr(frames[first], axis).equals(getattr(frames[name], axis)):
                raise InputError(f"{first!r} and {name!r} have different {what}, or another order.")
    with as_input_error("scores must be numbers", TypeError, ValueError):
        values = np.array([frame.to_numpy(dtype=np.float64).T for frame in frames.values()])
    return Scores(
        values,
        all_reported(map(measure_named, frames)),
        tuple(map(str, frames[first].columns)),
        frames[first].index.astype(str).to_numpy(dtype=np.str_),
        unit=unit_of(frames[first].index.name),
    )


def _by_topic(frame: pd.DataFrame) -> pd.DataFrame:
    """Number the rows of scores by the column of the topics, if there is one."""
    topic = column_of(frame.columns, "topic")
    return frame if topic is None else frame.set_index(topic)


def are_metrics(names: Iterable[object]) -> bool:
    """Tell whether columns are measures: all have names of metrics, or one has also a cut-off."""
    known = built_in_metrics()
    found = {str(name): harness_name(str(name).partition("@")[0], known) for name in names}
    return all(found.values()) or any("@" in name and own for name, own in found.items())


def _long(table: Table, system: str) -> pd.DataFrame | None:
    """Give a table of several measures in long form; None if its columns are systems.

    Where no column names the system, all scores are of the one that is given.
    """
    names = table.frame.columns
    topic, measure, value = (column_of(names, role) for role in ("topic", "measure", "value"))
    model = column_of(names, "system") or column_of(names, "name")
    if topic is None:
        return None
    frame = table.frame.assign(**({} if model else {"system": system}))
    keys = [topic, model or "system"]
    if measure is None or value is None:
        columns = [name for name in names if name not in keys]
        if not columns or not are_metrics(columns):
            return None
        frame = frame.melt(keys, columns, "measure", "score", ignore_index=False)
        measure, value = "measure", "score"
    found = frame[[measure, keys[1], topic, value]].set_axis(LONG, axis=1)
    melted = replace(table, frame=found)
    numbers = melted.numbers(found["score"])
    found = found.assign(user=melted.ids(found["user"]), score=numbers)
    is_repeated = found.duplicated([*LONG[:3]]).to_numpy()
    wrong = {"has no number": np.isnan(numbers), "is duplicated": is_repeated}
    for finding, places in wrong.items():
        for place in np.flatnonzero(places)[:1]:
            name, model, user, _ = found.iloc[place]
            which = f"{name} of system {model!r} for topic {user!r}"
            raise melted.error(int(place), f"{which} {finding}.")
    found.attrs[HEADING] = topic
    return found


def _of_long(parts: Sequence[pd.DataFrame]) -> Scores:
    """Put scores in long form together; every system has all topics and measures."""
    import pandas as pd

    long = pd.concat(parts).astype({"measure": str, "system": str})
    for twice in np.flatnonzero(long.duplicated([*LONG[:3]]))[:1]:
        raise InputError(f"the system {long.system.iloc[twice]!r} is in two files.")
    wide = long.pivot(index="user", columns=["measure", "system"], values="score")
    wide.index.name = parts[0].attrs[HEADING]
    systems = sorted(long.system.unique())
    frames = {m: wide.reindex(columns=[(m, s) for s in systems]) for m in long.measure.unique()}
    for name, frame in frames.items():
        for user, system in np.argwhere(frame.isna().to_numpy())[:1]:
            raise InputError(
                f"topic {frame.index[user]!r} has no score of system {systems[system]!r} by "
                f"{name}; give it one, such as 0, or leave out the topic."
            )
    return scores_of({name: frame.set_axis(systems, axis=1) for name, frame in frames.items()})
