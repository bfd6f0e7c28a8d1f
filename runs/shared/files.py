"""Files written whole or not at all, and files read, unpacked."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from uuid import uuid4

from runs.shared.errors import InputError

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
    finally:
        partial.unlink(missing_ok=True)


def read_bytes(path: Path) -> bytes:
    """Read a file, unpacking it if it is gzipped.

    Raises
    ------
    InputError
        If it is missing, cannot be read, is a broken archive, or is empty.
    """
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except FileNotFoundError:
        raise InputError(f"{path}: the file does not exist.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: the file cannot be read ({error}).") from None
    if not content.strip():
        raise InputError(f"{path}: the file is empty.")
    return content
