"""Ratings in lines of text, as a matrix or in Parquet; and ratings written as lines."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any, Literal

import numpy as np

from qrels.ratings.datasets.fields import NO_NUMBER, Columns, NotPlain, Record, Rows
from qrels.ratings.datasets.layouts import RATING_NAMES, locate, separator_hint
from qrels.ratings.ratings import Ratings
from runs import InputError
from runs.shared.errors import as_input_error
from runs.shared.fields import is_number

# Stands for a separator of several bytes where pyarrow needs a single one.
UNIT_SEPARATOR = b"\x1f"


class DelimitedRows(Rows):
    """Ratings in lines of UTF-8 text that end with LF or CRLF; blank lines are skipped.

    `records` is the definition; `columns` reads what is plain, which nearly every file is, a
    hundred times faster and leaves the rest to `records`.
    """

    unit = "line"

    def names(self) -> list[str]:
        """Give the fields of the first line that is not blank."""
        return self._first()[1]

    def beginning(self, n: int) -> list[list[str]]:
        """Give the fields of the first lines below the header."""
        first = int(self.layout.header)
        return [fields for _, fields in islice(self._lines(), first, first + n)]

    def records(self) -> Iterator[Record]:
        """Read line by line and check that each has the fields it should have."""
        line, first = self._first()
        positions = self._locate(line, first)
        width = self.layout.width or len(first)
        for line, fields in islice(self._lines(), int(self.layout.header), None):
            if len(fields) != width:
                raise self.error(line, self._wrong_width(fields, width))
            yield line, {role: fields[at] for role, at in positions.items()}

    def columns(self) -> Columns:
        """Read whole columns, if the text is plain."""
        import pyarrow as pa

        line, first = self._first()
        positions = self._locate(line, first)
        if line > 1 or not self._is_plain():
            raise NotPlain
        text = pa.string()
        kinds = {"user": pa.dictionary(pa.int32(), text), "item": pa.dictionary(pa.int32(), text)}
        kinds_at = {str(at): kinds.get(role, text) for role, at in positions.items()}
        table = self._arrow_table(kinds_at, width=self.layout.width or len(first))
        return {role: table[str(at)] for role, at in positions.items()}

    def _arrow_table(self, kinds: dict[str, Any], *, width: int) -> Any:
        """Read the columns that have a kind; their names are their positions."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        body, separator = self._body()
        try:
            return arrow_csv.read_csv(
                pa.py_buffer(body),
                arrow_csv.ReadOptions(column_names=[str(at) for at in range(width)]),
                arrow_csv.ParseOptions(delimiter=separator, quote_char=False),
                arrow_csv.ConvertOptions(column_types=kinds, include_columns=list(kinds)),
            )
        except pa.ArrowInvalid as error:
            raise NotPlain from error

    def _first(self) -> tuple[int, list[str]]:
        first = next(self._lines(), None)
        if first is None:
            raise InputError(f"{self.source.label}: the file is empty.")
        return first

    def _locate(self, line: int, first: list[str]) -> dict[str, int]:
        if self.layout.width not in (None, len(first)):
            raise self.error(line, self._wrong_width(first, self.layout.width or len(first)))
        positions = locate(first, self.layout, fail=partial(self.error, line))
        rating = first[positions["rating"]] if "rating" in positions else ""
        if not self.layout.header and rating.lower() in RATING_NAMES:
            raise self.error(line, f"data expected, found {rating!r}: a header? Say header=True.")
        return positions

    def _wrong_width(self, fields: list[str], width: int) -> str:
        hint = separator_hint("".join(fields), self.layout)
        separator = self.layout.separator
        return f"{width} fields between {separator!r} expected, found {len(fields)}{hint}"

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Give the number and the fields of every line that is not blank."""
        has_quotes = self.layout.quoted and not self._is_unquoted()
        split = self._quoted_lines() if has_quotes else self._plain_lines()
        return ((line, fields) for line, fields in split if fields not in ([], [""]))

    def _plain_lines(self) -> Iterator[tuple[int, list[str]]]:
        """Split at separators; a space stands for any white space in a matrix."""
        is_loose = self.layout.is_matrix and self.layout.separator == " "
        separator = None if is_loose else self.layout.separator
        for line, text in enumerate(self._decoded(), start=1):
            yield line, text.removesuffix("\n").split(separator)

    def _quoted_lines(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(self._decoded(), delimiter=self.layout.separator, strict=True)
        while True:
            # A quoted field may run over several lines.
            line = reader.line_num + 1
            try:
                yield line, next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                finding = f"the line is not valid CSV ({error}); is a quote missing?"
                raise self.error(line, finding) from error

    def _decoded(self) -> Iterator[str]:
        for line, data in enumerate(BytesIO(self.source.data), start=1):
            try:
                text = data.decode()
            except UnicodeDecodeError as error:
                byte = data[error.start]
                finding = f"byte {error.start + 1} of the line, 0x{byte:02X}, is not UTF-8."
                raise self.error(line, finding) from error
            yield f"{text[:-2]}\n" if text.endswith("\r\n") else text

    def _is_plain(self) -> bool:
        """Whether pyarrow reads the text as we do: no quotes, lone CR, clash or second mark."""
        data = self.source.data
        return (
            self._is_unquoted()
            and codecs.BOM_UTF8 not in data
            and (len(self.layout.separator.encode()) == 1 or UNIT_SEPARATOR not in data)
        )

    def _is_unquoted(self) -> bool:
        """Whether lines can be split at line ends and separators alone."""
        data = self.source.data
        has_quotes = self.layout.quoted and b'"' in data
        return not has_quotes and data.count(b"\r") == data.count(b"\r\n")

    def _body(self) -> tuple[bytes, bytes]:
        """Give the lines after the header, and the byte between their fields."""
        body, separator = self.source.data, self.layout.separator.encode()
        if self.layout.header:
            body = body.partition(b"\n")[2]
        if len(separator) > 1:
            return body.replace(separator, UNIT_SEPARATOR), UNIT_SEPARATOR
        return body, separator


class MatrixRows(DelimitedRows):
    """Lines of UTF-8 text, each the ratings of a user; blank lines are skipped.

    Users and items are called by their places, from 1: the first line is user 1, and the first
    column behind those that are skipped is item 1.
    """

    def names(self) -> list[str]:
        """Call the columns by their places."""
        return [str(place) for place in range(1, len(self._first()[1]) + 1)]

    def beginning(self, n: int) -> list[list[str]]:
        """Give the fields of the first lines."""
        return [fields for _, fields in islice(self._matrix(), n)]

    def records(self) -> Iterator[Record]:
        """Read cell by cell what is rated."""
        unrated = float(self.layout.unrated or 0)
        for user, (line, ratings) in enumerate(self._matrix(), start=1):
            for item, text in enumerate(ratings, start=1):
                if text not in NO_NUMBER and not (is_number(text) and float(text) == unrated):
                    yield line, {"user": str(user), "item": str(item), "rating": text}

    def columns(self) -> Columns:
        """Read line by line, if all cells are plain numbers."""
        import pyarrow as pa

        if b"_" in self.source.data or self.layout.decimal != ".":
            raise NotPlain
        try:
            lines = [np.array(ratings, dtype=np.float64) for _, ratings in self._matrix()]
        except ValueError as error:
            raise NotPlain from error
        matrix = np.array(lines)
        user, item = np.nonzero(matrix != float(self.layout.unrated or 0))
        names = pa.array([str(place) for place in range(1, max(matrix.shape, default=0) + 1)])
        numbered = {"user": names.take(pa.array(user)), "item": names.take(pa.array(item))}
        found = numbered | {"rating": pa.array(matrix[user, item])}
        return {role: pa.chunked_array([column]) for role, column in found.items()}

    def _matrix(self) -> Iterator[tuple[int, list[str]]]:
        """Give the number and the cells of every line, all of one length."""
        width = len(self._first()[1])
        for line, fields in self._lines():
            if len(fields) != width:
                raise self.error(line, self._wrong_width(fields, width))
            yield line, fields[self.layout.skipped :]


class ParquetRows(Rows):
    """Ratings in the rows of a Parquet file.

    Ids are text or integers; ratings and times are numbers, or text as in a text file; times may
    be timestamps, which count as UTC without a time zone.
    """

    unit = "row"

    def names(self) -> list[str]:
        """Give the names that the schema has."""
        return list(self._opened().schema_arrow.names)

    def beginning(self, n: int) -> list[list[str]]:
        """Give the first rows; a missing value is empty."""
        batch = next(self._opened().iter_batches(batch_size=n), None)
        columns = [] if batch is None else [column.to_pylist() for column in batch.columns]
        return [list(map(_text, values)) for values in zip(*columns, strict=True)]

    def records(self) -> Iterator[Record]:
        """Give the rows as text; a missing value is empty."""
        columns = {role: column.to_pylist() for role, column in self.columns().items()}
        for row, values in enumerate(zip(*columns.values(), strict=True), start=1):
            yield row, dict(zip(columns, map(_text, values), strict=True))

    def columns(self) -> Columns:
        """Read whole columns."""
        import pyarrow as pa

        names = self.names()
        positions = locate(names, self.layout, fail=self._fail)
        with as_input_error(self._cannot_be_read, pa.ArrowException, OSError):
            table = self._opened().read(columns=[names[at] for at in positions.values()])
        return {role: self._convert(role, table[names[at]]) for role, at in positions.items()}

    def _opened(self) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        with as_input_error(self._cannot_be_read, pa.ArrowException, OSError):
            return parquet.ParquetFile(pa.py_buffer(self.source.data))

    @property
    def _cannot_be_read(self) -> str:
        return f"{self.source.label}: not a Parquet file that can be read"

    def _fail(self, finding: str) -> InputError:
        return InputError(f"{self.source.label}: {finding}")

    def _convert(self, role: str, column: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as compute

        kind = column.type
        if pa.types.is_dictionary(kind):
            return self._convert(role, column.cast(kind.value_type))
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return column.cast(pa.string())
        if role in ("user", "item"):
            if pa.types.is_integer(kind):
                return column.cast(pa.string())
            raise self._fail(f"the {role} column must hold text or integers, found {kind}.")
        if role == "time" and pa.types.is_date(kind):
            column, kind = column.cast(pa.timestamp("s")), pa.timestamp("s")
        if role == "time" and pa.types.is_timestamp(kind):
            utc = column.cast(pa.int64()).cast(pa.timestamp(kind.unit))
            seconds = compute.floor_temporal(utc, unit="second").cast(pa.timestamp("s"))
            return seconds.cast(pa.int64())
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return column
        raise self._fail(f"the {role} column must hold numbers, found {kind}.")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


CSV_HEADER = ("user", "item", "rating", "time")


def format_rating_lines(
    ratings: Ratings, *, header: Sequence[str] = CSV_HEADER, separator: str = ","
) -> bytes:
    r"""Write a line for each rating under a header: user, item, rating and, if known, time.

    Numbers have the digits that read back as the same number. Ids are in double quotes, all or
    none, where one of them has a separator, a quote or a line break.
    """
    import pyarrow as pa

    table = rating_table(ratings, header=header)
    try:
        lines = _lines(table, separator, quoting="none")
    except pa.ArrowInvalid:
        lines = _lines(table, separator, quoting="needed")
    return separator.join(table.column_names).encode() + b"\n" + lines


def rating_table(ratings: Ratings, *, header: Sequence[str] = CSV_HEADER) -> Any:
    """Give an Arrow table of user, item, rating and, if known, time, with ids as text."""
    import pyarrow as pa

    columns = [
        pa.array(ratings.users.ids.tolist(), pa.string()).take(pa.array(ratings.user)),
        pa.array(ratings.items.ids.tolist(), pa.string()).take(pa.array(ratings.item)),
        pa.array(ratings.rating),
        *([] if ratings.time is None else [pa.array(ratings.time)]),
    ]
    return pa.table(columns, names=list(header[: len(columns)]))


def _lines(table: Any, separator: str, *, quoting: Literal["none", "needed"]) -> bytes:
    from pyarrow import csv

    stream = BytesIO()
    options = csv.WriteOptions(
        include_header=False, delimiter=separator, quoting_style=quoting, batch_size=1 << 16
    )
    csv.write_csv(table, stream, options)
    return stream.getvalue()
