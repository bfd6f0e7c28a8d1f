"""The ledger of a study folder: the parts of the study, with checksums of their files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from pydantic import Field

from runs import InputError
from runs.shared.documents import Document, Duration, Text, read_document
from runs.shared.files import path_within, write_within

LEDGER = ".ledger"
"""The folder of the ledger in a study folder."""


class Entry(Document):
    """What the ledger says of a part: its key, its files' checksums, its costs, what made it."""

    key: Text
    files: dict[Text, Text]
    seconds: Duration
    cpu_seconds: Duration
    made_by: dict[Text, Text] = Field(default_factory=dict)

    def makers(self) -> str:
        """List what made the part: the code, by the beginning of its hash, and the packages."""
        return ", ".join(f"{name} {version:.12}" for name, version in self.made_by.items())


@dataclass(frozen=True)
class Ledger:
    """The ledger of a study folder, a page for each part."""

    study: Path

    @property
    def folder(self) -> Path:
        """Where the pages are."""
        return self.study / LEDGER

    def list_parts(self) -> list[str]:
        """List the names of the parts that have a page."""
        return sorted(page.stem for page in self.folder.glob("*.json"))

    def entry(self, part: str) -> Entry | None:
        """Read the entry of a part, by its name; None if there is none, or none that can be read.

        Raises InputError if it names a file outside of the study.
        """
        try:
            entry = self._read(part)
        except (InputError, OSError):
            return None
        self._require_within(part, entry)
        return entry

    def checked_entry(self, part: str) -> Entry:
        """Read the entry of a part that has a page.

        Raises InputError if it cannot be read, or names a file outside of the study.
        """
        entry = self._read(part)
        self._require_within(part, entry)
        return entry

    def write_entry(self, part: str, entry: Entry) -> None:
        """Write the page of a part."""
        content = json.dumps(entry.model_dump(), indent=1).encode()
        write_within(self.study, f"{LEDGER}/{part}.json", content)

    def remove_entry(self, part: str) -> None:
        """Remove the page of a part."""
        self._page(part).unlink()

    def path_of(self, name: str) -> Path:
        """Compose the path of a file of the study; one outside of its folder is refused."""
        return path_within(self.study, name)

    def checksum(self, name: str) -> str | None:
        """Compute the sha256 of a file of the study as it is now; None if it is missing."""
        path = self.path_of(name)
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()

    def changed_files(self, folders: Sequence[str] = ("",)) -> Iterator[str]:
        """List the files that are missing or not as the study wrote them.

        ``folders`` are beginnings of names, such as "tables/"; by default all files are checked.
        """
        for part in self.list_parts():
            for name, checksum in self.checked_entry(part).files.items():
                if name.startswith(tuple(folders)) and self.checksum(name) != checksum:
                    yield name

    def _page(self, part: str) -> Path:
        return self.path_of(f"{LEDGER}/{part}.json")

    def _read(self, part: str) -> Entry:
        return read_document(self._page(part), Entry, description="a page of the ledger of a study")

    def _require_within(self, part: str, entry: Entry) -> None:
        """Refuse a page that names files outside of the study."""
        try:
            for name in entry.files:
                self.path_of(name)
        except InputError as error:
            page = self._page(part)
            raise InputError(f"{page}: {error} No study wrote this; remove it.") from None
