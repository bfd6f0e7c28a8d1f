"""A finished study, read back from its folder: its ledger, its manifest and its results."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import file_digest
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from analyses.shared.analysis import Need, analyses_with_plugins
from analyses.shared.evidence import read_evidence
from analyses.shared.figure_options import FigureOptions
from analyses.shared.result import (
    FigureDeclaration,
    Result,
    TableDeclaration,
    figures_of,
    tables_of,
    title_of,
)
from analyses.shared.sentences import TOPIC, USER, plural
from harness.report.answer import Answer
from harness.report.kept_result import KeptResult, read_kept_result
from harness.report.manifest import Manifest, read_manifest
from harness.report.repeats import Repeats
from harness.scoring.means import Coverage, Means
from runs import InputError
from runs.shared.documents import Document, Duration, Text, read_document
from runs.shared.errors import as_input_error, require_known, warn
from runs.shared.files import path_within, write_within

LEDGER = ".ledger"


class Entry(Document):
    """What the ledger says of a part: its key, its files' checksums, its costs, what made it."""

    key: Text
    files: dict[Text, Text]
    seconds: Duration
    cpu_seconds: Duration
    made_by: dict[Text, Text] = Field(default_factory=dict)

    def makers(self) -> str:
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
        """Read what the ledger says of a part; None if it says nothing readable."""
        try:
            entry = self._read(part)
        except (InputError, OSError):
            return None
        self._require_within(part, entry)
        return entry

    def checked_entry(self, part: str) -> Entry:
        """Read what the ledger says of a part that has a page; refuse what is not readable."""
        entry = self._read(part)
        self._require_within(part, entry)
        return entry

    def enter(self, part: str, entry: Entry) -> None:
        """Write the page of a part."""
        content = json.dumps(entry.model_dump(), indent=1).encode()
        write_within(self.study, f"{LEDGER}/{part}.json", content)

    def leave_out(self, part: str) -> None:
        """Remove the page of a part."""
        self._page(part).unlink()

    def place(self, name: str) -> Path:
        """Give the path of a file of the study; see `path_within`."""
        return path_within(self.study, name)

    def checksum(self, name: str) -> str | None:
        """Give the checksum of a file of the study as it is now; None if it is not there."""
        path = self.place(name)
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()

    def changed(self, folders: Sequence[str] = ("",)) -> Iterator[str]:
        """Name the files, of some folders or all, that are not as the study wrote them."""
        for part in self.parts:
            for name, checksum in self.checked_entry(part).files.items():
                if name.startswith(tuple(folders)) and self.checksum(name) != checksum:
                    yield name

    def _page(self, part: str) -> Path:
        return self.place(f"{LEDGER}/{part}.json")

    def _read(self, part: str) -> Entry:
        return read_document(self._page(part), Entry, description="a page of the ledger of a study")

    def _require_within(self, part: str, entry: Entry) -> None:
        """Refuse a page that names files outside of the study."""
        try:
            for name in entry.files:
                self.place(name)
        except InputError as error:
            page = self._page(part)
            raise InputError(f"{page}: {error} No study wrote this; remove it.") from None


ANSWER, REPEATS = "answer", "repeats"
SCORED = {ANSWER: Answer, "means": Means, "coverage": Coverage, REPEATS: Repeats}
"""What studies of systems have beside the results of their analyses."""

TRAIN_FILE, TEST_FILE = "split/train.csv", "split/test.csv"
"""The ratings that systems learn from, and those that they are judged by."""

ResultT = TypeVar("ResultT", bound=Result)


def evidence_name(key: str) -> str:
    """Name the file that keeps a result."""
    return f"evidence/{key}.npz"


def kept_name(key: str) -> str:
    """Name the file that keeps what a user's analysis showed."""
    return f"evidence/{key}.shown.npz"


def figure_name(face: FigureDeclaration) -> str:
    """Name the file of a figure."""
    return f"figures/{face.file_stem}.svg"


def caption_name(face: FigureDeclaration) -> str:
    """Name the file of the caption of a figure."""
    return f"figures/{face.file_stem}.txt"


def in_report_order(
    kinds: Mapping[str, type[Result]], *, by_truth: Collection[str]
) -> dict[str, type[Result]]:
    """Order results as the report does: scores, what a truth says, then by their first figures."""

    def place(key: str) -> tuple[bool, bool, float]:
        numbers = (face.sort_key for face in figures_of(kinds[key]))
        return key not in SCORED, key not in by_truth, min(numbers, default=inf)

    return {key: kinds[key] for key in sorted(kinds, key=place)}


def under_repeats(result: ResultT, repeats: Repeats) -> ResultT:
    """Complete a result by what it is under all settings of the systems, if these were repeated."""
    return replace(result, over_settings=repeats.of_settings(result.estimates()))


RESULTS = ("evidence/", "figures/", "tables/")
"""Folders of what a study found."""


