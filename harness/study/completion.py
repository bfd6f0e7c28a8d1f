"""Whether a study is finished: then the same run of it has no input to read.

A finished study keeps, beside its ledger, what its run was asked for and made from: the study file
and the options, all code of the project, versions of packages, and checksums of the input. Where
all of it is the same, and no file of the folder has changed, nothing is to do. Studies that read
more than their manifest lists, such as users' code or all files of a folder, keep nothing.
"""

from __future__ import annotations

import json
import os
import platform
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.report.ledger import LEDGER, Ledger
from harness.report.manifest import read_manifest
from harness.report.study_folder import FinishedStudy
from harness.study.reachable_code import versions_of
from harness.study.source_files import ROOT
from harness.study.study_file import folder_of_study, read_text
from runs import InputError
from runs.shared.documents import Document, Text, read_document
from runs.shared.files import read_bytes, write_within
from runs.shared.members import installed_entry_points
from runs.shared.user_modules import PACKAGES

if TYPE_CHECKING:
    from harness.study.study import Study

NAME = f"{LEDGER}/completion"
"""The file in the study folder; not a page of the ledger, whose names have an ending."""

PAGES = ("manifest.json", "report.html", "study.toml")
"""Files of a study folder that are of no part."""

KINDS = ("analyses", "metrics", "splits", "systems")
"""What installed plug-ins may declare."""


@dataclass(frozen=True)
class Request:
    """What a run of a study is asked for.

    Parameters
    ----------
    text
        The study file.
    base
        The folder that paths in it count from.
    changes
        Values in place of those of the file: the seed, or the output folder.
    """

    text: str
    base: Path
    changes: Mapping[str, Any]

    @classmethod
    def read(cls, study_file: Path | None, changes: Mapping[str, Any]) -> Request:
        """Read the study file, or the demo without one; InputError if it cannot be read."""
        if study_file is None:
            text = files("harness.study").joinpath("demo.toml").read_text("utf-8")
            return cls(text, Path(), changes)
        return cls(read_text(study_file), study_file.parent, changes)

    def folder(self) -> Path | None:
        """Find the study folder; None if the file is no study file."""
        try:
            tables = tomllib.loads(self.text)
        except (ValueError, RecursionError):
            return None
        output = self.changes.get("output", tables.get("output"))
        return folder_of_study(None if output is None else Path(output), str(tables.get("name")))

    def digest(self, folder: Path) -> str:
        """Hash what is asked for; the study file may be moved together with the study folder."""
        base = self.base.resolve()
        changes = {name: value for name, value in self.changes.items() if name != "output"}
        way_to_base = os.path.relpath(base, folder.resolve())
        return sha256(json.dumps([self.text, way_to_base, changes]).encode()).hexdigest()


class Completion(Document):
    """What a finished study was made from.

    Parameters
    ----------
    request
        Digest of what its run was asked for.
    code
        Digest of all code of the project.
    versions
        Versions of Python and of the packages that made its parts, by distribution.
    pages
        Checksums of the files `PAGES`.
    """

    request: Text
    code: Text
    versions: dict[Text, Text]
    pages: dict[Text, Text]


def find_finished(request: Request) -> FinishedStudy | None:
    """Open the study that a run would make, if it is finished and nothing of it would change.

    None if there is no such study, or if anything that it was made from differs, or a file of its
    folder: then the run finds what is to do.
    """
    folder = request.folder()
    if folder is None or not (folder / NAME).is_file():
        return None
    try:
        completion = read_document(folder / NAME, Completion, description="a finished study")
        manifest = read_manifest(folder)
        is_same = (
            completion.request == request.digest(folder)
            and completion.code == code_digest()
            and completion.versions == _versions(completion.versions)
            and completion.pages == _checksums_of_pages(folder)
            and all(_is_unchanged(entry, folder) for entry in manifest.inputs)
            and not any(Ledger(folder).changed_files())
        )
    except InputError:
        return None
    return FinishedStudy(folder, manifest) if is_same else None


def keep_completion(request: Request, study: Study) -> None:
    """Write what a study that was just finished was made from, unless its manifest lacks some."""
    folder = study.folder
    inputs = read_manifest(folder).inputs
    if _reads_more(study) or not all(_is_unchanged(entry, folder) for entry in inputs):
        return
    ledger = Ledger(folder)
    names = {"python"}
    for part in ledger.list_parts():
        names |= ledger.checked_entry(part).made_by.keys() - {"code"}
    completion = Completion(
        request=request.digest(folder),
        code=code_digest(),
        versions=_versions(names),
        pages=_checksums_of_pages(folder),
    )
    write_within(folder, NAME, completion.model_dump_json(indent=1).encode())


def code_digest() -> str:
    """Hash all files of the packages of the project."""
    digest = sha256()
    for package in sorted(PACKAGES):
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                content = sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return digest.hexdigest()


def _versions(names: Iterable[str]) -> dict[str, str]:
    """Look up the versions of Python, and of the distributions among names."""
    return {"python": platform.python_version(), **versions_of(*sorted(names))}


def _checksums_of_pages(folder: Path) -> dict[str, str]:
    """Compute the checksums of the files `PAGES` that are in a study folder, by name."""
    ledger = Ledger(folder)
    checksums = {name: ledger.checksum(name) for name in PAGES}
    return {name: checksum for name, checksum in checksums.items() if checksum is not None}


def _is_unchanged(entry: Mapping[str, Any], folder: Path) -> bool:
    """Test whether an input, as the manifest describes it, is a file with the same content.

    The settings of a simulated world are unchanged. Raises InputError if a file cannot be read.
    """
    if "path" in entry:
        path = folder / Path(entry["path"]).expanduser()
        return path.is_file() and sha256(read_bytes(path)).hexdigest() == entry["sha256"]
    return entry.keys() == {"world"}


def _reads_more(study: Study) -> bool:
    """Test whether a study reads or runs files that its manifest need not list.

    These are users' code, installed plug-ins, styles of figures, run files, which patterns name,
    folders of ratings, and other studies, which repeat it.
    """
    has_plugins = any(installed_entry_points(kind) for kind in KINDS)
    has_users_code = bool(
        study.metrics.plugins
        or study.analyses.plugins
        or study.split.files
        or any(name.partition(":")[0].endswith(".py") for name in study.systems.names)
    )
    is_repeated = study.repeat.seeds > 1 or study.repeat.settings > 1
    has_parts = study.ratings is not None and study.split.find_parts() is not None
    has_style = study.figures.style is not None
    return (
        has_plugins
        or has_users_code
        or is_repeated
        or has_parts
        or has_style
        or study.runs is not None
    )
