"""What every study goes through, whatever it begins with: parts, analyses, manifest, report."""

from __future__ import annotations

import json
import platform
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from analyses.shared.analysis import Analysis
from analyses.shared.evidence import read_evidence
from harness.report.checks import checks_of
from harness.report.manifest import MANIFEST, read_manifest
from harness.report.page import render_report
from harness.report.study_folder import ANSWER, FinishedStudy, evidence_name
from harness.study.inputs import checksum
from harness.study.provenance import ROOT, home_of, made_by, versions_of
from harness.study.store import (
    FIGURES,
    Build,
    Store,
    content_key,
    portable,
    result_files,
    with_portable_paths,
)
from harness.study.study_file import StudyFile
from harness.version import __version__
from runs.shared.files import write_within
from runs.shared.progress import Clock, Progress

REPORTED = (
    *("numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow", "matplotlib", "joblib"),
    *("lenskit", "torch", "scikit-learn", "implicit"),
)
"""Distributions whose versions the manifest names."""


@dataclass(frozen=True)
class Source(ABC):
    """What a study begins with, and makes of it in its folder: systems judged, or an experiment.

    Results do not depend on the number of workers.
    """

    study: StudyFile
    store: Store
    n_jobs: int
    progress: Progress

    @property
    @abstractmethod
    def parts(self) -> list[str]:
        """Names of all parts of the study in the ledger, its analyses among them."""

    @abstractmethod
    def make(self) -> None:
        """Make all parts, or what is left of them."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Give what the manifest says of this source alone."""

    def as_run(self) -> bytes:
        """Write the study with all defaults spelled out."""
        return self.study.to_toml(folder=self.store.folder)

    def run(self, remarks: Sequence[str] = ()) -> Path:
        """Make a study, or what is left of it, in its folder, and its manifest and report."""
        folder = self.store.folder
        for warning in remarks:
            self.progress.note(f"Warning: {warning}")
        # A look that there is not is refused before the work.
        with self.study.errors_at(FIGURES), self.study.figures.look():
            pass
        with self.store.held():
            # What refuses to be made leaves a finished study finished.
            self.make()
            self.store.unfinish()
            write_within(folder, "study.toml", self.as_run())
            self.store.remove_others(set(self.parts))
            manifest = json.dumps(_manifest(self, remarks), indent=1, ensure_ascii=False)
            write_within(folder, MANIFEST, manifest.encode())
            finished = FinishedStudy(folder, read_manifest(folder))
            write_within(folder, "report.html", render_report(finished))
        for sentence in finished.result(ANSWER).findings() if ANSWER in finished.kinds else ():
            self.progress.note(f"Answer: {sentence}")
        for check in checks_of(finished):
            if check.sentence not in remarks:
                self.progress.note(f"To bear in mind: {check.sentence}")
        return folder / "report.html"

    def make_part(
        self, part: str, key: str, build: Build, homes: Iterable[str | Path], *, drawn: bool = False
    ) -> None:
        """Build and write a part, unless it is complete, as figures are to look if it has some."""
        by = made_by(homes)
        if drawn and self.study.figures.given:
            by = by | {FIGURES: content_key(self.study.figures.given)}
        if not self.store.is_complete(part, key, by):
            clock = Clock()
            self.store.write(part, key, build(), cost=clock.cost(), made_by=by)

    def make_analysis(
        self,
        analysis: Analysis[Any, Any],
        settings: Any,
        work: Any,
        *,
        made_from: str,
        makers: Iterable[str | Path],
    ) -> None:
        """Make an analysis, unless it is complete."""
        read = [checksum(path)["sha256"] for path in settings.files()]
        asked = settings.model_dump(mode="json")
        key = content_key(made_from, analysis.key, asked, work.seed, *read)
        makers = [home_of(analysis.make), home_of(result_files), *makers]

        def build() -> dict[str, bytes]:
            if self.store.is_made(analysis.key, key, made_by(makers)):
                # Figures alone are to look otherwise.
                path = self.store.folder / evidence_name(analysis.key)
                result = read_evidence(path, analysis.result)
            else:
                with self.study.errors_at("analyses", analysis.section):
                    result = analysis(work, settings)
            # What a user's analysis shows is kept.
            is_users = not analysis.make.__module__.startswith("analyses.")
            with self.progress("Drawing figures", 1) as bar:
                files = result_files(analysis.key, result, self.study.figures, is_users=is_users)
                bar.advance()
            return files

        self.make_part(analysis.key, key, build, makers, drawn=True)


def _manifest(source: Source, remarks: Sequence[str]) -> dict[str, Any]:
    """Say what the study was made from, by what, and what it cost."""
    study = source.study
    entries = {part: source.store.ledger.entry(part) for part in source.parts}
    made = {part: entry for part, entry in entries.items() if entry is not None}
    facts, folder = dict(source.facts()), source.store.folder
    read = [each["path"] for each in facts["inputs"] if "path" in each]
    paths = {path: portable(path, folder) for path in sorted(read, key=len, reverse=True)}
    return {
        "study": study.name,
        "seed": study.seed,
        FIGURES: study.figures.given,
        **facts,
        "inputs": with_portable_paths(facts["inputs"], folder),
        "warnings": [_with(paths, remark) for remark in remarks],
        "seconds": {p: {"wall": e.seconds, "cpu": e.cpu_seconds} for p, e in made.items()},
        "made by": {part: entry.made_by for part, entry in made.items()},
        "workers": source.n_jobs,
        "versions": versions(),
        "host": machine(),
    }


def _with(paths: Mapping[str, str], text: str) -> str:
    """Put other paths in the place of those in a text."""
    for path, other in paths.items():
        text = text.replace(path, other)
    return text


def machine() -> dict[str, Any]:
    """Say on what the study was made; nothing is made again where this differs."""
    from threadpoolctl import threadpool_info

    named = ("internal_api", "version", "architecture")
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "blas": sorted({" ".join(str(info.get(key, "")) for key in named) for info in blas}),
    }


def versions() -> dict[str, str]:
    """Give the versions of Python, the harness, its commit, and what computes for it."""
    commit = _commit()
    return {
        "python": platform.python_version(),
        "harness": __version__,
        **({"commit": commit} if commit else {}),
        **versions_of(*REPORTED),
    }


@cache
def _commit() -> str | None:
    """Give the git commit of the harness, marked if files differ from it; None outside of git.

    It is that of the first study of a process: what is imported stays what it was.
    """
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
