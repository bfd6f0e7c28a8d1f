"""Tables as rows of texts: what all files share, and lines of text in several layouts.

Each class reads in two ways: `Rows.records` line by line, which is the definition and knows where a
line stands, and `Rows.columns` whole columns, a hundred times faster, of files that are plain.
"""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import islice, zip_longest
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from runs.shared.errors import InputError
from runs.tables.layouts import WHITE_SPACE, Layout
from runs.tables.roles import Role
from runs.tables.sniff import BLANKS
from runs.tables.source import LOOKED_AT, Source
from runs.tables.values import NO_NUMBER, Sample, is_number

UNIT_SEPARATOR: Final = b"\x1f"
"""Stands for a separator of several bytes where pyarrow needs a single one."""


BLOCK_SIZE: Final = 1 << 24
"""Bytes that pyarrow reads at once: of small blocks, each lists its ids again."""

Places: TypeAlias = Mapping[Any, int]
"""Places of the columns that are read, from 0, by role, or by whatever else."""

Record: TypeAlias = "tuple[int, Mapping[Any, str]]"
"""The physical line or row, from 1, and its texts by role."""

ArrowColumns: TypeAlias = Mapping[Any, Any]
"""Arrow columns by role: ids as texts, of which each is stored once; others as texts or numbers."""


class NotPlain(Exception):  # noqa: N818  (not an error: it makes the reader read line by line)
    """Only reading line by line can tell what the file holds."""


