"""The study folder: files written whole, each known by the key of what it was made from.

A part of a study (a run, the scores, an analysis) is complete when its entry in the ledger bears
the key that is wanted now, it was made by the same code and packages (see
`harness.study.parts`), and every file it names is there with the checksum it had. Whatever
else is found is made again. So a study that was killed goes on from what is complete, and one
whose settings changed makes again just what depends on them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.report.ledger import LEDGER, Entry, Ledger
from runs import InputError
from runs.shared.errors import as_input_error
from runs.shared.files import PARTIAL, write_atomically
from runs.shared.progress import LOGGER, Cost


class Store:
    """A study folder.

    Parameters
    ----------
    folder
        Its path. It is made, if it is missing, when it is locked.

    Raises
    ------
    InputError
        If the path has a NUL or is a file, or the folder has files of something else than a study.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if "\0" in str(folder):
            raise InputError(f"{str(folder)!r} cannot be a path: it has a NUL.")
        self.ledger = Ledger(folder)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: the study folder is a file.")
        if folder.is_dir() and not self.ledger.folder.is_dir() and any(folder.iterdir()):
            raise InputError(
                f"{folder}: the folder is not empty and holds no study; name another with "
                "--output, or empty it."
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other processes while the block runs; make it if it is missing.

        Removes files that a killed process left half written. Raises InputError if another process
        holds the lock, or the folder cannot be made.
        """
        from filelock import FileLock, Timeout

        lock_path = self.ledger.path_of(f"{LEDGER}/lock")
        with as_input_error(f"{self.folder}: the study folder cannot be made", OSError):
            self.ledger.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(lock_path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(f"{self.folder}: another process is using this folder.") from None
        try:
            for half_written in self.folder.rglob(f".*{PARTIAL}"):
                half_written.unlink()
            yield
        finally:
            lock.release()

    def is_complete(self, part: str, key: str, made_by: Mapping[str, str]) -> bool:
        """Check whether a part was made from this key, by this code, and its files are unchanged.

        ``made_by`` has the digest of the code and the versions of packages. The logger is told why
        a part is not complete.
        """
        reason = self._reason_to_make(part, key, made_by)
        LOGGER.debug("%s: %s", part, reason or "up to date")
        return not reason

    def _reason_to_make(self, part: str, key: str, made_by: Mapping[str, str]) -> str:
        """Write why a part must be made, as `is_complete` decides it; "" if it is complete."""
        entry = self.ledger.entry(part)
        if entry is None or not entry.key:
            return "made for the first time"
        if entry.key != key:
            return "made again, as its input or settings differ"
        if entry.made_by != made_by:
            return "made again, as its code or a package differs"
        for name, checksum in entry.files.items():
            if self.ledger.checksum(name) != checksum:
                return f"made again, as {name} is missing or was changed"
        return ""

    def write(
        self,
        part: str,
        key: str,
        files: Mapping[str, bytes],
        *,
        cost: Cost,
        made_by: dict[str, str],
    ) -> None:
        """Write the files of a part, then enter it in the ledger, with checksums and cost.

        ``files`` has contents by name in the study folder; ``key`` and ``made_by`` are digests of
        what the part was made from, and by. Files of an earlier version of the part that are no
        longer among them are removed, as is the manifest. All names are entered in the ledger
        before, with an empty key, so that none is forgotten if the process is killed.
        """
        self.unfinish()
        earlier_entry = self.ledger.entry(part)
        earlier_files = set() if earlier_entry is None else set(earlier_entry.files)
        paths = {name: self.ledger.path_of(name) for name in files}
        names = sorted(earlier_files | files.keys())
        announced = Entry(key="", files=dict.fromkeys(names, ""), seconds=0.0, cpu_seconds=0.0)
        self.ledger.write_entry(part, announced)
        for name in earlier_files - files.keys():
            self.ledger.path_of(name).unlink(missing_ok=True)
        for name, content in files.items():
            write_atomically(paths[name], content)
        checksums = {name: sha256(content).hexdigest() for name, content in files.items()}
        entry = Entry(
            key=key,
            files=checksums,
            seconds=round(cost.seconds, 3),
            cpu_seconds=round(cost.cpu_seconds, 3),
            made_by=made_by,
        )
        self.ledger.write_entry(part, entry)

    def unfinish(self) -> None:
        """Remove the manifest, which marks a study as finished and must not outlive a change."""
        (self.folder / "manifest.json").unlink(missing_ok=True)

    def remove_others(self, parts: set[str]) -> None:
        """Remove all parts but these, by name, with their files and their entries in the ledger.

        A part whose entry cannot be read stays.
        """
        for part in self.ledger.list_parts():
            entry = self.ledger.entry(part)
            if part in parts or entry is None:
                continue
            for name in entry.files:
                self.ledger.path_of(name).unlink(missing_ok=True)
            self.ledger.remove_entry(part)

    def read(self, name: str) -> bytes:
        """Read a file of the folder."""
        return (self.folder / name).read_bytes()


def portable(path: str, folder: Path) -> str:
    """Write an absolute path relative to a folder.

    A path in the home folder is written from there ("~/..."), unless the folder is in the home
    folder, too.
    """
    home = Path.home()
    if Path(path).is_relative_to(home) and not folder.resolve().is_relative_to(home):
        return f"~/{Path(path).relative_to(home)}"
    return os.path.relpath(path, folder.resolve())


def with_portable_paths(value: Any, folder: Path) -> Any:
    """Replace absolute paths in a tree of values, keys among them, by relative ones (`portable`).

    Each text that is an absolute path, but "/", is replaced. Trees are of mappings, lists and
    tuples, which become dictionaries and lists; other values stay as they are.
    """
    if isinstance(value, Mapping):
        return {
            with_portable_paths(key, folder): with_portable_paths(content, folder)
            for key, content in value.items()
        }
    if isinstance(value, list | tuple):
        return [with_portable_paths(element, folder) for element in value]
    if isinstance(value, str) and len(value) > 1 and Path(value).is_absolute():
        return portable(value, folder)
    return value
