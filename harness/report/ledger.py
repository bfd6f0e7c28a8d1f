"""The ledger of a study folder: what each part was made from, by what, and what its files were."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

from runs import InputError
from runs.shared.files import write_whole

LEDGER = ".ledger"


@dataclass(frozen=True)
class Entry:
    """What the ledger says of a part: its key, its files' checksums, its costs, what made it."""

    key: str
    files: dict[str, str]
    seconds: float
    cpu_seconds: float
    made_by: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what JSON may hold in place of a table."""
        if not (isinstance(self.files, dict) and isinstance(self.made_by, dict)):
            raise TypeError("tables expected.")

    def said_to_be_made_by(self) -> str:
        """Name what made the part: the code, by the beginning of its hash, and the packages."""
        return ", ".join(f"{name} {version:.12}" for name, version in self.made_by.items())


@dataclass(frozen=True)
class Ledger:
    """The ledger of a study folder, a page for each part."""

    study: Path

    @property
    def folder(self) -> Path:
        """Where the pages are."""
        return self.study / LEDGER

    @property
    def parts(self) -> list[str]:
        """Names of the parts that have a page."""
        return sorted(page.stem for page in self.folder.glob("*.json"))

    def entry(self, part: str) -> Entry | None:
        """Read what the ledger says of a part; None if it says nothing readable.

        Raises
        ------
        InputError
            If it names a file that is not in the study folder: no study wrote that.
        """
        page = self._page(part)
        try:
            entry = Entry(**json.loads(page.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        try:
            for name in entry.files:
                self.place(name)
        except InputError as error:
            raise InputError(f"{page}: {error} No study wrote this; remove it.") from None
        return entry

    def enter(self, part: str, entry: Entry) -> None:
        """Write the page of a part."""
        write_whole(self._page(part), json.dumps(asdict(entry), indent=1).encode())

    def leave_out(self, part: str) -> None:
        """Remove the page of a part."""
        self._page(part).unlink()

    def place(self, name: str) -> Path:
        """Give the path of a file of the study.

        Raises
        ------
        InputError
            If that would be outside of the study folder.
        """
        path = self.study / name
        try:
            within = path.resolve().is_relative_to(self.study.resolve()) and bool(Path(name).name)
        except (OSError, ValueError, RuntimeError):
            within = False
        if not within or Path(name).is_absolute() or ".." in Path(name).parts:
            raise InputError(f"the file {name!r} is not in the study folder {self.study}.")
        return path

    def checksum(self, name: str) -> str | None:
        """Give the checksum of a file of the study as it is now; None if it is not there."""
        path = self.place(name)
        return sha256(path.read_bytes()).hexdigest() if path.is_file() else None

    def changed(self, folders: Sequence[str] = ("",)) -> Iterator[str]:
        """Name the files, of some folders or all, that are not as the study wrote them."""
        for part in self.parts:
            entry = self.entry(part)
            files = {} if entry is None else entry.files
            for name, known in files.items():
                if name.startswith(tuple(folders)) and self.checksum(name) != known:
                    yield name

    def _page(self, part: str) -> Path:
        return self.folder / f"{part}.json"