@dataclass(frozen=True)
class Rows(ABC):
    """A table of a file.

    Parameters
    ----------
    source
        The file.
    layout
        How it is laid out.
    """

    unit: ClassVar[str]
    source: Source
    layout: Layout

    def error(self, place: int, finding: str) -> InputError:
        """Name the file and the physical line or row, from 1, before the finding."""
        return InputError.at_line(self.source.label, place, finding, unit=self.unit)

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Names of all columns; without a heading, their places from 0."""

    @abstractmethod
    def beginning(self) -> list[list[str]]:
        """Read the first rows, at most `LOOKED_AT`, as texts of all columns."""

    def samples(self) -> list[Sample]:
        """Read the first values of each column; without rows, none of each."""
        # Lines of another width are refused when all are read.
        columns = zip_longest(*self.beginning(), fillvalue="")
        samples = [Sample(texts) for texts, _ in zip(columns, self.names, strict=False)]
        n_missing = len(self.names) - len(samples)
        return samples + [Sample(()) for _ in range(n_missing)]

    @abstractmethod
    def records(self, places: Places) -> Iterator[Record]:
        """Read the rows one by one; a missing value is an empty text."""

    @abstractmethod
    def columns(self, places: Places, *, numbers: Collection[Role] = ()) -> ArrowColumns:
        """Read whole columns, or raise `NotPlain`.

        ``numbers`` are roles of columns that a text may give as float64 in place of texts.
        """


class DelimitedRows(Rows):
    """Lines of UTF-8 text that end with LF or CRLF; blank lines are skipped.

    Blanks around a field are no part of it.
    """

    unit = "line"

    @cached_property
    def _first(self) -> tuple[int, list[str]]:
        """Number and fields of the first line that is not blank."""
        first = next(self._lines(), None)
        if first is None:
            raise InputError(f"{self.source.label}: the file is empty.")
        return first

    @property
    def names(self) -> list[str]:
        """Names of all columns; without a heading, their places from 0.

        Raises
        ------
        InputError
            If the format says how many fields there are, and the first line has others.
        """
        width = self._width()
        if self.layout.header:
            _, fields = self._first
            return fields
        return [str(place) for place in range(width)]

    def beginning(self) -> list[list[str]]:
        """Read the fields of the first lines below the heading."""
        first = int(self.layout.header)
        lines = islice(self._lines(), first, first + LOOKED_AT)
        return [fields for _, fields in lines]

    def records(self, places: Places) -> Iterator[Record]:
        """Read line by line: the number of a line, from 1, and its texts by role.

        Raises InputError for a line of another width.
        """
        width = self._width()
        first = int(self.layout.header)
        for line, fields in islice(self._lines(), first, None):
            if len(fields) != width:
                raise self.error(line, self._wrong_width(fields, width))
            yield line, {role: fields[place] for role, place in places.items()}

    def columns(self, places: Places, *, numbers: Collection[Role] = ()) -> ArrowColumns:
        """Read whole columns, if the text is plain.

        Returns Arrow columns of texts by role, without blanks around them; each id is stored once.
        Columns of the roles ``numbers`` are float64 if the texts of all of them are finite numbers.
        Raises NotPlain if blank lines come first, or quotes, lone CR and the like need a closer
        look.
        """
        import pyarrow as pa

        width = self._width()
        first_line, _ = self._first
        if first_line > 1 or not self._is_plain:
            raise NotPlain
        text = pa.string()
        encoded_text = pa.dictionary(pa.int32(), text)
        types: dict[str, Any] = {}
        for role, place in places.items():
            is_id = role in (Role.USER, Role.ITEM, Role.SYSTEM)
            types[str(place)] = encoded_text if is_id else text
        number_places = [str(place) for role, place in places.items() if role in numbers]
        table = self._table_with_numbers(types, number_places, width=width)
        columns = {role: table[str(place)] for role, place in places.items()}
        if not self._may_have_blanks:
            return columns
        return {role: _trimmed(column) for role, column in columns.items()}

    def _width(self) -> int:
        """Number of fields that every line has: that of the format, or else of the first line.

        Raises InputError if the first line has another width than the format says.
        """
        line, fields = self._first
        width = self.layout.width or len(fields)
        if len(fields) != width:
            raise self.error(line, self._wrong_width(fields, width))
        return width

    def _table_with_numbers(
        self, types: dict[str, Any], number_places: Sequence[str], *, width: int
    ) -> Any:
        """Read columns as `_arrow_table` does, but those at ``number_places`` as float64.

        If a text in one of these is no finite number, all of them are read with their ``types``.
        """
        import pyarrow as pa
        import pyarrow.compute as compute

        number_types = dict.fromkeys(number_places, pa.float64())
        if number_types:
            with suppress(NotPlain):
                table = self._arrow_table(types | number_types, width=width)
                are_finite = [compute.is_finite(table[place]) for place in number_places]
                if all(compute.all(finite).as_py() for finite in are_finite):
                    return table
        return self._arrow_table(types, width=width)

    def _arrow_table(self, types: dict[str, Any], *, width: int) -> Any:
        """Read the columns that have an Arrow type; their names are their places.

        ``width`` is the number of fields of every line. Raises NotPlain if a line has another one.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        text, separator = self._text()
        body = pa.py_buffer(text)
        if self.layout.header:
            body = body.slice(len(BytesIO(text).readline()))
        names = [str(place) for place in range(width)]
        read_options = arrow_csv.ReadOptions(column_names=names, block_size=BLOCK_SIZE)
        parse_options = arrow_csv.ParseOptions(delimiter=separator, quote_char=False)
        convert_options = arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=[]
        )
        try:
            return arrow_csv.read_csv(body, read_options, parse_options, convert_options)
        except pa.ArrowInvalid as error:
            raise NotPlain from error

    def _wrong_width(self, fields: list[str], width: int) -> str:
        """Write that a line has not as many fields as it should, and what may part it instead.

        ``fields`` are those of the line, ``width`` is how many there should be. If a mark such as a
        tab or a semicolon is in a field, it may be the separator.
        """
        separator = self.layout.separator
        between = "white space" if separator == WHITE_SPACE else repr(separator)
        finding = f"{width} fields between {between} expected, found {len(fields)}"
        line = "".join(fields)
        other_separators = [mark for mark in ("::", "\t", ";", "|", ",") if mark in line]
        if other_separators:
            return f"{finding}; is the separator {other_separators[0]!r}?"
        return f"{finding}."

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Read the number and the fields of every line that is not blank."""
        has_quotes = self.layout.quoted and not self._is_unquoted
        lines = self._quoted_lines() if has_quotes else self._plain_lines()
        for line, fields in lines:
            stripped = [field.strip(BLANKS) for field in fields]
            if stripped not in ([], [""]):
                yield line, stripped

    def _plain_lines(self) -> Iterator[tuple[int, list[str]]]:
        """Split lines at separators."""
        is_loose = self.layout.separator == WHITE_SPACE
        separator = None if is_loose else self.layout.separator
        for line, text in enumerate(self._decoded(), start=1):
            yield line, text.removesuffix("\n").split(separator)

    def _quoted_lines(self) -> Iterator[tuple[int, list[str]]]:
        """Read lines whose fields may be in quotes, and so run over several lines.

        Yields the number of the first line, from 1, and the fields. Raises InputError where quotes
        do not fit.
        """
        reader = csv.reader(
            self._decoded(),
            delimiter=self.layout.separator,
            strict=True,
            skipinitialspace=True,
        )
        while True:
            line = reader.line_num + 1
            try:
                yield line, next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                finding = f"the line is not valid CSV ({error}); is a quote missing?"
                raise self.error(line, finding) from error

    def _decoded(self) -> Iterator[str]:
        """Decode line by line; CRLF becomes LF."""
        for data in BytesIO(self.source.data):
            text = data.decode()
            yield f"{text[:-2]}\n" if text.endswith("\r\n") else text

    @cached_property
    def _is_plain(self) -> bool:
        """Whether pyarrow reads the text as we do: no quotes, lone CR, clash or second mark."""
        data = self.source.data
        is_one_byte = len(self.layout.separator.encode()) == 1
        has_mark = not data.isascii() and BOM_UTF8 in data
        return self._is_unquoted and not has_mark and (is_one_byte or UNIT_SEPARATOR not in data)

    @cached_property
    def _is_unquoted(self) -> bool:
        """Whether lines can be split at line ends and separators alone."""
        data = self.source.data
        has_quotes = self.layout.quoted and b'"' in data
        n_returns = data.count(b"\r")
        return not has_quotes and (n_returns == 0 or n_returns == data.count(b"\r\n"))

    @cached_property
    def _may_have_blanks(self) -> bool:
        """Whether a blank stands beside a separator or at an end of a line.

        False where white space is the separator: then none is left around fields.
        """
        data = self.source.data
        separator = self.layout.separator.encode()
        if self.layout.separator == WHITE_SPACE:
            return False
        for blank in (b" ", b"\t"):
            if blank == separator or blank not in data:
                continue
            for edge in (b"\n", b"\r", separator):
                if edge + blank in data or blank + edge in data:
                    return True
        return False

    def _text(self) -> tuple[bytes, bytes]:
        """Return the text for pyarrow, and the byte between fields.

        Several bytes between fields are replaced by `UNIT_SEPARATOR`, white space by one blank.
        """
        text = self.source.data
        separator = self.layout.separator.encode()
        if self.layout.separator == WHITE_SPACE:
            return _with_single_blanks(text), separator
        if len(separator) > 1:
            return text.replace(separator, UNIT_SEPARATOR), UNIT_SEPARATOR
        return text, separator


def _with_single_blanks(text: bytes) -> bytes:
    """Put one blank in the place of all white space within lines, none at their ends."""
    text = text.replace(b"\t", b" ")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b"\r\n", b"\n").replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _trimmed(column: Any) -> Any:
    """Take blanks around texts away; equal texts stay stored once, and numbers stay."""
    import pyarrow as pa
    import pyarrow.compute as compute

    if pa.types.is_floating(column.type):
        return column
    if pa.types.is_dictionary(column.type):
        texts = column.cast(pa.string())
        return compute.utf8_trim(texts, BLANKS).dictionary_encode()
    return compute.utf8_trim(column, BLANKS)


class ItemsRows(DelimitedRows):
    """Lines of a user and then the items of the user; blank lines are skipped."""

    @property
    def names(self) -> list[str]:
        """The user, and an item."""
        return ["0", "1"]

    def beginning(self) -> list[list[str]]:
        """Read the user and the first item of the first lines."""
        lines = islice(self._lines(), LOOKED_AT)
        return [fields[:2] for _, fields in lines]

    def records(self, places: Places) -> Iterator[Record]:
        """Read the pairs of users and items one by one."""
        for line, (user, *items) in self._lines():
            for item in items:
                yield line, {Role.USER: user, Role.ITEM: item}

    def columns(self, places: Places, *, numbers: Collection[Role] = ()) -> ArrowColumns:
        """Read all pairs of users and items.

        Returns Arrow columns of texts by role, of shape (n_pairs,), whatever the places.
        """
        import pyarrow as pa

        lines = [fields for _, fields in self._lines()]
        n_items_of_line = [len(fields) - 1 for fields in lines]
        line_of_pair = np.repeat(np.arange(len(lines)), n_items_of_line)
        user_of_line = pa.array([fields[0] for fields in lines], pa.string())
        users = user_of_line.take(pa.array(line_of_pair))
        items = pa.array([item for fields in lines for item in fields[1:]], pa.string())
        return {Role.USER: pa.chunked_array([users]), Role.ITEM: pa.chunked_array([items])}


class MatrixRows(DelimitedRows):
    """Lines of UTF-8 text, each the ratings of a user; blank lines are skipped.

    Users and items are called by their places, from 1: the first line is user 1, and the first
    column behind those that are skipped is item 1.
    """

    @property
    def names(self) -> list[str]:
        """The user, the item and the rating."""
        return ["0", "1", "2"]

    def beginning(self) -> list[list[str]]:
        """Read the first ratings."""
        places = {Role.USER: 0, Role.ITEM: 1, Role.RATING: 2}
        first_records = islice(self.records(places), LOOKED_AT)
        return [list(texts.values()) for _, texts in first_records]

    def records(self, places: Places) -> Iterator[Record]:
        """Read cell by cell what is rated: user, item and rating, with the number of the line.

        Users and items are numbered from 1. Empty cells and the number that stands for no rating
        are left out.
        """
        for user, (line, ratings) in enumerate(self._matrix(), start=1):
            for item, text in enumerate(ratings, start=1):
                if text not in NO_NUMBER and not self._is_unrated(text):
                    texts = {Role.USER: str(user), Role.ITEM: str(item), Role.RATING: text}
                    yield line, texts

    def _is_unrated(self, text: str) -> bool:
        """Tell whether a cell holds the number that stands for no rating."""
        if not is_number(text):
            return False
        with_decimal_point = text.replace(",", ".")
        return float(with_decimal_point) == self.layout.unrated

    def columns(self, places: Places, *, numbers: Collection[Role] = ()) -> ArrowColumns:
        """Read all ratings at once, if all cells are plain numbers; else raise NotPlain.

        Users and items are called by their places in the matrix, from 1.
        """
        import pyarrow as pa

        if b"_" in self.source.data:
            raise NotPlain
        try:
            lines = [np.array(cells, dtype=np.float64) for _, cells in self._matrix()]
        except ValueError as error:
            raise NotPlain from error
        matrix = np.array(lines)
        user, item = np.nonzero(matrix != self.layout.unrated)
        n_names = max(matrix.shape, default=0)
        names = pa.array([str(number) for number in range(1, n_names + 1)])
        users = names.take(pa.array(user))
        items = names.take(pa.array(item))
        ratings = pa.array(matrix[user, item])
        return {
            Role.USER: pa.chunked_array([users]),
            Role.ITEM: pa.chunked_array([items]),
            Role.RATING: pa.chunked_array([ratings]),
        }

    def _matrix(self) -> Iterator[tuple[int, list[str]]]:
        """Read the number and the cells of every line, without the columns that are skipped.

        Raises InputError for a line that is not as wide as the first.
        """
        _, first = self._first
        width = len(first)
        for line, fields in self._lines():
            if len(fields) != width:
                raise self.error(line, self._wrong_width(fields, width))
            yield line, fields[self.layout.skipped :]
