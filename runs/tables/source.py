"""Where the bytes of a table come from: a file, perhaps packed, in a folder or an archive."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from io import BytesIO
from itertools import islice
from lzma import LZMAError
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Final

from runs.shared.encodings import UTF_8, as_utf_8
from runs.shared.errors import InputError, as_input_error
from runs.shared.files import PARQUET, read_within_memory

UNREADABLE = (
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    LZMAError,
    zlib.error,
    zipfile.BadZipFile,
)

RATINGS_FILES: Final = ("u.data", "ratings.dat", "ratings.csv", "ratings.parquet", "*.inter")
"""What a folder or an archive may hold as its ratings."""

PACKED: Final = (".gz", ".bz2", ".xz")
"""Endings of the names of packed files."""

ARROW: Final = b"ARROW1"
"""What files of Arrow begin with."""

JSON_RECORDS: Final = re.compile(rb'\s*(\[\s*)?\{\s*"')
"""What files of records of JSON begin with."""

LOOKED_AT: Final = 200
"""Lines, or rows, that are looked at to tell what a table holds."""


@dataclass(frozen=True)
class Source:
    """A file in memory: its bytes, unpacked, as UTF-8 without a byte order mark.

    Parameters
    ----------
    label
        What errors call it; a member of an archive follows the path of the archive.
    data
        The bytes.
    """

    label: str
    data: bytes

    @property
    def name(self) -> str:
        """The name of the file in lower case, without the ending of packed files."""
        return _bare_name(PurePath(self.label)).lower()

    @property
    def is_parquet(self) -> bool:
        """Whether content or name say that it is a Parquet file."""
        return self.data.startswith(PARQUET) or self.name.endswith((".parquet", ".pq"))

    @property
    def is_arrow(self) -> bool:
        """Whether it is a file of Arrow, as Feather writes it."""
        return self.data.startswith(ARROW)

    @property
    def is_json(self) -> bool:
        """Whether it holds records of JSON, one in each line or all in a list."""
        return JSON_RECORDS.match(self.data) is not None

    def first_lines(self) -> list[str]:
        """List the first lines that are not blank, without their ends; refuse an empty file."""
        lines = list(islice(self._lines(), LOOKED_AT + 1))
        if not lines:
            raise InputError(f"{self.label}: the file is empty.")
        return lines

    def _lines(self) -> Iterator[str]:
        for line in BytesIO(self.data):
            if line.strip():
                yield line.decode().rstrip("\r\n")


def open_source(path: str | Path, *, encoding: str = UTF_8) -> Source:
    """Read a file, or the one ratings file inside a folder or a zip archive.

    Parameters
    ----------
    path
        The file, folder or archive.
    encoding
        How characters are written, such as "latin-1"; a byte order mark decides by itself.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, it is not in the encoding, or a folder or an
        archive does not hold exactly one file of ratings.
    """
    path = Path(path)
    with as_input_error(f"{path}: cannot be read", *UNREADABLE):
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder.")
        if path.is_dir():
            source = _read_folder(path)
        elif zipfile.is_zipfile(path):
            source = _read_archive(path)
        else:
            source = _read_file(path)
    is_binary = source.is_parquet or source.is_arrow
    return (
        source if is_binary else Source(source.label, as_utf_8(source.label, source.data, encoding))
    )


def _read_file(path: Path) -> Source:
    with path.open("rb") as stream:
        return _read(str(path), stream, path.stat().st_size)


def _read_folder(folder: Path) -> Source:
    inside = [path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern))]
    files = [path for path in inside if path.is_file() and _holds_ratings(path)]
    _require_one(folder, [str(path.relative_to(folder)) for path in files])
    return _read_file(files[0])


def _read_archive(path: Path) -> Source:
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if _holds_ratings(PurePosixPath(name))]
        _require_one(path, members)
        size = archive.getinfo(members[0]).file_size
        with archive.open(members[0]) as stream:
            return _read(f"{path}/{members[0]}", stream, size)


def _read(label: str, stream: IO[bytes], size: int) -> Source:
    return Source(label, read_within_memory(label, stream, size))


def _bare_name(path: PurePath) -> str:
    return path.stem if path.suffix.lower() in PACKED else path.name


def _holds_ratings(path: PurePath) -> bool:
    return any(fnmatchcase(_bare_name(path), pattern) for pattern in RATINGS_FILES)


def _require_one(place: Path, names: list[str]) -> None:
    if not names:
        raise InputError(f"{place}: no ratings file inside; looked for {', '.join(RATINGS_FILES)}.")
    if len(names) > 1:
        raise InputError(f"{place}: several ratings files inside, give one: {', '.join(names)}.")
