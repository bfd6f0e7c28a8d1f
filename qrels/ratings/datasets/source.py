"""Where the bytes come from: a file, a gzip file, or the ratings file of a folder or an archive."""

from __future__ import annotations

import codecs
import zipfile
import zlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path, PurePath, PurePosixPath
from typing import IO

from qrels.ratings.datasets.layouts import RATINGS_FILES
from runs import InputError
from runs.shared.errors import as_input_error
from runs.shared.files import PARQUET, read_within_memory

UNREADABLE = (OSError, EOFError, RuntimeError, NotImplementedError, zlib.error, zipfile.BadZipFile)


@dataclass(frozen=True)
class Source:
    """A file of ratings, in memory: its bytes, decompressed, without a byte order mark.

    The label is what errors call it; a member of an archive follows the archive's path.
    """

    label: str
    data: bytes

    @property
    def name(self) -> str:
        """The file's name in lower case, without the ``.gz``."""
        return _bare_name(PurePath(self.label)).lower()

    @property
    def is_parquet(self) -> bool:
        """Whether content or name say that it is a Parquet file."""
        return self.data.startswith(PARQUET) or self.name.endswith((".parquet", ".pq"))

    def first_line(self) -> str:
        """Give the first line that is not blank, without its end; refuse a file without one."""
        for line in BytesIO(self.data):
            if line.strip(b"\r\n"):
                return line.decode(errors="replace").rstrip("\r\n")
        raise InputError(f"{self.label}: the file is empty.")


def open_source(path: str | Path) -> Source:
    """Read the file, or the one ratings file inside a folder or a zip archive."""
    path = Path(path)
    with as_input_error(f"{path}: cannot be read", *UNREADABLE):
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder.")
        if path.is_dir():
            return _read_folder(path)
        if zipfile.is_zipfile(path):
            return _read_archive(path)
        return _read_file(path)


def _read_file(path: Path) -> Source:
    with path.open("rb") as stream:
        return _read(str(path), stream, path.stat().st_size)


def _read_folder(folder: Path) -> Source:
    inside = [path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern))]
    found = [path for path in inside if path.is_file() and _holds_ratings(path)]
    _require_one(folder, [str(path.relative_to(folder)) for path in found])
    return _read_file(found[0])


def _read_archive(path: Path) -> Source:
    with zipfile.ZipFile(path) as archive:
        found = [member for member in archive.namelist() if _holds_ratings(PurePosixPath(member))]
        _require_one(path, found)
        with archive.open(found[0]) as stream:
            return _read(f"{path}/{found[0]}", stream, archive.getinfo(found[0]).file_size)


def _read(label: str, stream: IO[bytes], size: int) -> Source:
    return Source(label, read_within_memory(label, stream, size).removeprefix(codecs.BOM_UTF8))


def _bare_name(path: PurePath) -> str:
    return path.stem if path.suffix.lower() == ".gz" else path.name


def _holds_ratings(path: PurePath) -> bool:
    return any(fnmatchcase(_bare_name(path), pattern) for pattern in RATINGS_FILES)


def _require_one(place: Path, found: list[str]) -> None:
    if not found:
        raise InputError(f"{place}: no ratings file inside; looked for {', '.join(RATINGS_FILES)}.")
    if len(found) > 1:
        raise InputError(f"{place}: several ratings files inside, give one: {', '.join(found)}.")
