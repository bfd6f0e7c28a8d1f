"""A table of a log: a Parquet or CSV file whose columns are read when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.columns import Fail, Ids, is_text, read_times
from runs import InputError

PARQUET_MAGIC: Final = b"PAR1"

CODED: Final = ("rec_id", "user", "arm", "model_version", "item", "type")
"""Columns of ids, whose text Parquet may keep once, with a number in each row: read as it is."""

ORIGIN: Final = "row of the log"
"""Column of the rows of a shard in the file that it was cut from, whose path is under this key."""

EARLIEST: Final = 946_684_800_000
"""The beginning of the year 2000, in milliseconds since 1970 in UTC: earlier times are seconds."""


class Lists(NamedTuple):
    """A column of lists: where each begins and the last ends, and all values in a row."""

    first: NDArray[np.int64]
    values: Any
    fail: Fail


@dataclass(frozen=True, eq=False)
class LogTable:
    """A file with named columns: Parquet, which is open, or CSV, which is not.

    A folder of Parquet files, with others in it, is a table of the rows of all, in the order of
    their paths; what they have in common are its columns.
    """

    path: Path
    names: tuple[str, ...]
    file: Any = None
    parts: tuple[LogTable, ...] = ()

    @classmethod
    def open(cls, path: str | Path) -> LogTable:
        """Read the names of the columns.

        Raises
        ------
        InputError
            If there is no such file, or it is neither Parquet nor CSV with a header.
        """
        import pyarrow as pa
        from pyarrow import csv

        path = Path(path)
        if path.is_dir():
            return cls._of_folder(path)
        try:
            if _is_parquet(path):
                file = _open_parquet(path)
                return cls(path, _distinct(path, file.schema_arrow.names), file)
            # Only the first block of the file is read.
            with csv.open_csv(path, *_csv_options()) as stream:
                return cls(path, _distinct(path, stream.schema.names))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _unreadable(path, error) from error

    @classmethod
    def _of_folder(cls, path: Path) -> LogTable:
        found = sorted(path.rglob("*.parquet"))
        if not found:
            raise InputError(f"{path}: the folder has no file *.parquet.")
        parts = tuple(cls.open(part) for part in found)
        common = [name for name in parts[0].names if all(name in part for part in parts)]
        return cls(path, tuple(common), parts=parts)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def error(self, name: str, row: int, finding: str) -> InputError:
        """Name the file, the row (from 1, without a header; given from 0) and the column."""
        for part in self.parts:
            n_rows = part.file.metadata.num_rows
            if row < n_rows:
                return part.error(name, row, finding)
            row -= n_rows
        path, row = self._origin(row)
        return InputError(f"{path}, row {row + 1}, column {name!r}: {finding}")

    def _origin(self, row: int) -> tuple[str, int]:
        """Find a row in the file that it was written in first."""
        facts = {} if self.file is None else self.file.schema_arrow.metadata or {}
        if ORIGIN.encode() not in facts:
            return str(self.path), row
        origins = self.file.read(columns=[ORIGIN]).column(ORIGIN)
        return facts[ORIGIN.encode()].decode(), origins[row].as_py()

    def fail(self, name: str) -> Fail:
        """Make errors about one column."""
        return partial(self.error, name)

    def require(self, *names: str) -> None:
        """Refuse a table that lacks one of these columns."""
        for name in names:
            if name not in self:
                close = get_close_matches(name, self.names, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                found = ", ".join(self.names)
                raise InputError(f"{self.path}: there is no column {name!r} among {found}.{hint}")

    def require_once(self, name: str, ids: Ids) -> None:
        """Refuse an id that stands in a column again."""
        if again := ids.repetition():
            row, head = again
            raise self.error(name, row, f"{ids[row]!r} stands again, after row {head + 1}.")

    def further(self, known: Sequence[str]) -> tuple[str, ...]:
        """Name the columns that have no meaning here; `column` reads them all the same."""
        return tuple(name for name in self.names if name not in known)

    def column(self, name: str) -> Any:
        """Read one column as an Arrow array; text, if the file is CSV."""
        import pyarrow as pa

        try:
            column = self._read(name).column(name).unify_dictionaries()
            # The text of an array must not exceed 2 GB, unless it is large.
            large = column.cast(pa.large_string()) if is_text(column.type) else column
            return pa.concat_arrays(large.chunks) if large.num_chunks else pa.array([], large.type)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _unreadable(self.path, error) from error

    def times(self, name: str) -> NDArray[np.int64]:
        """Read a column of times, as `read_times`, none of which is before the year 2000."""
        times = read_times(self.column(name), self.fail(name))
        early = times < EARLIEST
        if early.any():
            row = int(early.argmax())
            day = np.datetime64(int(times[row]), "ms").astype("datetime64[D]")
            finding = f"a time must be of the year 2000 or later, got {times[row]} ms, {day}"
            raise self.error(name, row, f"{finding}: seconds?")
        return times

    def lists(self, name: str) -> Lists:
        """Read a column of lists.

        Raises
        ------
        InputError
            If the column has no lists, or one is missing.
        """
        import pyarrow as pa

        column = self.column(name)
        if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
            found = "text" if is_text(column.type) else column.type
            raise self.error(name, 0, f"a list must be given, found {found}.")
        if column.null_count:
            missing = column.is_null().to_numpy(zero_copy_only=False)
            raise self.error(name, int(missing.argmax()), "a list must be given.")
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        first = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

        def fail(place: int, finding: str) -> InputError:
            return self.error(name, int(np.searchsorted(first, place, side="right")) - 1, finding)

        return Lists(first, column.flatten(), fail)

    def _read(self, name: str) -> Any:
        if self.parts:
            return self._joined(name)
        if self.file is not None:
            return self.file.read(columns=[name])
        import pyarrow as pa
        from pyarrow import csv

        as_text = csv.ConvertOptions(
            column_types={name: pa.string()},
            include_columns=[name],
            strings_can_be_null=True,
            null_values=[""],
        )
        return csv.read_csv(self.path, *_csv_options(), as_text)

    def _joined(self, name: str) -> Any:
        """Put a column of the files of a folder together, if it is of one kind."""
        import pyarrow as pa

        columns = [part.column(name) for part in self.parts]
        plain = [
            c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in columns
        ]
        tables = [pa.table({name: column}) for column in plain]
        joined = tables[0]
        for part, following in zip(self.parts[1:], tables[1:], strict=True):
            try:
                joined = pa.concat_tables([joined, following], promote_options="permissive")
            except pa.ArrowException:
                found, first = (each.column(0).type for each in (following, joined))
                finding = f"a column must be of one type, found {found}, but {first} before."
                raise part.error(name, 0, finding) from None
        return joined


def _csv_options() -> tuple[Any, Any]:
    """How to read and parse a CSV file whose every line is a row."""
    from pyarrow import csv

    # Only a single thread knows the number of a row that it cannot parse.
    return csv.ReadOptions(use_threads=False), csv.ParseOptions(ignore_empty_lines=False)


def _unreadable(path: Path, error: Exception) -> InputError:
    """Say what pyarrow could not read, and in which row, if it says so."""
    wrong_width = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
    if wrong_width is None:
        return InputError(f"{path}: cannot be read as Parquet or CSV ({error}).")
    line, expected, found = map(int, wrong_width.groups())
    # The header is pyarrow's first row.
    return InputError(f"{path}, row {line - 1}: {expected} fields expected, found {found}.")


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def _open_parquet(path: Path) -> Any:
    """Open a Parquet file so that ids are read by their numbers."""
    from pyarrow import parquet

    metadata = parquet.read_metadata(path)
    names = {metadata.schema.column(number).path for number in range(metadata.num_columns)}
    coded = [name for name in CODED if name in names]
    return parquet.ParquetFile(path, metadata=metadata, memory_map=True, read_dictionary=coded)


def _distinct(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two columns are called {twice!r}.")
    return tuple(names)
