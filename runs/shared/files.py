"""Files written whole or not at all, and files read, unpacked."""

from __future__ import annotations

import gzip
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
"""Bytes of a file for which there is memory."""

GZIPPED = b"\x1f\x8b"
"""What a gzipped file begins with."""

PARQUET = b"PAR1"
"""What a Parquet file begins with."""

HIGHEST_RATIO = 1032
"""How much longer than a gzipped file its content can be."""

PARTIAL = ".partial"
"""Ending of the name of a file that is being written."""

LOWEST_PRINTABLE = 0x20
"""Code point of the space: those below are control characters."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that, whatever happens, it is there whole, as it was, or not at all.

    Missing folders are made.
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
    """Give the path of a file in a folder, by a name that may come from data.

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
    has_controls = any(ord(sign) < LOWEST_PRINTABLE for sign in name)
    path = folder / name
    if not (is_relative and is_plain and not has_controls and _leads_within(path, folder)):
        raise InputError(f"the file {name!r} is not in the folder {folder}.")
    return path


def _leads_within(path: Path, folder: Path) -> bool:
    """Tell whether a path is below a folder when all symbolic links are followed."""
    try:
        target = path.resolve()
        # From Python 3.13 on, links that lead to themselves stay in the path.
        has_loop = any(part.is_symlink() for part in (target, *target.parents))
        return not has_loop and target.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def write_within(folder: Path, name: str, content: bytes) -> Path:
    """Write a file whole into a folder, nowhere else; give its path. See `path_within`."""
    path = path_within(folder, name)
    write_atomically(path, content)
    return path


def parquet_bytes(table: Any, **options: Any) -> bytes:
    """Give the content of a Parquet file of an Arrow table, with pyarrow's options."""
    from pyarrow import parquet

    stream = BytesIO()
    parquet.write_table(table, stream, **{"compression": "zstd", **options})
    return stream.getvalue()


def read_within_memory(label: str | Path, stream: IO[bytes], size: int) -> bytes:
    """Read a file of a size, unpacked if it is gzipped; refuse what memory cannot hold.

    A file that says at its end how long it is when unpacked is refused by that.
    """
    from psutil import virtual_memory

    room = int(virtual_memory().available) // COPIES
    limit = f"may have at most {room / 1e6:,.1f} MB unpacked, by the memory that is free now"
    content, how_long = b"", "or more"
    try:
        if size <= room:
            # Memory for all that is asked for is taken at once. A pipe has no size.
            content = stream.read(min(size or room, room) + 1)
        if content[:2] == GZIPPED:
            told = int.from_bytes(content[-4:], "little")
            if room < told <= HIGHEST_RATIO * len(content):
                size, how_long = told, "according to its last bytes, or is cut short"
            else:
                with gzip.open(BytesIO(content)) as packed:
                    content = packed.read(min(told, room) + 1)
                    if len(content) > told:  # Several gzipped files, one after the other.
                        content += packed.read(room + 1 - len(content))
    except MemoryError:
        raise InputError(
            f"{label}: memory ran out while the file was read. A file {limit}; limits of this "
            "process (ulimit -v) are lower."
        ) from None
    size = max(size, len(content))
    if size > room:
        raise InputError(f"{label}: a file {limit}; it has {size / 1e6:,.1f} MB {how_long}.")
    return content


def read_bytes(path: Path) -> bytes:
    """Read a file, unpacking it if it is gzipped."""
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            # A pipe has no size.
            is_small = 0 < size < SMALL and not stream.peek(2).startswith(GZIPPED)
            content = stream.read() if is_small else read_within_memory(path, stream, size)
    except FileNotFoundError:
        raise InputError(f"{path}: the file does not exist.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: the file cannot be read ({error}).") from None
    if not content or content.isspace():
        raise InputError(f"{path}: the file is empty.")
    return content
