"""Fields of the lines of TREC files, in columns; and the line in which a rule is broken."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runs.shared.errors import InputError
from runs.shared.ids import LONGEST_ID
from runs.shared.numbering import Numbering

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

    Parameters
    ----------
    n_fields
        Number of fields.
    texts, numbers
        Which of them, counted from 0, are read, and whether as text or as decimal numbers.
    skips_blank_lines
        Whether a line may be blank.
    """

    n_fields: int
    texts: tuple[int, ...]
    numbers: tuple[int, ...] = ()
    skips_blank_lines: bool = False


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a file: Arrow arrays by number of the field, of one element for each line."""

    path: Path
    content: bytes
    arrays: dict[int, Any]

    def texts(self, field: int) -> tuple[list[str], NDArray[np.int32]]:
        """Give the distinct texts of a field, and which of them each line has."""
        column = self.arrays[field]
        return column.dictionary.to_pylist(), np.asarray(np.from_dlpack(column.indices), np.int32)

    def names(self, field: int) -> tuple[list[str], NDArray[np.int32]]:
        """Give the texts of a field, none so long that an array of all would be too large."""
        texts, codes = self.texts(field)
        too_long = next((code for code, text in enumerate(texts) if len(text) > LONGEST_ID), None)
        if too_long is not None:
            finding = (
                f"an id or a name has at most {LONGEST_ID:,} characters, found one of "
                f"{len(texts[too_long]):,} that begins with {texts[too_long][:20]!r}."
            )
            line, _ = self.line(int((codes == too_long).argmax()))
            raise InputError.at(self.path, line, finding)
        return texts, codes

    def numbers(self, field: int) -> NDArray[np.float64]:
        """Give the numbers of a field."""
        return np.asarray(np.from_dlpack(self.arrays[field]), np.float64)

    def numbered(self, field: int) -> tuple[Numbering, NDArray[np.int32]]:
        """Number the texts of a field, in order."""
        texts, codes = self.names(field)
        ids = np.array(texts, dtype=np.str_)
        order = np.argsort(ids)
        numbers = np.empty(len(ids), dtype=np.int32)
        numbers[order] = np.arange(len(ids), dtype=np.int32)
        return Numbering(ids[order]), numbers[codes]

    def line(self, position: int) -> tuple[int, list[bytes]]:
        """Give physical number and fields of the line that an element stands for."""
        lines = (line for line in _lines(self.content) if line[1])
        return next(islice(lines, position, None))


def read_columns(path: Path, content: bytes, layout: Layout, checked: Checked) -> Columns:
    """Read the fields of a file as trec_eval does: between runs of ASCII white space.

    Lines that begin with ``#`` are left out. A file with an odd line is read again line by line:
    ``checked`` refuses it, or says which fields count.

    Raises
    ------
    InputError
        If the file begins with a byte order mark, holds a NUL or is not UTF-8, or an id is longer
        than any id is.
    """
    _require_text(path, content)
    arrays = _read_at_once(_plain(content), layout)
    if arrays is None:
        lines = checked(path, _lines(content))
        arrays = _arrays(b"\n".join(b" ".join(fields) for fields in lines), layout)
    return Columns(path, content, arrays)


def _read_at_once(plain: bytes, layout: Layout) -> dict[int, Any] | None:
    """Read all lines, some twenty times faster than one by one; none if one of them is odd."""
    import pyarrow as pa

    if not layout.skips_blank_lines and (plain.startswith(b"\n") or b"\n\n" in plain):
        return None
    try:
        return _arrays(plain, layout)
    except pa.ArrowInvalid:
        return None


def _plain(content: bytes) -> bytes:
    r"""Separate fields by one space, and leave out comments.

    Examples
    --------
    >>> _plain(b"# a run\n u\tQ0   7 1 2 s \r\n")
    b'u Q0 7 1 2 s\n'
    """
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
    columns = (column.combine_chunks() for column in table.columns)
    return dict(zip(kinds, columns, strict=True))


def _lines(content: bytes) -> NumberedLines:
    """Split a file into lines at newlines only, and lines into fields at ASCII white space.

    Fields come with the number of their physical line; a final newline does not begin a line.
    """
    lines: Sequence[bytes] = content.removesuffix(b"\n").split(b"\n")
    for number, fields in enumerate(map(bytes.split, lines), start=1):
        if not (fields and fields[0].startswith(b"#")):
            yield number, fields


def _require_text(path: Path, content: bytes) -> None:
    if content.startswith(BOM_UTF8):
        finding = "a byte order mark, which trec_eval takes for a part of the first id."
        raise InputError.at(path, 1, finding)
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise InputError.at(path, line, "a NUL byte; a TREC file is plain text.")
    try:
        content.isascii() or content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError.at(path, line, f"not UTF-8 (byte {content[error.start]:#04x}).") from None
