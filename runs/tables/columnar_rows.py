"""Rows of files of Parquet, Arrow and JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

from runs.shared.errors import InputError, as_input_error
from runs.tables.roles import Role
from runs.tables.rows import ArrowColumns, Places, Record, Rows
from runs.tables.source import LOOKED_AT

UNREADABLE: Final = (OSError, ValueError, TypeError, AttributeError, RecursionError)
"""What broken files raise, beside the exceptions of Arrow."""


def read_arrow(content: bytes) -> Any:
    """Read the table of an Arrow file, as Feather writes it."""
    import pyarrow as pa

    return pa.ipc.open_file(content).read_all()


def parse_json(content: bytes) -> Any:
    """Parse one JSON document, or one in each line as a list; raises ValueError for other text."""
    try:
        return json.loads(content)
    except json.JSONDecodeError:
        return [json.loads(line) for line in content.splitlines() if line.strip()]


class ColumnarRows(Rows):
    """Rows of a file of Parquet, Arrow or JSON.

    Ids are text or integers; numbers and times are numbers, or text as in a text file; times may
    be timestamps, which count as UTC without a time zone.
    """

    unit = "row"

    @cached_property
    def _parquet(self) -> Any:
        """The file, of which columns are read one by one."""
        import pyarrow as pa
        from pyarrow import parquet

        return parquet.ParquetFile(pa.py_buffer(self.source.data))

    @cached_property
    def _table(self) -> Any:
        """The whole table of a file that is not Parquet."""
        import pyarrow as pa

        if self.source.is_arrow:
            return read_arrow(self.source.data)
        records = parse_json(self.source.data)
        if not isinstance(records, list):
            records = [records]
        return pa.Table.from_pylist(records)

    @property
    def names(self) -> list[str]:
        """Names of the columns in the schema."""
        with self._readable():
            is_parquet = self.source.is_parquet
            schema = self._parquet.schema_arrow if is_parquet else self._table.schema
        return list(schema.names)

    def beginning(self) -> list[list[str]]:
        """Read the first rows, at most `LOOKED_AT` (200), as texts; a missing value is empty."""
        with self._readable():
            if self.source.is_parquet:
                batch = next(self._parquet.iter_batches(batch_size=LOOKED_AT), None)
            else:
                batch = self._table.slice(0, LOOKED_AT)
        if batch is None:
            return []
        columns = [column.to_pylist() for column in batch.columns]
        rows = zip(*columns, strict=True)
        return [[_as_text(value) for value in row] for row in rows]

    def records(self, places: Places) -> Iterator[Record]:
        """Read the rows as texts.

        Yields the number of each row, from 1, and its texts by role; a missing value is "".
        """
        columns = self.columns(places)
        values_of_columns = [column.to_pylist() for column in columns.values()]
        rows = zip(*values_of_columns, strict=True)
        for number, values in enumerate(rows, start=1):
            value_of_role = zip(columns, values, strict=True)
            yield number, {role: _as_text(value) for role, value in value_of_role}

    def columns(self, places: Places, *, numbers: Collection[Role] = ()) -> ArrowColumns:
        """Read whole columns, by role; ``places`` has the place of each, from 0.

        ``numbers`` are not looked at: each column has a type of its own.
        Raises InputError if the file is broken, or the type of a column does not fit its role.
        """
        names = self.names
        name_of_role = {role: names[place] for role, place in places.items()}
        with self._readable():
            if self.source.is_parquet:
                table = self._parquet.read(columns=list(name_of_role.values()))
            else:
                table = self._table
        return {role: self._converted(role, table[name]) for role, name in name_of_role.items()}

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Say of a broken file that it cannot be read.

        Errors of the block, those of Arrow and `UNREADABLE`, become an InputError with the file.
        """
        import pyarrow as pa

        format = "Parquet"
        if self.source.is_arrow:
            format = "Arrow"
        elif not self.source.is_parquet:
            format = "JSON"
        finding = f"{self.source.label}: not a {format} file that can be read"
        with as_input_error(finding, pa.ArrowException, *UNREADABLE):
            yield

    def _converted(self, role: Role, column: Any) -> Any:
        """Convert a column to texts, numbers or seconds, by its role and its type.

        Texts stay texts; integers that are users or items become texts; dates and timestamps that
        are times become full seconds since 1970 in UTC. Raises InputError for a type that the role
        cannot have.
        """
        import pyarrow as pa
        import pyarrow.compute as compute

        kind = column.type
        if pa.types.is_dictionary(kind):
            return self._converted(role, column.cast(kind.value_type))
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return column.cast(pa.string())
        if role in (Role.USER, Role.ITEM):
            if pa.types.is_integer(kind):
                return column.cast(pa.string())
            raise self._wrong_type(role, "text or integers", kind)
        if role == Role.TIME and pa.types.is_date(kind):
            column = column.cast(pa.timestamp("s"))
            kind = column.type
        if role == Role.TIME and pa.types.is_timestamp(kind):
            ticks = column.cast(pa.int64())
            utc = ticks.cast(pa.timestamp(kind.unit))
            full_seconds = compute.floor_temporal(utc, unit="second")
            return full_seconds.cast(pa.timestamp("s")).cast(pa.int64())
        is_number_type = (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        )
        if not is_number_type:
            raise self._wrong_type(role, "numbers", kind)
        return column

    def _wrong_type(self, role: Role, wanted: str, kind: Any) -> InputError:
        """Write that a column has another type than its role needs."""
        finding = f"the {role} column must hold {wanted}, found {kind}."
        return InputError(f"{self.source.label}: {finding}")


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)
