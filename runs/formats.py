"""Run files: TREC's ``user Q0 item rank score tag``, gzipped or not, and Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runs.run import Run
from runs.run_file import RunFile
from runs.shared.arrays import Integers
from runs.shared.errors import InputError, as_input_error, warn
from runs.shared.fields import (
    ITEM_FIELD,
    USER_FIELD,
    Columns,
    Layout,
    NumberedLines,
    Pairs,
    join_rows,
    read_columns,
)
from runs.shared.files import PARQUET, parquet_bytes, read_bytes
from runs.shared.ids import Numbering, escaped, first_unfit_id, id_fault


def find_run_files(patterns: Iterable[str]) -> list[Path]:
    """Find run files by their paths; ``*`` and ``?`` are welcome."""
    found: list[Path] = []
    for pattern in patterns:
        # Brackets stand for themselves: folders have them in their names.
        matches = [Path(match) for match in sorted(glob(pattern.replace("[", "[[]")))]
        if not matches:
            raise InputError(f"{pattern}: no run file matches.")
        found += matches
    return list(dict.fromkeys(found))


def read_run(path: Path) -> RunFile:
    """Read a run file: TREC's lines, which may be gzipped, or Parquet, whatever it is called."""
    path = Path(path)
    content = read_bytes(path)
    return (run_from_parquet if content.startswith(PARQUET) else parse_run)(path, content)


N_FIELDS, SCORE_FIELD, TAG_FIELD = 6, 4, 5
LAYOUT = Layout(
    N_FIELDS,
    texts=(USER_FIELD, ITEM_FIELD, TAG_FIELD),
    numbers=(SCORE_FIELD,),
    skips_blank_lines=True,
)
SCORE = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
NUMBER = re.compile(rb"[+-]?\d+(\.\d*)?")


def parse_run(path: Path, content: bytes) -> RunFile:
    """Read the lines of a run as trec_eval does, and refuse what it would misread.

    The rank and the second field are ignored. Blank lines and lines that begin with ``#`` are
    skipped. Fields beyond the sixth are ignored with a warning.
    """
    columns = read_columns(path, content, LAYOUT, _checked_lines)
    scores = columns.numbers(SCORE_FIELD)
    for position in np.flatnonzero(np.isnan(scores))[:1]:
        _check_fields(path, *columns.line(position))
    pairs = Pairs.of_columns(columns)
    return RunFile(path, _only_tag(columns), *pairs, scores)


def format_run(run: Run, topics: Numbering, items: Numbering) -> bytes:
    """Write a run as the lines of a TREC run file.

    The score is ``depth + 1 - rank``: strictly falling, and exact in float32, so that every
    evaluator finds our order again.
    """
    beginnings = [f"{topic} Q0 " for topic in topics.ids.tolist()]
    endings = [f" {rank} {run.depth + 1 - rank} {run.system}\n" for rank in range(1, run.depth + 1)]
    user, column = np.nonzero(run.items >= 0)
    ranked = items.ids.tolist(), run.items[user, column]
    return join_rows((beginnings, user), ranked, (endings, column))


def _checked_lines(path: Path, lines: NumberedLines) -> Iterator[list[bytes]]:
    """Check lines, and give six fields of each; warn of further ones."""
    extra = []
    has_lines = False
    for number, fields in lines:
        if not fields:
            continue
        _check_fields(path, number, fields)
        has_lines = True
        if len(fields) > N_FIELDS:
            extra.append(number)
        yield fields[:N_FIELDS]
    if not has_lines:
        raise InputError(f"{path}: the file has no line with a recommendation.")
    if extra:
        finding = f"{len(extra)} lines (the first is line {extra[0]}) have more than six fields"
        warn(f"{path}: {finding}; the rest is ignored.")


def _check_fields(path: Path, number: int, fields: list[bytes]) -> None:
    if len(fields) < N_FIELDS:
        finding = f"a run line has six fields (user Q0 item rank score tag), found {len(fields)}."
        raise InputError.at_line(path, number, finding)
    if len(fields) > N_FIELDS and not NUMBER.fullmatch(fields[3]):
        finding = f"more than six fields, and the rank {fields[3].decode()!r} is no number"
        raise InputError.at_line(path, number, f"{finding}: does the item id have a space?")
    if not SCORE.fullmatch(fields[4]):
        raise InputError.at_line(path, number, f"the score {fields[4].decode()!r} is not a number.")


def _only_tag(columns: Columns) -> str:
    tags, codes = columns.bounded_texts(TAG_FIELD)
    if len(tags) > 1:
        other = int((codes != codes[0]).argmax())
        first, second = tags[codes[0]], tags[codes[other]]
        finding = f"a run has one tag, found {second!r} after {first!r} in {columns.place(0)}"
        raise columns.error_at(other, f"{finding}: are these two runs?")
    return escaped(tags[0])


