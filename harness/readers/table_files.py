"""Files of other tools: tables in text, Parquet, Arrow and JSON, and numbers by topic and item.

Elliot's lists and MS MARCO's, three fields between tabs, have no heading. Lists of LensKit as
Parquet may be flat or nested.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.readers.objects import with_index
from harness.readers.table import Table, table_of
from runs import InputError
from runs.shared.encodings import UTF_8, as_utf_8
from runs.shared.errors import as_input_error, how_to_add, warn
from runs.shared.files import PARQUET, read_bytes, read_within_memory
from runs.tables.columnar_rows import UNREADABLE, parse_json, read_arrow
from runs.tables.roles import RUNS, Kind, Role
from runs.tables.rows import NotPlain, Rows
from runs.tables.sniff import BLANKS, SEPARATORS, names_pairs, split_line, trec_kind
from runs.tables.source import ARROW, Source

if TYPE_CHECKING:
    import pandas as pd

    from runs.tables.options import TextOptions

LZ4 = b"\x04\x22\x4d\x18"
"""What compressed files of ranx begin with."""

FIELDS_OF_TREC = 4
"""A line of TREC has at least so many fields."""

Content: TypeAlias = "Table | Mapping[str, Any] | None"
"""A table; numbers by topic and item; or None for lines of TREC."""

FIRST_LINE_OF_ROWS = 2
"""Line of the first row below a heading."""


def read_content(path: Path, kind: Kind, options: TextOptions | None = None) -> bytes:
    """Read the bytes of a file, unpacked; those of a text are UTF-8 without a byte order mark.

    ``kind``: what the file should hold; ``options``: what a person says of it, such as its
    encoding. Warns of lines of TREC behind the byte order mark of UTF-8, which trec_eval reads as a
    part of the first id. Raises InputError if the file cannot be read, or is not in its encoding.
    """
    content = read_bytes(path)
    if content.startswith((PARQUET, ARROW, LZ4)):
        return content
    encoding = UTF_8 if options is None else options.encoding
    option = f"{kind.prefix}encoding"
    text = as_utf_8(path, content, encoding, option=option, section=kind.section)
    if content.startswith(BOM_UTF8) and trec_kind(text):
        warn(
            f"{path}: the byte order mark at the beginning is left out; trec_eval takes it for a "
            "part of the first id."
        )
    return text


def read_table(
    path: Path, content: bytes, kind: Kind, options: TextOptions | None = None
) -> Content:
    """Read a file of another tool: a table, or JSON by topic; None if it holds lines of TREC.

    JSON that is a dictionary is returned as it is. Raises InputError if the file cannot be read.

    Parameters
    ----------
    path
        The file, for messages.
    content
        Its bytes, as `read_content` reads them.
    kind
        What it should hold.
    options
        What a person says of it: names of columns, separator.
    """
    import pyarrow as pa

    if content.startswith(LZ4):
        return _from_lz4(path, content)
    with as_input_error(f"{path}: the table cannot be read", pa.ArrowException, *UNREADABLE):
        if content.startswith(PARQUET):
            from pyarrow import parquet

            frame = _flat(parquet.read_table(pa.BufferReader(content)))
        elif content.startswith(ARROW):
            frame = _flat(read_arrow(content))
        elif content.lstrip()[:1] in (b"{", b"["):
            parsed = parse_json(content)
            if isinstance(parsed, dict):
                return parsed
            import pandas as pd

            frame = pd.DataFrame(parsed)
        else:
            return _from_text(Source(str(path), content), kind, options)
        columns = None if options is None else options.columns
        return table_of(frame, kind, label=str(path), unit="row", columns=columns)


def _from_text(source: Source, kind: Kind, options: TextOptions | None) -> Table | None:
    """Read delimited text; None if it holds lines of TREC between white space.

    Lines of TREC between other separators are a table. Rows are numbered so that errors name their
    lines. Raises InputError if the separator or the heading cannot be told, or there are no rows.
    """
    columns = None if options is None else options.columns
    separator = None if options is None else options.separator
    if not columns and _is_trec(source, separator):
        return None
    # Settings take long to import, and most runs are lines of TREC.
    from runs.tables.options import TableOptions
    from runs.tables.recognition import recognise_table

    table_options = TableOptions(columns=columns or None, separator=separator)
    recognised = recognise_table(source, kind, table_options)
    if not columns and not recognised.columns.has_heading:
        separator = recognised.rows.layout.separator
        columns = _columns_of_trec(source, separator, kind)
        if columns is not None:
            table_options = TableOptions(columns=columns, separator=separator)
            recognised = recognise_table(source, kind, table_options)
    frame = _frame_of(recognised.rows)
    if frame.empty:
        raise InputError(f"{source.label}: the table has a heading but no rows.")
    roles = recognised.columns
    if roles.has_heading:
        return Table(frame, roles, source.label, "line")
    # The first line is a row, too.
    frame = frame.set_axis(frame.index - 1)
    table = Table(frame, roles, source.label, "line")
    return _with_ranks(table) if kind is RUNS and not columns else table


TREC_COLUMNS: Mapping[str, dict[str, str | int]] = {
    "a TREC run": {"user": 0, "item": 2, "score": 4, "system": 5},
    "a qrels file": {"user": 0, "item": 2, "grade": 3},
}
"""Places of the columns in lines of TREC."""


def _columns_of_trec(source: Source, separator: str, kind: Kind) -> dict[str, str | int] | None:
    """Look up the columns of lines of TREC that another separator than blanks parts.

    None for other lines, and for those of another kind than the file should hold.
    """
    with_blanks = source.data.replace(separator.encode(), b" ")
    columns = TREC_COLUMNS.get(trec_kind(with_blanks))
    if columns is None or not set(columns) <= set(kind.roles):
        return None
    return columns


def _is_trec(source: Source, separator: str | None) -> bool:
    """Tell lines of TREC, or what should be such, from tables.

    If a person names a separator, only white space makes lines of TREC. Otherwise a first line that
    names users and items is that of a table, as is one that a separator other than white space
    parts and that has fewer than `FIELDS_OF_TREC` (4) words.
    """
    if separator is not None:
        return separator in BLANKS and trec_kind(source.data) != ""
    first_line = source.first_lines()[0]
    if first_line.startswith("#") or trec_kind(source.data):
        return True
    if any(names_pairs(split_line(first_line, separator)) for separator in SEPARATORS):
        return False
    is_parted = any(separator in first_line for separator in SEPARATORS)
    return not is_parted or len(first_line.split()) >= FIELDS_OF_TREC


def _frame_of(rows: Rows) -> pd.DataFrame:
    """Read all columns of a text as texts, under their names; rows are numbered from 0.

    A text that is not plain (`NotPlain`) is read line by line; then numbers of rows are those of
    lines less 2.
    """
    import pandas as pd

    places = dict(enumerate(range(len(rows.names))))
    try:
        columns = {place: column.to_pandas() for place, column in rows.columns(places).items()}
        frame = pd.DataFrame(columns)
    except NotPlain:
        records = list(rows.records(places))
        lines = [line for line, _ in records]
        frame = pd.DataFrame([texts for _, texts in records], index=lines, columns=list(places))
        # As in a plain text, row 0 stands in line 2.
        frame.index = frame.index - FIRST_LINE_OF_ROWS
    return frame.set_axis(list(rows.names), axis=1)


def _with_ranks(table: Table) -> Table:
    """Read the third field of lists without a heading as the rank, if it counts 1, 2, 3, ...

    It was taken for the score; it must count in the list of every user, and some list must have
    several items. Warns of it. Other tables are returned as they are.
    """
    place = table.columns.place(Role.SCORE)
    if place is None:
        return table
    users = table.column(Role.USER)
    places_in_lists = users.groupby(users).cumcount() + 1
    counts_up = (table.column(Role.SCORE) == places_in_lists.astype(str)).all()
    if not counts_up or places_in_lists.max() == 1:
        return table
    warn(
        f"{table.label}: the third field counts 1, 2, 3, ... in each list, and is read as the rank;"
        " if it is the score, add `--column score=2`."
    )
    ranked = replace(table.columns.columns[place], role=Role.RANK)
    columns = [ranked if c.place == place else c for c in table.columns.columns]
    return replace(table, columns=replace(table.columns, columns=tuple(columns)))


def _from_lz4(path: Path, content: bytes) -> Mapping[str, Any]:
    """Read what ranx compresses twice: numbers by topic and item, as CBOR.

    Raises InputError if the package cbor2 is missing, or the file is no such one.
    """
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
    """Convert a table of Arrow to a frame; lists of LensKit that are nested, an item a row.

    Nested lists stand in the one column "items" that holds lists, of structs: their fields become
    columns, and the other columns are repeated for each item. Rows are numbered from 0.
    """
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
