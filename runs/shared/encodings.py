"""How characters are written in files of text: encodings, and marks that name them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from runs.shared.errors import InputError

UTF_8: Final = "utf-8"

MARKS: Final[Mapping[bytes, str]] = {
    codecs.BOM_UTF8: UTF_8,
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Encodings by the byte order mark that a file begins with; the longer of two marks comes first."""

LITTLE_ENDIAN: Final[Mapping[str, str]] = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""The order of bytes that these encodings have without a mark."""

BEGINNING: Final = 1 << 12
"""Bytes that are looked at for NULs; a multiple of four."""

LEAST_NULS: Final = 0.1
"""Smallest share of NULs in the beginning of UTF-16: blanks and digits have one each."""

MANY_NULS: Final = 0.6
"""Smallest share of NULs in the beginning of UTF-32."""

CONTROLS: Final = re.compile(rb"[\x80-\x9f]")
"""Bytes that are control characters in Latin-1, and letters and quotes in Windows' code page."""


OF_EXCEL: Final = re.compile(rb"sep=.(?=\r?\n)")
"""The line by which Excel is told the separator."""


def as_utf_8(
    label: str | Path,
    content: bytes,
    encoding: str = UTF_8,
    *,
    option: str = "--encoding",
    section: str = "the study file",
) -> bytes:
    """Write a text as UTF-8, without a byte order mark.

    A byte order mark decides how the text is read, whatever a person says. Lines that end with CR
    alone end with LF; a first line such as ``sep=;``, for Excel, is left blank.

    Parameters
    ----------
    label
        What errors call the file.
    content
        Its bytes, unpacked.
    encoding
        How its characters are written, such as "latin-1".
    option
        Option of the command line that names the encoding.
    section
        Section of a study file that names it; "" if none does.

    Raises
    ------
    InputError
        If the encoding is not known, or the text is not in it: then the sentence has the option.
    """
    codec = _codec(encoding)
    mark = next((mark for mark in MARKS if content.startswith(mark)), b"")
    if mark:
        codec = MARKS[mark]
        content = content[len(mark) :]
    # Without a mark, numbers of "utf-16" and "utf-32" have their last byte first.
    codec = LITTLE_ENDIAN.get(codec, codec)
    in_study = f", or `encoding` in {section}" if section else ""
    wide_encoding = _wide_encoding(content)
    is_wide = codec in MARKS.values() and codec != UTF_8
    if wide_encoding and not is_wide:
        raise InputError(
            f"{label}: the text is not {encoding}: it has NUL bytes, as {wide_encoding} has. Name "
            f"the encoding: `{option} {wide_encoding}`{in_study}."
        )
    if is_wide and not mark and wide_encoding != codec:
        seeming = f"it seems to be {wide_encoding}" if wide_encoding else "it has no NUL bytes"
        raise InputError(
            f"{label}: the text is not {encoding}: {seeming}. Name another encoding: "
            f"`{option}`{in_study}."
        )
    if codec == UTF_8:
        _require_utf_8(label, content, option, in_study)
        return _with_usual_lines(content)
    try:
        return _with_usual_lines(content.decode(codec).encode())
    except UnicodeError as error:
        raise InputError(
            f"{label}: the text is not {encoding} ({error}). Name another encoding: "
            f"`{option}`{in_study}."
        ) from None


def _with_usual_lines(text: bytes) -> bytes:
    """End lines with LF if all end with CR alone, and leave the line for Excel blank.

    That is a first line such as ``sep=;``, whose end stays.
    """
    if b"\n" not in text:
        text = text.replace(b"\r", b"\n")
    line_of_excel = OF_EXCEL.match(text)
    return text if line_of_excel is None else text[line_of_excel.end() :]


def _codec(encoding: str) -> str:
    """Look up Python's name of an encoding of text; InputError if it does not know the encoding."""
    try:
        codec = codecs.lookup(encoding).name
        # Some of Python's codecs, such as base64, are not of text.
        "a".encode(codec)
    except (LookupError, ValueError):
        raise InputError(
            f"`encoding` must be one that Python knows, such as utf-8, latin-1 or utf-16, got "
            f"{encoding!r}."
        ) from None
    return codec


def _wide_encoding(content: bytes) -> str | None:
    """Tell UTF-16 and UTF-32 by the places of NUL bytes; None for other text.

    Returns "utf-16-le", "utf-16-be", "utf-32-le" or "utf-32-be": of the first bytes at least the
    share `LEAST_NULS` (0.1) is NUL, and in UTF-32 the share `MANY_NULS` (0.6).
    """
    beginning = content[:BEGINNING]
    n_nuls = beginning.count(0)
    if n_nuls < LEAST_NULS * len(beginning) or not n_nuls:
        return None
    n_nuls_first = beginning[::2].count(0)
    # In numbers whose last byte stands first, NULs follow on the other bytes.
    order = "le" if 2 * n_nuls_first < n_nuls else "be"
    if n_nuls >= MANY_NULS * len(beginning):
        order = "be" if beginning[::4].count(0) > beginning[3::4].count(0) else "le"
        return f"utf-32-{order}"
    return f"utf-16-{order}"


def _require_utf_8(label: str | Path, content: bytes, option: str, in_study: str) -> None:
    """Refuse a text that is not UTF-8, at its line.

    ``option`` and ``in_study`` say where a person names the encoding; the one that is proposed is
    the code page of Windows if the text has bytes that only that has.
    """
    try:
        content.isascii() or content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        start = content.rfind(b"\n", 0, error.start) + 1
        usual = "cp1252" if CONTROLS.search(content) else "latin-1"
        raise InputError.at_line(
            label,
            line,
            f"byte {error.start - start + 1} of the line, 0x{content[error.start]:02X}, is not "
            f"UTF-8. Name the encoding, often {usual}: `{option} {usual}`{in_study}.",
        ) from None