COLUMNS = {"system": TAG_FIELD, "user": USER_FIELD, "item": ITEM_FIELD, "score": SCORE_FIELD}
"""Columns of a run in Parquet, and the fields of a line that hold the same."""

BYTES_PER_ROW = 100
"""What a row takes while it is read, with room to spare."""


def run_to_parquet(run: Run, topics: Numbering, items: Numbering) -> bytes:
    """Write a run as the columns system, user, item and score of a Parquet file.

    Ids and scores are those of `runs.formats.format_run`: names that a TREC file can carry, and
    ``depth + 1 - rank``.
    """
    import pyarrow as pa

    user, column = np.nonzero(run.items >= 0)
    named: dict[str, tuple[Integers, NDArray[np.str_]]] = {
        "system": (np.zeros_like(user), np.array([run.system])),
        "user": (user, topics.ids),
        "item": (run.items[user, column], items.ids),
    }
    columns: dict[str, Any] = {}
    for name, (number, ids) in named.items():
        text = pa.array(ids.tolist(), pa.string())
        columns[name] = pa.DictionaryArray.from_arrays(number.astype(np.int32), text)
    columns["score"] = (run.depth - column).astype(np.float32)
    return parquet_bytes(
        pa.table(columns),
        write_statistics=False,
        row_group_size=max(len(user), 1),
        # Whatever their length, ids are written once, not once a row.
        dictionary_pagesize_limit=2**31 - 1,
    )


def is_own(content: bytes) -> bool:
    """Tell whether a Parquet file has the columns of our runs, or cannot be read at all."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return {*COLUMNS} <= {*parquet.read_schema(pa.py_buffer(content)).names}
    except (pa.ArrowException, OSError):
        return True


def run_from_parquet(path: Path | str, content: bytes) -> RunFile:
    """Read the columns system, user, item and score; others are ignored."""
    columns = Columns(path, content, _arrays(path, content), unit="row")
    for name, field in COLUMNS.items():
        array = columns.arrays[field]
        if array.null_count:
            raise columns.error_at(array.is_null().index(True).as_py(), f"the {name} is missing.")
        texts, codes = ([], np.empty(0)) if name == "score" else columns.bounded_texts(field)
        unfit = first_unfit_id(texts)
        if unfit is not None:
            finding = f"no run can have the {name} {texts[unfit]!r}: it {id_fault(texts[unfit])}."
            raise columns.error_at(int((codes == unfit).argmax()), finding)
    scores = columns.numbers(SCORE_FIELD)
    for position in np.flatnonzero(np.isnan(scores))[:1]:
        raise columns.error_at(int(position), "the score is not a number.")
    return RunFile(path, _only_tag(columns), *Pairs.of_columns(columns), scores)


def _arrays(path: Path | str, content: bytes) -> dict[int, Any]:
    """Give the columns by field, names as text of which each is stored once."""
    import pyarrow as pa
    from psutil import virtual_memory
    from pyarrow import parquet

    with as_input_error(f"{path}: not a Parquet file that can be read", pa.ArrowException, OSError):
        buffer, names = pa.py_buffer(content), ["system", "user", "item"]
        metadata = parquet.read_metadata(buffer)
        # What is nested has a path of several names.
        found = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
        n_rows = metadata.num_rows
        if any(found.count(name) != 1 for name in COLUMNS):
            finding = f"a run has the columns {', '.join(COLUMNS)}, found {', '.join(found)}."
            raise InputError(f"{path}: {finding}")
        if not n_rows:
            raise InputError(f"{path}: the file has no row with a recommendation.")
        if n_rows > int(virtual_memory().available) // BYTES_PER_ROW:
            raise InputError(f"{path}: it has {n_rows:,} rows, which free memory cannot hold.")
        table = parquet.ParquetFile(buffer, read_dictionary=names).read(list(COLUMNS))
        return {field: _converted(path, name, table[name]) for name, field in COLUMNS.items()}


def _converted(path: Path | str, name: str, column: Any) -> Any:
    """Give numbers as they are, and names as text, each once."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    is_text = types.is_string(kind) or types.is_large_string(kind)
    is_score, is_integer = name == "score", types.is_integer(kind)
    if not (is_integer or (types.is_floating(kind) if is_score else is_text)):
        holds = "numbers" if is_score else "text or integers"
        raise InputError(f"{path}: the column {name} must hold {holds}, found {column.type}.")
    if is_score:
        return column.combine_chunks()
    is_encoded = is_text and types.is_dictionary(column.type)
    encoded = column if is_encoded else column.cast("string").dictionary_encode()
    names = encoded.unify_dictionaries().combine_chunks()
    has_others = len(names.indices.unique()) < len(names.dictionary)
    return names.cast("string").dictionary_encode() if has_others else names
