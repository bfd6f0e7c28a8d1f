"""What tools call the columns of runs, qrels and scores; their files and frames as one table.

Capitals, spaces, ``_``, ``-`` and the type behind a ``:`` do not matter in the name of a column:
``user_id:token`` of RecBole is ``userid``. Where a table has several columns of one role, the name
that stands first in `NAMES` counts. Files are Parquet, Arrow (Feather), JSON, or text with a
heading whose fields are separated by tabs, commas or semicolons; Elliot's lists and MS MARCO's,
three fields between tabs, have none. Lists of LensKit as Parquet may be flat or nested. Objects are
data frames of pandas, what exports Arrow (polars, pyarrow), and what has ``to_df()`` (lists of
LensKit) or ``list_metrics`` (what LensKit measures). A user may name columns by their role.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runs import InputError
from runs.formats import NUMBER, SCORE
from runs.shared.arrays import Floats
from runs.shared.errors import as_input_error, how_to_add, require_known, warn
from runs.shared.files import PARQUET, read_within_memory

if TYPE_CHECKING:
    import pandas as pd

Role: TypeAlias = Literal[
    "topic", "item", "score", "rank", "grade", "system", "name", "measure", "value"
]

NAMES: Final[Mapping[Role, tuple[str, ...]]] = {
    "topic": ("query_id", "qid", "topic", "topic_id", "user", "user_id", "uid", "query"),
    "item": ("docno", "doc_id", "doc", "item", "item_id", "iid", "movieId"),
    "score": ("score", "sim", "prediction", "rating"),
    "rank": ("rank",),
    "grade": ("relevance", "label", "grade", "rel", "score", "rating"),
    "system": ("system", "run_id", "run", "tag", "model"),
    "name": ("name",),  # in tables of scores alone: with items it may be a title
    "measure": ("measure", "metric"),
    "value": ("score", "value"),
}
"""Names of the columns of each role, the first that a table has counts."""

ROLES: Final[Mapping[Kind, Mapping[str, Role]]] = {
    "runs": {"user": "topic", "item": "item", "score": "score", "rank": "rank", "system": "system"},
    "qrels": {"user": "topic", "item": "item", "grade": "grade"},
    "scores": {"user": "topic", "system": "system", "measure": "measure", "score": "value"},
}
"""What a user may name the columns of, by what a table holds."""

Kind: TypeAlias = Literal["runs", "qrels", "scores"]

OPTIONS: Final[Mapping[Kind, str]] = {"runs": "--column", "qrels": "--qrels-column"}
"""Options that name the columns of tables where lines of TREC are read, too."""

ColumnNames: TypeAlias = Mapping[str, str]
"""Names of columns that a user gives, by what `ROLES` says."""

ELLIOT = ("user", "item", "score")
"""Columns of Elliot's lists, which have no heading."""

GRADE = re.compile(rb"-?[0-9]{1,3}")
LZ4, ARROW = b"\x04\x22\x4d\x18", b"ARROW1"


def folded(name: object) -> str:
    """Give the name of a column without what does not matter in it."""
    return re.sub(r"[ _-]", "", str(name).strip().partition(":")[0]).casefold()


def column_of(names: Iterable[Any], role: Role) -> Any | None:
    """Give the column of some that has a role; None if there is none."""
    known = {folded(name): name for name in reversed([*names])}
    return next((known[name] for name in map(folded, NAMES[role]) if name in known), None)


def with_roles(names: Iterable[Any], columns: ColumnNames, kind: Kind, what: str) -> list[Any]:
    """Give columns that a user names the first names of their roles; other such are put aside."""
    found = [*names]
    for key, name in columns.items():
        require_known(f"no column of {kind} is called", [key], [*ROLES[kind]])
        if name not in found:
            there = ", ".join(map(str, found))
            raise InputError(f"{what}: no column is called {name!r} ({key}); there are {there}.")
    given = {name: NAMES[ROLES[kind][key]][0] for key, name in columns.items()}
    roles = [ROLES[kind][key] for key in columns]
    if "rank" in columns:
        roles.append("score")  # which would count
    aside = {name for role in roles for name in found if column_of([name], role)}
    return [given.get(name, f"({name})" if name in aside else name) for name in found]


