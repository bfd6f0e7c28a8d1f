"""Files that are written whole or not at all, and files that are read and unpacked."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from io import BytesIO
from pathlib import Path, PureWindowsPath
from typing import IO, Any
from uuid import uuid4

from runs.shared.errors import InputError

COPIES = 8
"""How often a file is in memory while it is read, as bytes, lines and columns, and rounded up."""

SMALL = 1 << 16
"""Size in bytes below which a file is read without asking how much memory is free."""

GZIPPED = b"\x1f\x8b"
"""What a gzipped file begins with."""

BZIP2 = b"BZh"
"""What a file packed by bzip2 begins with."""

XZ = b"\xfd7zXZ\x00"
"""What a file packed by xz begins with."""

PACKED = (GZIPPED, BZIP2, XZ)

UNPACKABLE = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)
"""What a packed file that is damaged raises."""

PARQUET = b"PAR1"
"""What a Parquet file begins with."""

HIGHEST_RATIO = 1032
"""How much longer than a gzipped file its content can be."""

PARTIAL = ".partial"
"""Ending of the name of a file that is being written."""

LOWEST_PRINTABLE = 0x20
"""Code point of the space: those below are control characters."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that, if the process ends meanwhile, the former file or none is there.

    The content is written to a temporary file in the same folder, which then takes the name. It
    replaces a file that is there. Missing folders are made. An OSError names the path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid4().hex[:8]}{PARTIAL}")
    try:
        with partial.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def path_within(folder: Path, name: str) -> Path:
    """Join a folder and the name of a file in it, where the name may come from data.

    All that is written into a folder, or read from the folder of a study, goes through here.

    Parameters
    ----------
    folder
        The folder, which need not exist.
    name
        The name, with ``/`` between folders.

    Raises
    ------
    InputError
        If the name is empty or absolute, has a drive, a backslash, a control character or ``..``,
        or if a symbolic link leads out of the folder.

    Examples
    --------
    >>> path_within(Path("study"), "../mine.txt")
    Traceback (most recent call last):
    runs.InputError: the file '../mine.txt' is not in the folder study.
    """
    as_windows = PureWindowsPath(name)
    is_relative = not (name.startswith("/") or as_windows.drive or "\\" in name)
    is_plain = as_windows.name != "" and ".." not in as_windows.parts
    has_controls = any(ord(character) < LOWEST_PRINTABLE for character in name)
    path = folder / name
    if not (is_relative and is_plain and not has_controls and _leads_within(path, folder)):
        raise InputError(f"the file {name!r} is not in the folder {folder}.")
    return path


def _leads_within(path: Path, folder: Path) -> bool:
    """Test whether a path is in or below a folder when all symbolic links are followed.

    Neither has to exist. False, too, where links lead to themselves or the path cannot be resolved.
    """
    try:
        target = path.resolve()
        # From Python 3.13 on, links that lead to themselves stay in the path.
        has_loop = any(part.is_symlink() for part in (target, *target.parents))
        return not has_loop and target.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def write_within(folder: Path, name: str, content: bytes) -> Path:
    """Write a file whole into a folder, and return its path.

    Raises InputError if the name leads out of the folder; see `path_within`.
    """
    path = path_within(folder, name)
    write_atomically(path, content)
    return path


def parquet_bytes(table: Any, **options: Any) -> bytes:
    """Write an Arrow table as the content of a Parquet file.

    ``options`` are those of ``pyarrow.parquet.write_table``; compression is zstd by default.
    """
    from pyarrow import parquet

    stream = BytesIO()
    parquet.write_table(table, stream, **{"compression": "zstd", **options})
    return stream.getvalue()


def read_within_memory(label: str | Path, stream: IO[bytes], size: int) -> bytes:
    """Read a file, unpacked if it is packed, and refuse one that is too large for memory.

    An eighth of the memory that is free now is the limit. A gzipped file that states at its end
    that it is longer when unpacked is refused without being unpacked.

    Parameters
    ----------
    label
        What messages call the file.
    stream
        The file, opened at its beginning.
    size
        Its size in bytes; 0 for a pipe, whose size is not known.

    Raises
    ------
    InputError
        If the file is above the limit, or memory runs out while it is read.
    """
    from psutil import virtual_memory

    limit = int(virtual_memory().available) // COPIES
    limit_in_words = (
        f"may have at most {limit / 1e6:,.1f} MB unpacked, by the memory that is free now"
    )
    content = b""
    stated_size = None
    try:
        if size <= limit:
            # Memory for all that is asked for is taken at once. A pipe has no size.
            content = stream.read(min(size or limit, limit) + 1)
        if content[:2] == GZIPPED:
            last_bytes = int.from_bytes(content[-4:], "little")
            if limit < last_bytes <= HIGHEST_RATIO * len(content):
                stated_size = last_bytes
            else:
                content = _unpacked(content, size=last_bytes, limit=limit)
        elif content.startswith(BZIP2):
            with bz2.open(BytesIO(content)) as packed:
                content = packed.read(limit + 1)
        elif content.startswith(XZ):
            with lzma.open(BytesIO(content)) as packed:
                content = packed.read(limit + 1)
    except MemoryError:
        raise InputError(
            f"{label}: memory ran out while the file was read. A file {limit_in_words}; limits of "
            "this process (ulimit -v) are lower."
        ) from None
    if stated_size is not None:
        raise InputError(
            f"{label}: a file {limit_in_words}; it has {stated_size / 1e6:,.1f} MB according to "
            "its last bytes, or is cut short."
        )
    size = max(size, len(content))
    if size > limit:
        raise InputError(f"{label}: a file {limit_in_words}; it has {size / 1e6:,.1f} MB or more.")
    return content


def _unpacked(content: bytes, *, size: int, limit: int) -> bytes:
    """Unpack a gzipped file up to one byte more than a limit, so that it can be refused.

    ``size`` is the length when unpacked that the last bytes of the file state, which need not be
    true: a file may hold several gzipped ones, one after the other.
    """
    with gzip.open(BytesIO(content)) as packed:
        unpacked = packed.read(min(size, limit) + 1)
        if len(unpacked) > size:
            unpacked += packed.read(limit + 1 - len(unpacked))
    return unpacked


def read_bytes(path: Path) -> bytes:
    """Read a file, unpacked if it is packed by gzip, bzip2 or xz.

    Raises
    ------
    InputError
        If it does not exist, cannot be read or unpacked, is empty or blank, or is too large.
    """
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            # A pipe has no size.
            is_small = 0 < size < SMALL and not stream.peek(len(XZ)).startswith(PACKED)
            content = stream.read() if is_small else read_within_memory(path, stream, size)
    except FileNotFoundError:
        raise InputError(f"{path}: the file does not exist.") from None
    except (OSError, *UNPACKABLE) as error:
        raise InputError(f"{path}: the file cannot be read ({error}).") from None
    if not content or content.isspace():
        raise InputError(f"{path}: the file is empty.")
    return content