def warn_of_changes(folder: Path, among: Sequence[str]) -> None:
    """Say which files, in some folders of a study, are not as the study wrote them."""
    for name in Ledger(folder).changed(among):
        warn(
            f"{folder / name}: not as the study wrote it; `harness run` makes it again, and "
            "`harness verify` checks all files."
        )


@dataclass(frozen=True)
class FinishedStudy:
    """The folder of a finished study, and what its manifest says.

    Nothing that the study names is run: what its own analyses showed is kept in the folder. Users'
    files that are given as plug-ins are run, and show theirs anew.
    """

    folder: Path
    manifest: Manifest
    plugins: tuple[Path, ...] = ()
    _read: dict[str, Result] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path, plugins: Sequence[Path] = ()) -> FinishedStudy:
        """Open a study folder."""
        manifest = read_manifest(folder)
        warn_of_changes(folder, RESULTS)
        return cls(folder, manifest, tuple(plugins))

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.manifest.study

    @property
    def unit(self) -> str:
        """What scores are of: a topic in a study of TREC's files, else a user."""
        return TOPIC if self.manifest.ranked_for == plural(TOPIC) else USER

    @property
    def units(self) -> str:
        """The plural of the unit."""
        return plural(self.unit)

    @property
    def figure_options(self) -> FigureOptions:
        """How the study has its figures drawn; the folder cannot name a file of a style."""
        return self.manifest.figures.without_style_file(found_in=self.folder)

    def place(self, name: str) -> Path:
        """Give the path of a file of the study; see `path_within`."""
        return path_within(self.folder, name)

    def read(self, name: str) -> bytes:
        """Read a file of the study."""
        path = self.place(name)
        with as_input_error(f"{path}: the file of the study cannot be read", OSError):
            return path.read_bytes()

    @property
    def means(self) -> Means:
        """Mean scores of the systems."""
        return self.result_of("means", Means)

    @property
    def frames(self) -> list[str]:
        """Names of the tables in full that are files of the study."""
        return sorted(path.stem for path in (self.folder / "tables").glob("*.csv"))

    @cached_property
    def kinds(self) -> Mapping[str, type[Result]]:
        """Classes of the results that the study has, by key, in the order of the report.

        What a truth says comes first: robust is not right.
        """
        register = analyses_with_plugins(self.plugins)
        known = {
            **{key: type(result) for key, result in self._kept.items()},
            **SCORED,
            **{key: analysis.result for key, analysis in register.items()},
        }
        found = {key: known[key] for key in self.manifest.results if key in known}
        by_truth = [key for key in found if key in register and Need.TRUTH in register[key].needs]
        return in_report_order(found, by_truth=by_truth)

    @cached_property
    def _kept(self) -> Mapping[str, KeptResult]:
        """What users' analyses showed, by key."""
        paths = {key: self.place(kept_name(key)) for key in self.manifest.results}
        return {key: read_kept_result(path) for key, path in paths.items() if path.exists()}

    def result(self, key: str) -> Result:
        """Read what an analysis found, or what scoring gave."""
        require_known(f"{self.folder}: the study has no", [key], list(self.kinds))
        if key not in self._read:
            kept, kind = self._kept.get(key), self.kinds[key]
            found = kept if kept and type(kept) is kind else self.result_of(key, kind)
            if REPEATS in self.kinds and key not in SCORED:
                repeats: Any = self.result(REPEATS)
                found = under_repeats(found, repeats)
            self._read[key] = found
        return self._read[key]

    def result_of(self, key: str, kind: type[ResultT]) -> ResultT:
        """Read a result whose class is known."""
        try:
            return read_evidence(self.place(evidence_name(key)), kind)
        except InputError as error:
            raise InputError(
                f"{error} The harness {self.manifest.versions['harness']} made this study; "
                "`harness run` with its study file makes again what this version reads otherwise."
            ) from None

    def results(self) -> Iterator[tuple[str, Result]]:
        """Read all results, in the order of the report."""
        for key in self.kinds:
            yield key, self.result(key)

    def tables(self) -> Iterator[tuple[str, TableDeclaration]]:
        """Give the tables that can be made, each with the key of its result."""
        return ((key, face) for key, kind in self.kinds.items() for face in tables_of(kind))

    def figures(self) -> Iterator[tuple[str, FigureDeclaration]]:
        """Give the figures that are there, by number, each with the key of its result."""
        found = [
            (key, face)
            for key, kind in self.kinds.items()
            for face in figures_of(kind)
            if self.place(figure_name(face)).exists()
        ]
        return iter(sorted(found, key=lambda pair: pair[1].sort_key))

    def caption(self, of_result: str) -> str:
        """Complete the caption of a result, which knows neither study nor data."""
        return f"{of_result} {self.manifest.data}"

    def title(self, face: TableDeclaration | FigureDeclaration) -> str:
        """Give the title of a table or figure in the words of the study."""
        return title_of(face, self.unit)