@dataclass(frozen=True, eq=False)
class Table:
    """A data frame whose rows are numbered in its index, and what messages call it.

    ``what``: the object or the file; ``unit``: what an error counts in a file, lines or rows; ""
    for an object.
    """

    frame: pd.DataFrame
    what: str
    unit: str = ""

    def error(self, place: int, finding: str) -> InputError:
        """Say what is wrong with a row."""
        if not self.unit:
            return InputError(f"{self.what}: {finding}")
        row = int(self.frame.index[place]) + 1 + (self.unit == "line")
        return InputError.at_line(self.what, row, finding, unit=self.unit)

    def column(self, role: Role) -> pd.Series[Any]:
        """Give the column of a role."""
        name = column_of(self.frame.columns, role)
        if name is None:
            raise InputError(
                f"{self.what}: no column holds the {role}s; it is called {' or '.join(NAMES[role])}"
                f", and there are {', '.join(map(str, self.frame.columns)) or 'none'}."
            )
        return self.frame[name]

    def ids(self, column: pd.Series[Any]) -> NDArray[np.str_]:
        """Give ids as text."""
        texts = column.astype(str).to_numpy(dtype=np.str_)
        for place in np.flatnonzero(column.isna().to_numpy() | (texts == ""))[:1]:
            found = f"in row {place + 1} " if not self.unit else ""
            raise self.error(int(place), f"{found}an id is missing.")
        return texts

    def numbers(self, column: pd.Series[Any]) -> Floats:
        """Give numbers; NaN where one is missing."""
        import pandas as pd

        try:
            return np.asarray(column.mask(column == ""), dtype=np.float64)
        except (TypeError, ValueError):
            odd = column.notna() & pd.to_numeric(column, errors="coerce").isna()
            place = int(odd.to_numpy().argmax())
            finding = f"numbers are expected, found {column.iloc[place]!r}."
            raise self.error(place, finding) from None

    def parts(self, column: Any) -> dict[str, Table]:
        """Part the table by the values of a column."""
        # Categories that no row has are no parts.
        rows = self.frame.groupby(column, sort=False, observed=True)
        return {str(name): replace(self, frame=part) for name, part in rows}


def trec_kind(content: bytes) -> str:
    """Tell "a TREC run" and "a qrels file" by their first lines; "" for other files."""
    lines = [line.split() for line in content[:4096].splitlines()[:20]]
    rows = [fields for fields in lines if fields and not fields[0].startswith(b"#")]
    rows = rows[:-1] or rows  # The last may be cut off.
    widths = {len(fields) for fields in rows}
    if widths == {6} and all(NUMBER.fullmatch(r[3]) and SCORE.fullmatch(r[4]) for r in rows):
        return "a TREC run"
    if widths == {4} and all(r[1] in (b"0", b"Q0") and GRADE.fullmatch(r[3]) for r in rows):
        return "a qrels file"
    return ""


def is_frame(data: Any) -> bool:
    """Tell whether an object is a data frame, or gives one."""
    return any(hasattr(data, name) for name in ("collect", "columns", "to_df", "list_metrics"))


def frame_of(data: Any) -> pd.DataFrame:
    """Give the data frame that an object is or gives."""
    import pyarrow as pa

    if hasattr(data, "list_metrics"):  # a method, or the frame itself in LensKit 2026's RunMetrics
        data = data.list_metrics() if callable(data.list_metrics) else data.list_metrics
    if hasattr(data, "to_df"):
        data = data.to_df()
    if hasattr(data, "collect"):  # a lazy frame of polars
        data = data.collect()
    if hasattr(data, "iloc"):
        return data
    is_table = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__")
    if not is_table and not _are_columns(data):
        raise InputError(
            f"{type(data).__name__} is no table: give a data frame of pandas or polars, a table of "
            "Arrow, or a dictionary of columns, {name: [value, ...]}."
        )
    with as_input_error(f"{type(data).__name__} is no table that can be read", pa.ArrowException):
        return pa.table(data).to_pandas()


def _are_columns(data: Any) -> bool:
    """Tell whether it is a dictionary of columns."""
    if not isinstance(data, Mapping) or not data:
        return False
    return all(isinstance(column, Sequence | np.ndarray) for column in data.values())


Found: TypeAlias = "Table | Mapping[str, Any] | None"


def read_table(
    path: Path, content: bytes, columns: ColumnNames | None = None, *, kind: Kind = "runs"
) -> Found:
    """Read a file of another tool: a table, or JSON by topic; None if it has no such heading.

    The user may name its columns, of such a kind of table.
    """
    found = _read_table(path, content, kind, is_named=bool(columns))
    if not isinstance(found, Table) or not columns:
        return found
    names = with_roles(found.frame.columns, columns, kind, str(path))
    return replace(found, frame=found.frame.set_axis(names, axis=1))


