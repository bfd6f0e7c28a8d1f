"""A finished study, read back from its folder: its manifest and its results."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from analyses.shared.analysis import register_with
from analyses.shared.evidence import read_evidence
from analyses.shared.result import FigureFace, Result, TableFace, figures_of, tables_of
from harness.scoring.coverage import Coverage
from harness.scoring.means import Means
from runs import InputError
from runs.shared.errors import nearest

SCORED: Mapping[str, type[Result]] = {"means": Means, "coverage": Coverage}
"""Results of scoring, which every study of systems has beside those of its analyses."""

ResultT = TypeVar("ResultT", bound=Result)


def evidence_name(key: str) -> str:
    """Name the file that keeps a result."""
    return f"evidence/{key}.npz"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a finished study.

    Raises
    ------
    InputError
        If there is none, or it was made by a version that kept other things.
    """
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder}: no finished study is here (no manifest.json).") from None
    except ValueError as error:
        raise InputError(f"{path}: not the manifest of a study ({error}).") from None
    if not isinstance(manifest, dict) or "study" not in manifest:
        raise InputError(f"{path}: not the manifest of a study.")
    if "results" not in manifest:
        version = manifest.get("versions", {}).get("harness", "of old")
        raise InputError(
            f"{folder}: the study was made by the harness {version}; make it again with "
            "`harness run`."
        )
    return manifest


@dataclass(frozen=True)
class FinishedStudy:
    """The folder of a finished study, and what its manifest says."""

    folder: Path
    manifest: Mapping[str, Any]
    _lost: dict[str, str] = field(default_factory=dict)
    _read: dict[str, Result] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path) -> FinishedStudy:
        """Open a study folder.

        Raises
        ------
        InputError
            If no finished study is there.
        """
        return cls(folder, read_manifest(folder))

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self.manifest["study"])

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, with their options."""
        return self.means.measures.metrics

    @property
    def means(self) -> Means:
        """Mean scores of the systems."""
        return self.result_of("means", Means)

    @property
    def frames(self) -> list[str]:
        """Names of the tables in full that are files of the study."""
        return sorted(path.stem for path in (self.folder / "tables").glob("*.csv"))

    @cached_property
    def _settings(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "study.toml").read_text(encoding="utf-8"))

    def plugins(self, section: str) -> list[Path]:
        """Give the users' files that a section of the study names: "metrics", "analyses"."""
        return [Path(path) for path in self._settings.get(section, {}).get("plugins", [])]

    @cached_property
    def kinds(self) -> Mapping[str, type[Result]]:
        """Classes of the results that the study has, by key, in the order of the report.

        What a user's file declares is left out, and named in `lost`, if the file is lost.
        """
        plugins = []
        for path in self.plugins("analyses"):
            try:
                register_with([path])
                plugins.append(path)
            except InputError as error:
                self._lost[str(path)] = str(error)
        known = {**SCORED, **{key: a.result for key, a in register_with(plugins).items()}}
        found = [key for key in self.manifest["results"] if key in known]
        numbers = {
            key: min((face.place for face in figures_of(known[key])), default=inf) for key in found
        }
        ordered = sorted(found, key=lambda key: (key not in SCORED, numbers[key]))
        return {key: known[key] for key in ordered}

    @property
    def lost(self) -> list[str]:
        """Sentences about users' files whose results cannot be shown."""
        _ = self.kinds
        return [f"Results of a user's analysis are not shown: {why}" for why in self._lost.values()]

    def result(self, key: str) -> Result:
        """Read what an analysis found, or what scoring gave.

        Raises
        ------
        InputError
            If the study has no such result.
        """
        if key not in self.kinds:
            raise InputError(
                f"{self.folder}: the study has no {key!r}; {nearest(key, list(self.kinds))}"
            )
        if key not in self._read:
            path = self.folder / evidence_name(key)
            self._read[key] = read_evidence(path, self.kinds[key])
        return self._read[key]

    def result_of(self, key: str, kind: type[ResultT]) -> ResultT:
        """Read a result whose class is known."""
        return read_evidence(self.folder / evidence_name(key), kind)

    def results(self) -> Iterator[tuple[str, Result]]:
        """Read all results, in the order of the report."""
        for key in self.kinds:
            yield key, self.result(key)

    def tables(self) -> Iterator[tuple[str, TableFace]]:
        """Give the tables that can be made, each with the key of its result."""
        return ((key, face) for key, kind in self.kinds.items() for face in tables_of(kind))

    def figures(self) -> Iterator[tuple[str, FigureFace]]:
        """Give the figures that are there, by number, each with the key of its result."""
        found = [
            (key, face)
            for key, kind in self.kinds.items()
            for face in figures_of(kind)
            if (self.folder / f"figures/{face.file}.svg").exists()
        ]
        return iter(sorted(found, key=lambda pair: pair[1].place))

    def caption(self, of_result: str) -> str:
        """Complete the caption of a result, which knows neither study nor data."""
        return f"{of_result} {self.manifest['data']}"
