"""Files written whole or not at all, and files read, unpacked."""

from __future__ import annotations

import gzip
import os
import zlib
from io import BytesIO
from pathlib import Path
from uuid import uuid4

from runs.shared.errors import InputError

COPIES = 8
"""How often a file is in memory while it is read, as bytes, lines and columns, and rounded up."""

PARTIAL = ".partial"
"""Ending of the name of a file that is being written."""


def write_whole(path: Path, content: bytes) -> None:
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


def _unpacked(path: Path, content: bytes) -> bytes:
    """Unpack a gzipped file, if memory can hold it and what is made of it."""
    from psutil import virtual_memory

    room = int(virtual_memory().available) // COPIES
    with gzip.open(BytesIO(content)) as stream:
        unpacked = stream.read(room + 1)
    if len(unpacked) > room:
        finding = f"it has more than {room / 1e6:,.0f} MB unpacked, which free memory cannot hold."
        raise InputError(f"{path}: {finding}")
    return unpacked


def read_bytes(path: Path) -> bytes:
    """Read a file, unpacking it if it is gzipped."""
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = _unpacked(path, content)
    except FileNotFoundError:
        raise InputError(f"{path}: the file does not exist.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: the file cannot be read ({error}).") from None
    if not content or content.isspace():
        raise InputError(f"{path}: the file is empty.")
    return content
