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
from runs.shared.errors import InputError, with_article
from runs.shared.ids import LONGEST_ID, Numbering, escaped

BLANKS = b"\t\v\f\r"
BLANKS_ALONE = tuple(bytes([blank]) for blank in BLANKS)
SPACES = bytes.maketrans(BLANKS, b" " * len(BLANKS))
COMMENT = re.compile(rb"(?m)^#.*\n?")
LOOKED_AT = 1 << 17
"""Characters that are looked at together: as many as stay in cache."""

MOST_AT_ONCE = 2**30
"""Bytes that Arrow reads at once: all of most files."""

NumberedLines = Iterator[tuple[int, list[bytes]]]
Checked = Callable[[Path, NumberedLines], Iterator[list[bytes]]]
"""Gives the fields that count of each line, which comes with its physical number, or refuses it."""


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

    In Parquet the lines are rows.
    """

    path: Path | str
    content: bytes
    arrays: dict[int, Any]
    unit: str = "line"

    def texts(self, field: int) -> tuple[list[str], Ints]:
        """Give the distinct texts of a field, and which of them each line has."""
        column = self.arrays[field]
        return column.dictionary.to_pylist(), np.asarray(np.from_dlpack(column.indices), np.int32)

    def names(self, field: int) -> tuple[list[str], Ints]:
        """Give the texts of a field, none so long that an array of all would be too large."""
        texts, codes = self.texts(field)
        too_long = next((code for code, text in enumerate(texts) if len(text) > LONGEST_ID), None)
        if too_long is not None:
            finding = (
                f"an id or a name has at most {LONGEST_ID:,} characters, found one of "
                f"{len(texts[too_long]):,} that begins with {texts[too_long][:20]!r}."
            )
            raise self.error(int((codes == too_long).argmax()), finding)
        return texts, codes

    def numbers(self, field: int) -> Floats:
        """Give the numbers of a field."""
        return np.asarray(np.from_dlpack(self.arrays[field]), np.float64)

    def numbered(self, field: int) -> tuple[Numbering, Ints]:
        """Number the texts of a field, in order."""
        texts, codes = self.names(field)
        numbering = Numbering.of(texts)
        return numbering, numbering.numbers(texts)[codes]

    def line(self, position: int) -> tuple[int, list[bytes]]:
        """Give physical number and fields of the line that an element stands for."""
        lines = (line for line in _lines(self.content) if line[1])
        return next(islice(lines, position, None))

    def place(self, position: int) -> str:
        """Say which line, or row, an element stands for."""
        number = self.line(position)[0] if self.unit == "line" else position + 1
        return f"{self.unit} {number}"

    def error(self, position: int, finding: str) -> InputError:
        """Make an error at the line, or row, of an element."""
        return InputError(f"{self.path}, {self.place(position)}: {finding}")


def read_columns(path: Path, content: bytes, layout: Layout, checked: Checked) -> Columns:
    """Read the fields of a file as trec_eval does: between runs of ASCII white space.

    Lines that begin with ``#`` are left out. A file with an odd line is read again line by line:
    ``checked`` refuses it, or says which fields count.
    """
    import pyarrow as pa

    _require_text(path, content)
    plain, arrays = _plain(content), None
    if layout.skips_blank_lines or not (plain.startswith(b"\n") or b"\n\n" in plain):
        # All lines at once are read some twenty times faster than one by one.
        with suppress(pa.ArrowInvalid):
            arrays = _arrays(plain, layout)
    if arrays is None:
        lines = checked(path, _lines(content))
        arrays = _arrays(b"\n".join(b" ".join(fields) for fields in lines), layout)
    return Columns(path, content, arrays)


def _plain(content: bytes) -> bytes:
    r"""Separate fields by one space, and leave out comments."""
    if _is_plain(content):
        return content
    if any(blank in content for blank in BLANKS_ALONE):
        content = content.translate(SPACES)
    while b"  " in content:
        content = content.replace(b"  ", b" ")
    content = content.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    return COMMENT.sub(b"", content) if content[:1] == b"#" or b"\n#" in content else content


def _is_plain(content: bytes) -> bool:
    """Tell at a glance that no blank stands beside another or at an end, and that none is odd."""
    if any(odd in content for odd in (*BLANKS_ALONE, b"#")) or content[:1] <= b" ":
        return False
    characters = np.frombuffer(content, np.uint8)
    for start in range(0, len(content), LOOKED_AT):
        # One more than the next part begins with, so that no neighbours are missed.
        blank = characters[start : start + LOOKED_AT + 1] <= ord(" ")
        if (blank[1:] & blank[:-1]).any():
            return False
    return content[-1:] != b" "


def _arrays(content: bytes, layout: Layout) -> dict[int, Any]:
    """Read the columns of fields between single spaces."""
    import pyarrow as pa
    from pyarrow import csv

    text = pa.dictionary(pa.int32(), pa.string())
    kinds = dict.fromkeys(layout.texts, text) | dict.fromkeys(layout.numbers, pa.float64())
    size = min(len(content), MOST_AT_ONCE)
    table = csv.read_csv(
        pa.py_buffer(content),
        csv.ReadOptions(
            column_names=list(map(str, range(layout.n_fields))), use_threads=False, block_size=size
        ),
        csv.ParseOptions(delimiter=" ", quote_char=False),
        csv.ConvertOptions(
            column_types={str(field): kind for field, kind in kinds.items()},
            include_columns=list(map(str, kinds)),
            null_values=[],
        ),
    )
    return dict(zip(kinds, (column.combine_chunks() for column in table.columns), strict=True))


def _lines(content: bytes) -> NumberedLines:
    """Split a file into lines at newlines only, and lines into fields at ASCII white space."""
    lines: Sequence[bytes] = content.removesuffix(b"\n").split(b"\n")
    for number, fields in enumerate(map(bytes.split, lines), start=1):
        if not (fields and fields[0].startswith(b"#")):
            yield number, fields


def _require_text(path: Path, content: bytes) -> None:
    if content.startswith(BOM_UTF8):
        finding = "a byte order mark, which trec_eval takes for a part of the first id; save the "
        finding += "file as UTF-8 without it."
        raise InputError.at_line(path, 1, finding)
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise InputError.at_line(path, line, "a NUL byte; a TREC file is plain text.")
    try:
        content.isascii() or content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError.at_line(
            path, line, f"not UTF-8 (byte {content[error.start]:#04x})."
        ) from None


USER_FIELD, ITEM_FIELD = 0, 2


class Pairs(NamedTuple):
    """Users and items over a numbering of their own; int32 of shape (n_lines,)."""

    users: Numbering
    items: Numbering
    user: Ints
    item: Ints

    @classmethod
    def of_columns(cls, columns: Columns) -> Pairs:
        """Number users and items in code-point order, and refuse a pair that is duplicated."""
        (users, user), (items, item) = columns.numbered(USER_FIELD), columns.numbered(ITEM_FIELD)
        pairs = cls(users, items, user, item)
        for second in pairs.repeated()[:1]:
            own = (user == user[second]) & (item == item[second])
            first = columns.place(int(own.argmax()))
            pair = (
                f"item {items.ids[item[second]]} is duplicated for user {users.ids[user[second]]}"
            )
            raise columns.error(int(second), f"{pair}, first in {first}.")
        return pairs

    def repeated(self) -> Numbers:
        """Give the positions, rising, of pairs that occur before."""
        pairs = self.user.astype(np.int64) * len(self.items) + self.item
        order = np.argsort(pairs, kind="stable")
        again = np.flatnonzero(pairs[order][1:] == pairs[order][:-1])
        return np.sort(order[again + 1])


HALF_RANKS = "ranks that share ties are half ranks, so settle ties by item, min, max or at random"


def place_in_group(groups: Integers) -> Longs:
    """Number the members of each run of equal values from 1."""
    rows = np.arange(len(groups))
    is_first = np.ones(len(groups), dtype=bool)
    is_first[1:] = groups[1:] != groups[:-1]
    return rows - np.maximum.accumulate(np.where(is_first, rows, 0)) + 1


def offsets_of(counts: Integers) -> Longs:
    """Add up the sizes of groups: where each begins in a column, and where the last one ends.

    >>> offsets_of(np.array([2, 0, 3]))
    array([0, 2, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def as_integers(numbers: ArrayLike, *, what: str) -> Longs:
    """Read whole numbers."""
    values = np.asarray(numbers)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    odd = ~(np.isfinite(values) & (values == np.floor(values)))
    if odd.any():
        raise InputError(
            f"{with_article(what)} must be a whole number, got {values.ravel()[odd.argmax()]}: "
            f"{HALF_RANKS}."
        )
    return values.astype(np.int64)


def integers_by_row(numbers: ArrayLike, n_rows: int, *, what: str) -> Longs:
    """Read one whole number for all rows, or one for each."""
    values = as_integers(numbers, what=what)
    if values.shape not in ((), (n_rows,)):
        raise InputError(f"there must be one {what} for all {n_rows} rows, or one for each.")
    return np.broadcast_to(values, (n_rows,)).copy()


ROWS_AT_ONCE = 1 << 20


def join_rows(*columns: tuple[Sequence[str], Integers]) -> bytes:
    r"""Join the texts of each row, and all rows."""
    import pyarrow as pa
    import pyarrow.compute as compute

    texts = [(pa.array(distinct, pa.large_string()), numbers) for distinct, numbers in columns]
    blocks, nothing = [], pa.scalar("", pa.large_string())
    for first in range(0, len(columns[0][1]), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        parts = [distinct.take(pa.array(numbers[rows])) for distinct, numbers in texts]
        # The joined texts lie one after the other in Arrow's memory.
        joined = compute.binary_join_element_wise(*parts, nothing)
        blocks.append(joined.buffers()[2].to_pybytes())
    return b"".join(blocks)


ID_HEADERS = ("", "topic", "user", "query", "qid")


def read_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Give number and fields of every line that is not blank."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: the folder of a study is not read with tables.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the file is not UTF-8 text ({error}).") from None
    lines = text.splitlines()
    delimiter = "\t" if lines and "\t" in lines[0] else ","
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            fields = [field.strip() for field in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError.at_line(path, reader.line_num, f"not valid CSV ({error}).") from None
        if fields not in ([], [""]):
            yield reader.line_num, fields


def require_width(path: Path, line: int, row: list[str], heading: list[str]) -> list[str]:
    """Give the row back if it has as many fields as the heading."""
    if len(row) != len(heading):
        finding = f"{len(heading)} fields expected, as in the heading, found {len(row)}."
        raise InputError.at_line(path, line, finding)
    return row


def distinct_names(path: Path, names: Sequence[tuple[int, str]], kind: str) -> tuple[str, ...]:
    """Give names that are shown as they are; refuse those that are empty or duplicated."""
    seen: set[str] = set()
    for line, name in names:
        if not name:
            raise InputError.at_line(path, line, f"{with_article(kind)} has no name.")
        if name in seen:
            raise InputError.at_line(path, line, f"{kind} {name!r} is duplicated.")
        seen.add(name)
    return tuple(escaped(name) for _, name in names)


def is_number(text: str) -> bool:
    """Tell whether a text can be read as a number, be it infinite."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_number(path: Path, line: int, system: str, text: str, *, kind: str = "score") -> float:
    """Read a finite number."""
    if not text:
        raise InputError.at_line(path, line, f"column {system!r}: {with_article(kind)} is missing.")
    if not is_number(text) or not math.isfinite(float(text)):
        raise InputError.at_line(
            path, line, f"column {system!r}: a number expected, found {text!r}."
        )
    return float(text)


def read_cutoff(path: Path, line: int, text: str) -> int | None:
    """Read a cut-off; none for whole lists."""
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        finding = f"the cut-off must be a whole number from 1 on, or empty, got {text!r}."
        raise InputError.at_line(path, line, finding)
    return int(text)
