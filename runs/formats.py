"""The forms that run files have: TREC's text, gzipped or not, and Parquet."""

from __future__ import annotations

from collections.abc import Iterable
from glob import glob
from pathlib import Path

from runs.parquet import MAGIC, run_from_parquet
from runs.run_file import RunFile
from runs.shared.errors import InputError
from runs.shared.files import read_bytes
from runs.trec import parse_run


def find_run_files(patterns: Iterable[str]) -> list[Path]:
    """Find run files by their paths; ``*`` and ``?`` are welcome.

    Raises
    ------
    InputError
        If a pattern matches no file.
    """
    found: list[Path] = []
    for pattern in patterns:
        # Brackets stand for themselves: folders have them in their names.
        matches = [Path(match) for match in sorted(glob(pattern.replace("[", "[[]")))]
        if not matches:
            raise InputError(f"{pattern}: no run file matches.")
        found += matches
    return list(dict.fromkeys(found))


def read_run(path: Path) -> RunFile:
    """Read a run file: TREC's lines, which may be gzipped, or Parquet, whatever it is called.

    Raises
    ------
    InputError
        With file, and line or row, where it breaks a rule of `parse_run` or `run_from_parquet`;
        if it is missing or empty.
    """
    path = Path(path)
    content = read_bytes(path)
    return (run_from_parquet if content.startswith(MAGIC) else parse_run)(path, content)
