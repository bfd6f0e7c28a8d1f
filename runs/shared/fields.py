"""Text files in columns: fields of TREC lines, tables with commas or tabs, and their errors."""

from __future__ import annotations

import csv
import math
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from runs.shared.arrays import Floats, Integers, Ints, Longs, Numbers
from runs.shared.encodings import UTF_8, as_utf_8
from runs.shared.errors import InputError, as_input_error, with_article
from runs.shared.files import UNPACKABLE, read_within_memory
from runs.shared.ids import LONGEST_ID, Numbering, escaped

BLANKS = b"\t\v\f\r"
"""ASCII white space within a line, beside the space."""

SINGLE_BLANKS = tuple(bytes([blank]) for blank in BLANKS)
SPACES = bytes.maketrans(BLANKS, b" " * len(BLANKS))
COMMENT = re.compile(rb"(?m)^#.*\n?")

BLOCK_SIZE = 1 << 17
"""Number of characters that are compared together: as many as stay in cache."""

MOST_AT_ONCE = 2**30
"""Bytes that Arrow reads at once: all of most files."""

NumberedLines = Iterator[tuple[int, list[bytes]]]
"""Physical number, from 1, and fields of each line."""

LineChecker = Callable[[Path, NumberedLines], Iterator[list[bytes]]]
"""Yields the fields of each line that count, or refuses a line with an InputError."""