def _read_table(path: Path, content: bytes, kind: Kind, *, is_named: bool) -> Found:
    import pyarrow as pa
    from pyarrow import csv

    if content.startswith(LZ4):
        return _from_lz4(path, content)
    errors = pa.ArrowException, OSError, ValueError, TypeError, RecursionError
    with as_input_error(f"{path}: the table cannot be read", *errors):
        if content.startswith(PARQUET):
            from pyarrow import parquet

            return Table(_flat(parquet.read_table(pa.BufferReader(content))), str(path), "row")
        if content.startswith(ARROW):
            from pyarrow import ipc

            return Table(_flat(ipc.open_file(content).read_all()), str(path), "row")
        if content.lstrip()[:1] in (b"{", b"["):
            try:
                found = json.loads(content)
            except json.JSONDecodeError:
                found = [json.loads(line) for line in content.splitlines() if line.strip()]
            if isinstance(found, dict):
                return found
            import pandas as pd

            return Table(pd.DataFrame(found), str(path), "row")
        heading = content.partition(b"\n")[0].decode("utf-8-sig", errors="replace")
        separator = next((mark for mark in "\t,;" if mark in heading), None)
        names = [name.strip(' "\r') for name in heading.split(separator)]
        is_list = len(names) == 3 and separator == "\t" and SCORE.fullmatch(names[2].encode())
        if is_list:
            names, content = [*ELLIOT], b"\n" + content
        if separator is None or not (is_named or column_of(names, "topic") is not None):
            # A line of TREC has more fields, or is a comment.
            is_table = len(heading.split()) < 4 and not heading.startswith("#")
            if separator and kind in OPTIONS and is_table:
                finding = f"no column holds the users; there are {', '.join(names)}. Name them by "
                finding += f"`{OPTIONS[kind]}` (user={names[0]}), or by `columns` in a study file."
                raise InputError.at_line(path, 1, finding)
            return None
        if b"\n" not in content.rstrip():
            raise InputError(f"{path}: the table has a heading but no rows.")
        table = csv.read_csv(
            pa.py_buffer(content.rstrip()),
            csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False),
            csv.ParseOptions(delimiter=separator, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
        frame = table.to_pandas()
        if is_list and kind == "runs" and not is_named and _counts_up(frame):
            finding = "the third field counts 1, 2, 3, ... in each list, and is read as the rank; "
            warn(f"{path}: {finding}if it is the score, add `--column score=score`.")
            frame = frame.rename(columns={"score": "rank"})
        return Table(frame.set_axis(frame.index - bool(is_list)), str(path), "line")


def _counts_up(lists: pd.DataFrame) -> bool:
    """Tell whether the third field is the place in the list of the first, not in lists of one."""
    places = lists.groupby("user").cumcount() + 1
    return bool((lists["score"] == places.astype(str)).all() and places.max() > 1)


def _from_lz4(path: Path, content: bytes) -> Mapping[str, Any]:
    """Read what ranx compresses twice: numbers by topic and item, as CBOR."""
    import pyarrow as pa

    try:
        from cbor2 import loads
    except ImportError:
        raise InputError(
            f"{path}: lz4 of ranx needs the package cbor2; save the file with kind='json' or "
            f"'parquet', or {how_to_add('cbor2')}"
        ) from None
    with as_input_error(f"{path}: no lz4 file of ranx", OSError, ValueError, TypeError):
        for _ in range(2):
            with pa.CompressedInputStream(pa.BufferReader(content), "lz4") as stream:
                content = read_within_memory(path, stream, 0)
        return {**loads(content)}


def _flat(table: Any) -> pd.DataFrame:
    """Give a table of Arrow as a frame; lists of LensKit that are nested, an item a row."""
    import pyarrow as pa
    import pyarrow.compute as compute

    nested = [field.name for field in table.schema if pa.types.is_list(field.type)]
    if nested == ["items"] and pa.types.is_struct(table.schema.field("items").type.value_type):
        lists = table["items"].combine_chunks()
        items = pa.Table.from_struct_array(lists.flatten())
        table = table.drop_columns(nested).take(compute.list_parent_indices(lists))
        for name in items.column_names:
            table = table.append_column(name, items[name])
    return with_index(table.to_pandas())


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Make columns of the levels of the index that have names, and number the rows from 0."""
    named = [name for name in frame.index.names if name is not None]
    return (frame.reset_index(level=named) if named else frame).reset_index(drop=True)
