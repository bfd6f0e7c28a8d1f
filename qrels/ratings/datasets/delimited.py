"""Ratings in lines of text: one rating a line, fields between separators."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any

from qrels.ratings.datasets.column_positions import locate, named, separator_hint
from qrels.ratings.datasets.fields import Columns, NotPlain, Record, Rows
from qrels.ratings.datasets.layouts import RATING_NAMES
from runs import InputError

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
        width = self._width(first)
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
        table = self._arrow_table(kinds_at, width=self._width(first))
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
            raise self.error(line, self._wrong_width(first, self._width(first)))
        positions = locate(first, self.layout, fail=partial(self.error, line))
        rating = first[positions["rating"]] if "rating" in positions else ""
        if not self.layout.header and rating.lower() in RATING_NAMES:
            raise self.error(line, f"data expected, found {rating!r}: a header? Say header=True.")
        return positions

    def _width(self, first: list[str]) -> int:
        return self.layout.width or len(first)

    def _wrong_width(self, fields: list[str], width: int) -> str:
        separated = named(self.layout.separator)
        hint = separator_hint("".join(fields), self.layout)
        return f"{width} fields between {separated} expected, found {len(fields)}{hint}"

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Give the number and the fields of every line that is not blank."""
        has_quotes = self.layout.quoted and not self._is_unquoted()
        split = self._quoted_lines() if has_quotes else self._plain_lines()
        return ((line, fields) for line, fields in split if fields not in ([], [""]))

    def _plain_lines(self) -> Iterator[tuple[int, list[str]]]:
        for line, text in enumerate(self._decoded(), start=1):
            yield line, text.removesuffix("\n").split(self.layout.separator)

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