@dataclass(frozen=True)
class Layout:
    """What the lines of a kind of file hold.

    ``n_fields``: number of fields; ``texts``, ``numbers``: which of them, counted from 0, are read,
    and whether as text or as decimal numbers; ``skips_blank_lines``: whether a line may be blank.
    """

    n_fields: int
    texts: tuple[int, ...]
    numbers: tuple[int, ...] = ()
    skips_blank_lines: bool = False


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a file: Arrow arrays by number of the field, of one element for each line.

    ``path``, ``content``: the file, or what it is called in messages, and its bytes; ``arrays``:
    dictionaries of texts, or float64; ``unit``: "line", or "row" in Parquet.
    """

    path: Path | str
    content: bytes
    arrays: dict[int, Any]
    unit: str = "line"

    def texts(self, field: int) -> tuple[list[str], Ints]:
        """Look up the distinct texts of a field, and which of them each line has, (n_lines,)."""
        column = self.arrays[field]
        codes = np.asarray(np.from_dlpack(column.indices), np.int32)
        return column.dictionary.to_pylist(), codes

    def bounded_texts(self, field: int) -> tuple[list[str], Ints]:
        """Look up the distinct texts of a field, none longer than an id may be.

        ``field`` is the number of the field, from 0. Returns the texts, and for each line the
        position of its text among them, int32 of shape (n_lines,). A longer text is refused with an
        InputError at its first line, as an array of all texts would be too large.
        """
        texts, codes = self.texts(field)
        lengths = list(map(len, texts))
        if max(lengths, default=0) > LONGEST_ID:
            too_long = next(code for code, length in enumerate(lengths) if length > LONGEST_ID)
            long_text = texts[too_long]
            finding = (
                f"an id or a name has at most {LONGEST_ID:,} characters, found one of "
                f"{len(long_text):,} that begins with {long_text[:20]!r}."
            )
            raise self.error_at(int((codes == too_long).argmax()), finding)
        return texts, codes

    def numbers(self, field: int) -> Floats:
        """Look up the numbers of a field, float64 of shape (n_lines,)."""
        return np.asarray(np.from_dlpack(self.arrays[field]), np.float64)

    def numbered_texts(self, field: int) -> tuple[Numbering, Ints]:
        """Number the distinct texts of a field in code-point order.

        ``field`` is the number of the field, from 0. Returns the numbering, and the number of the
        text of each line, int32 of shape (n_lines,). Raises InputError if a text is longer than an
        id may be.
        """
        texts, codes = self.bounded_texts(field)
        numbering, numbers_of_texts = Numbering.of_distinct(texts)
        return numbering, numbers_of_texts[codes]

    def line(self, position: int) -> tuple[int, list[bytes]]:
        """Look up the physical number, from 1, and the fields of the line of an element, from 0.

        Lines without fields and comments have no element.
        """
        lines = ((number, fields) for number, fields in _lines(self.content) if fields)
        return next(islice(lines, position, None))

    def place(self, position: int) -> str:
        """Name the line, or row, of an element, as in "line 12"; elements count from 0."""
        number = self.line(position)[0] if self.unit == "line" else position + 1
        return f"{self.unit} {number}"

    def error_at(self, position: int, finding: str) -> InputError:
        """Make an error at the line, or row, of an element, which counts from 0."""
        return InputError(f"{self.path}, {self.place(position)}: {finding}")


def read_columns(path: Path, content: bytes, layout: Layout, check_lines: LineChecker) -> Columns:
    """Read the fields of a file as trec_eval does: between runs of ASCII white space.

    Lines that begin with ``#`` are left out. A file with a line of another number of fields, or
    with a number that cannot be read, is read again line by line: ``check_lines`` refuses the line,
    or yields the fields that count.

    Parameters
    ----------
    path, content
        The file, for messages, and its bytes, unpacked.
    layout
        Number of fields of a line, and which of them are read as texts and as numbers.
    check_lines
        Takes the path, and pairs of line number and fields; yields the fields of each line.

    Returns
    -------
    The columns of the layout, which have a row for each line that counts.

    Raises
    ------
    InputError
        If the file begins with a byte order mark, has a NUL, or is not UTF-8; or if ``check_lines``
        refuses a line.
    """
    import pyarrow as pa

    _require_text(path, content)
    plain_content = _plain(content)
    has_blank_line = plain_content.startswith(b"\n") or b"\n\n" in plain_content
    arrays = None
    if layout.skips_blank_lines or not has_blank_line:
        # All lines at once are read some twenty times faster than one by one.
        with suppress(pa.ArrowInvalid):
            arrays = _arrays(plain_content, layout)
    if arrays is None:
        lines = check_lines(path, _lines(content))
        checked_content = b"\n".join(b" ".join(fields) for fields in lines)
        arrays = _arrays(checked_content, layout)
    return Columns(path, content, arrays)


def _plain(content: bytes) -> bytes:
    r"""Separate the fields of lines by one space, and leave out comments: lines that begin with #.

    ``content``: bytes of a file. Spaces around lines are left out, too; blank lines stay empty.
    """
    if _is_plain(content):
        return content
    if any(blank in content for blank in SINGLE_BLANKS):
        content = content.translate(SPACES)
    while b"  " in content:
        content = content.replace(b"  ", b" ")
    content = content.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    has_comment = content[:1] == b"#" or b"\n#" in content
    return COMMENT.sub(b"", content) if has_comment else content


def _is_plain(content: bytes) -> bool:
    """Test quickly whether fields of lines are separated by one space, and no line is a comment.

    False if a blank other than a space or newline, or a ``#``, is anywhere; if the first character
    is a blank, two blanks are side by side, or the last is a space.
    """
    has_odd_character = any(odd in content for odd in (*SINGLE_BLANKS, b"#"))
    if has_odd_character or content[:1] <= b" ":
        return False
    characters = np.frombuffer(content, np.uint8)
    for start in range(0, len(content), BLOCK_SIZE):
        # One more than the next block begins with, so that no neighbours are missed.
        is_blank = characters[start : start + BLOCK_SIZE + 1] <= ord(" ")
        if (is_blank[1:] & is_blank[:-1]).any():
            return False
    return content[-1:] != b" "


def _arrays(content: bytes, layout: Layout) -> dict[int, Any]:
    """Read the columns of a layout, by number of the field, from lines separated by single spaces.

    Columns are Arrow dictionaries of texts, or float64. Raises ``ArrowInvalid`` if a line has
    another number of fields, or a number cannot be read.
    """
    import pyarrow as pa
    from pyarrow import csv

    text_type = pa.dictionary(pa.int32(), pa.string())
    types = dict.fromkeys(layout.texts, text_type) | dict.fromkeys(layout.numbers, pa.float64())
    # Arrow names columns by texts: here the numbers of the fields.
    types_by_column = {str(field): column_type for field, column_type in types.items()}
    read_options = csv.ReadOptions(
        column_names=[str(field) for field in range(layout.n_fields)],
        use_threads=False,
        block_size=min(len(content), MOST_AT_ONCE),
    )
    parse_options = csv.ParseOptions(delimiter=" ", quote_char=False)
    convert_options = csv.ConvertOptions(
        column_types=types_by_column,
        include_columns=list(types_by_column),
        null_values=[],
    )
    buffer = pa.py_buffer(content)
    table = csv.read_csv(buffer, read_options, parse_options, convert_options)
    columns = [column.combine_chunks() for column in table.columns]
    return dict(zip(types, columns, strict=True))


def _lines(content: bytes) -> NumberedLines:
    """Split a file into lines at newlines only, and lines into fields at ASCII white space.

    Yields physical number, from 1, and fields; a blank line has none, a comment is left out.
    """
    lines: Sequence[bytes] = content.removesuffix(b"\n").split(b"\n")
    for number, fields in enumerate(map(bytes.split, lines), start=1):
        if not (fields and fields[0].startswith(b"#")):
            yield number, fields


def _require_text(path: Path, content: bytes) -> None:
    """Raise InputError, at its line, for a byte order mark, a NUL, or bytes that are not UTF-8."""
    if content.startswith(BOM_UTF8):
        raise InputError.at_line(
            path,
            1,
            "a byte order mark, which trec_eval takes for a part of the first id; save the file as "
            "UTF-8 without it.",
        )
    if b"\0" in content:
        line = _line_number(content, content.index(b"\0"))
        raise InputError.at_line(path, line, "a NUL byte; a TREC file is plain text.")
    try:
        content.isascii() or content.decode()
    except UnicodeDecodeError as error:
        line = _line_number(content, error.start)
        finding = f"not UTF-8 (byte {content[error.start]:#04x})."
        raise InputError.at_line(path, line, finding) from None


def _line_number(content: bytes, position: int) -> int:
    """Count lines from 1 up to the byte at a position."""
    return content[:position].count(b"\n") + 1


USER_FIELD = 0
ITEM_FIELD = 2


class Pairs(NamedTuple):
    """Users and items over a numbering of their own; int32 of shape (n_lines,)."""

    users: Numbering
    items: Numbering
    user: Ints
    item: Ints

    @classmethod
    def of_columns(cls, columns: Columns) -> Pairs:
        """Read user and item of each line, and number the ids of both in code-point order.

        Raises InputError if an id is too long, or if a pair of user and item is duplicated, at its
        second line.
        """
        users, user = columns.numbered_texts(USER_FIELD)
        items, item = columns.numbered_texts(ITEM_FIELD)
        pairs = cls(users, items, user, item)
        duplicates = pairs.duplicate_rows()
        if len(duplicates) > 0:
            second = int(duplicates[0])
            is_same_pair = (user == user[second]) & (item == item[second])
            first_place = columns.place(int(is_same_pair.argmax()))
            item_id = items.ids[item[second]]
            user_id = users.ids[user[second]]
            finding = f"item {item_id} is duplicated for user {user_id}, first in {first_place}."
            raise columns.error_at(second, finding)
        return pairs

    def duplicate_rows(self, subtopic: Ints | None = None) -> Numbers:
        """Find the rows, rising, whose pair of user and item is in an earlier row, too.

        ``self.user`` and ``self.item`` are numbers, of shape (n_lines,). With ``subtopic``, of the
        same shape, an earlier row counts only if it is of the same subtopic.
        """
        # One number for each pair.
        pairs = self.user.astype(np.int64) * len(self.items) + self.item
        if subtopic is None:
            sorted_pairs = np.sort(pairs)
            if not (sorted_pairs[1:] == sorted_pairs[:-1]).any():
                return np.empty(0, dtype=np.intp)
            order = np.argsort(pairs, kind="stable")
            equals_next = np.diff(pairs[order]) == 0
        else:
            order = np.lexsort((subtopic, pairs))
            equals_next = (np.diff(pairs[order]) == 0) & (np.diff(subtopic[order]) == 0)
        return np.sort(order[np.flatnonzero(equals_next) + 1])


HALF_RANKS = "ranks that share ties are half ranks, so settle ties by item, min, max or at random"


def place_in_group(groups: Integers) -> Longs:
    """Number the members of each run of equal values from 1, int64 of the shape of ``groups``.

    >>> place_in_group(np.array([3, 3, 0, 3]))
    array([1, 2, 1, 1])
    """
    rows = np.arange(len(groups))
    is_first = np.ones(len(groups), dtype=bool)
    is_first[1:] = groups[1:] != groups[:-1]
    first_rows = np.maximum.accumulate(np.where(is_first, rows, 0))
    return rows - first_rows + 1


def offsets_of(counts: Integers) -> Longs:
    """Add up the sizes of groups: where each begins in a column, and where the last one ends.

    >>> offsets_of(np.array([2, 0, 3]))
    array([0, 2, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def rows_of_groups(offsets: Integers, groups: Integers) -> Longs:
    """List the rows of these groups, group by group, int64 of shape (n,).

    Rows of group g are ``offsets[g]`` to ``offsets[g + 1] - 1``; ``offsets`` has the shape
    (n_groups + 1,).

    >>> rows_of_groups(np.array([0, 2, 2, 5]), np.array([2, 0]))
    array([2, 3, 4, 0, 1])
    """
    first_rows = offsets[groups]
    counts = offsets[groups + 1] - first_rows
    first_positions = np.cumsum(counts) - counts
    shifts = np.repeat(first_rows - first_positions, counts)
    return shifts + np.arange(counts.sum())


def as_integers(numbers: ArrayLike, *, name: str) -> Longs:
    """Read whole numbers, of any type and shape, as int64.

    ``name`` is what errors call one of them, such as "rank". Raises InputError for a number that is
    not whole, NaN or infinite.
    """
    values = np.asarray(numbers)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    is_odd = ~(np.isfinite(values) & (values == np.floor(values)))
    if is_odd.any():
        first_odd = values.ravel()[is_odd.argmax()]
        raise InputError(
            f"{with_article(name)} must be a whole number, got {first_odd}: {HALF_RANKS}."
        )
    return values.astype(np.int64)


def integers_by_row(numbers: ArrayLike, n_rows: int, *, name: str) -> Longs:
    """Read one whole number for all rows, or one for each, as int64 of shape (n_rows,).

    ``name`` is what errors call one of them. Raises InputError for another shape, or a number that
    is not whole.
    """
    values = as_integers(numbers, name=name)
    if values.shape not in ((), (n_rows,)):
        raise InputError(f"there must be one {name} for all {n_rows} rows, or one for each.")
    return np.broadcast_to(values, (n_rows,)).copy()


ROWS_AT_ONCE = 1 << 20


def join_rows(*columns: tuple[Sequence[str], Integers]) -> bytes:
    r"""Join the texts of each row, and then all rows, without separators.

    A column is a list of distinct texts, and the position of the text of each row in this list, of
    shape (n_rows,). There is at least one column. The texts are UTF-8.

    >>> join_rows((["u ", "v "], np.array([0, 1])), (["1\n"], np.array([0, 0])))
    b'u 1\nv 1\n'
    """
    import pyarrow as pa
    import pyarrow.compute as compute

    distinct_texts = [pa.array(texts, pa.large_string()) for texts, _ in columns]
    codes = [column_codes for _, column_codes in columns]
    separator = pa.scalar("", pa.large_string())
    n_rows = len(codes[0])
    blocks = []
    for first in range(0, n_rows, ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        texts_of_rows = [
            texts.take(pa.array(column_codes[rows]))
            for texts, column_codes in zip(distinct_texts, codes, strict=True)
        ]
        joined = compute.binary_join_element_wise(*texts_of_rows, separator)
        # The joined texts lie one after the other in Arrow's memory.
        blocks.append(joined.buffers()[2].to_pybytes())
    return b"".join(blocks)


ID_HEADERS = ("", "topic", "user", "query", "qid")


SEPARATORS = ("\t", ",", ";", "|", " ")
"""What may separate the fields of a table; the first that its heading has does."""


def read_lines(
    path: Path, *, separator: str | None = None, encoding: str = UTF_8
) -> Iterator[tuple[int, list[str]]]:
    """Read a table of text, perhaps packed, whose first line is a heading.

    Yields the number in the file, from 1, and the fields, stripped, of every line that is not
    blank.

    Parameters
    ----------
    path
        The file.
    separator
        What separates fields, where " " is any white space; None for the first of `SEPARATORS` that
        the first line has.
    encoding
        How characters are written; a byte order mark decides by itself.

    Raises
    ------
    InputError
        If the file does not exist, is a folder, is not in the encoding, or is no valid CSV.
    """
    try:
        with path.open("rb") as stream, as_input_error(f"{path}: cannot be read", *UNPACKABLE):
            content = read_within_memory(path, stream, path.stat().st_size)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: the folder of a study is not read with tables.") from None
    lines = as_utf_8(path, content, encoding, section="").decode().splitlines()
    if separator is None:
        heading = next((line for line in lines if line.strip()), "")
        separator = next((mark for mark in SEPARATORS if mark in heading), ",")
    for number, fields in _split_lines(path, lines, separator):
        stripped_fields = [field.strip() for field in fields]
        if stripped_fields not in ([], [""]):
            yield number, stripped_fields


def _split_lines(
    path: Path, lines: Sequence[str], separator: str
) -> Iterator[tuple[int, list[str]]]:
    """Split lines into fields, which may be in quotes where the separator is one character.

    Yields the number in the file ``path``, from 1, and the fields of every line. Refuses with an
    InputError what is no valid CSV.
    """
    if separator == " " or len(separator) > 1:
        parts = None if separator == " " else separator
        for number, line in enumerate(lines, start=1):
            yield number, line.split(parts)
        return
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError.at_line(path, reader.line_num, f"not valid CSV ({error}).") from None
        yield reader.line_num, fields


def require_width(path: Path, line: int, row: list[str], heading: list[str]) -> list[str]:
    """Return a row of fields, or raise InputError if it has not as many fields as the heading.

    ``line`` is the number of its line in the file ``path``, from 1, which the error names.
    """
    if len(row) != len(heading):
        finding = f"{len(heading)} fields expected, as in the heading, found {len(row)}."
        raise InputError.at_line(path, line, finding)
    return row


def distinct_names(path: Path, names: Sequence[tuple[int, str]], kind: str) -> tuple[str, ...]:
    """Return names in their order, with control characters written as escapes.

    ``names`` are pairs of the number of a line in the file ``path``, which errors name, and a name;
    ``kind`` is what they are names of, such as "system". Raises InputError for a name that is empty
    or duplicated.
    """
    known_names: set[str] = set()
    for line, name in names:
        if not name:
            raise InputError.at_line(path, line, f"{with_article(kind)} has no name.")
        if name in known_names:
            raise InputError.at_line(path, line, f"{kind} {name!r} is duplicated.")
        known_names.add(name)
    return tuple(escaped(name) for _, name in names)


def is_number(text: str) -> bool:
    """Test whether a text can be read as a number; NaN and infinity count."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_number(path: Path, line: int, column: str, text: str, *, kind: str = "score") -> float:
    """Convert the text of a field to a finite number.

    Raises InputError if it is empty, or no finite number. The error names the file ``path``, the
    number of the line, the name of the column, and ``kind``: what the number is, such as "score".
    """
    if not text:
        finding = f"column {column!r}: {with_article(kind)} is missing."
        raise InputError.at_line(path, line, finding)
    if not is_number(text) or not math.isfinite(float(text)):
        finding = f"column {column!r}: a number expected, found {text!r}."
        raise InputError.at_line(path, line, finding)
    return float(text)


def read_cutoff(path: Path, line: int, text: str) -> int | None:
    """Read a cut-off, a whole number from 1 on; None, for whole lists, if the text is empty.

    Refuses other texts with an InputError at the line.
    """
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        finding = f"the cut-off must be a whole number from 1 on, or empty, got {text!r}."
        raise InputError.at_line(path, line, finding)
    return int(text)
