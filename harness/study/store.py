"""The study folder: files written whole, each known by the key of what it was made from.

A part of a study (a run, the scores, an analysis) is complete when its entry in the ledger bears
the key that is wanted now, it was made by the same code and packages (see
`harness.study.provenance`), and every file it names is there with the checksum it had. Whatever
else is found is made again. So a study that was killed goes on from what is complete, and one
whose settings changed makes again just what depends on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from runs import InputError
from runs.shared.clock import Cost
from runs.shared.files import PARTIAL, write_whole

LEDGER = ".ledger"


def content_key(*parts: Any) -> str:
    """Hash what a part of the study is made from.

    Parameters
    ----------
    parts
        Anything that JSON can hold; equal parts give equal keys.

    Examples
    --------
    >>> content_key({"seed": 1, "depth": 5}) == content_key({"depth": 5, "seed": 1})
    True
    """
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class Entry:
    """What the ledger says of a part: its key, its files' checksums, its costs, what made it."""

    key: str
    files: dict[str, str]
    seconds: float
    cpu_seconds: float
    made_by: dict[str, str] = field(default_factory=dict)


class Store:
    """A study folder.

    Parameters
    ----------
    folder
        Made, if it is missing, when it is held.

    Raises
    ------
    InputError
        If the folder holds something that no study left there, or is no folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: the study folder is a file.")
        if folder.is_dir() and not self._ledger.is_dir() and any(folder.iterdir()):
            raise InputError(
                f"{folder}: the folder is not empty and holds no study; name another with "
                "--output, or empty it."
            )

    @property
    def _ledger(self) -> Path:
        return self.folder / LEDGER

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from writing here.

        Raises
        ------
        InputError
            If the folder cannot be made, or another process is at work in it.
        """
        from filelock import FileLock, Timeout

        try:
            self._ledger.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: the study folder cannot be made ({error}).") from None
        lock = FileLock(self._ledger / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(f"{self.folder}: another harness is at work in this folder.") from None
        try:
            self._sweep()
            yield
        finally:
            lock.release()

    def entry(self, part: str) -> Entry | None:
        """Read what the ledger says of a part; None if it says nothing readable."""
        try:
            return Entry(**json.loads(self._page(part).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def is_complete(self, part: str, key: str, made_by: Mapping[str, str]) -> bool:
        """Tell whether a part was made from this key, by this code, and is as it was."""
        entry = self.entry(part)
        return (
            entry is not None
            and entry.key == key
            and entry.made_by == made_by
            and all(self._checksum(name) == known for name, known in entry.files.items())
        )

    def write(
        self,
        part: str,
        key: str,
        files: Mapping[str, bytes],
        *,
        cost: Cost,
        made_by: Mapping[str, str],
    ) -> None:
        """Write the files of a part, then enter it in the ledger.

        Files of an earlier version of the part that are no longer among them are removed. All
        names are announced in the ledger before, so that none is forgotten by who is killed here.
        """
        earlier = self.entry(part)
        former = set() if earlier is None else earlier.files.keys()
        self._enter(part, Entry("", dict.fromkeys(sorted(former | files.keys()), ""), 0.0, 0.0))
        for name in former - files.keys():
            (self.folder / name).unlink(missing_ok=True)
        for name, content in files.items():
            write_whole(self.folder / name, content)
        checksums = {name: sha256(content).hexdigest() for name, content in files.items()}
        seconds, cpu_seconds = round(cost.seconds, 3), round(cost.cpu_seconds, 3)
        self._enter(part, Entry(key, checksums, seconds, cpu_seconds, dict(made_by)))

    def remove_others(self, parts: set[str]) -> None:
        """Remove the files of parts that the study no longer has."""
        for page in sorted(self._ledger.glob("*.json")):
            part = page.stem
            entry = self.entry(part)
            if part in parts or entry is None:
                continue
            for name in entry.files:
                (self.folder / name).unlink(missing_ok=True)
            page.unlink()

    def read(self, name: str) -> bytes:
        """Read a file of the folder."""
        return (self.folder / name).read_bytes()

    def _enter(self, part: str, entry: Entry) -> None:
        write_whole(self._page(part), json.dumps(asdict(entry), indent=1).encode())

    def _sweep(self) -> None:
        """Remove the half-written files of a process that was killed."""
        for path in self.folder.rglob(f".*{PARTIAL}"):
            path.unlink()

    def _page(self, part: str) -> Path:
        return self._ledger / f"{part}.json"

    def _checksum(self, name: str) -> str | None:
        path = self.folder / name
        return sha256(path.read_bytes()).hexdigest() if path.is_file() else None
